"""Runs in any release's Python: one compilation, pass by pass where asked, and the process that serves it.

The installed release runs these files here, any other one in a worker process of its own
(_pipeline/workers.py), where they are loaded without the package: they import the standard library, the
Triton at hand and each other, as `from . import job`.

It is described in doc/guide/compiler.md."""
