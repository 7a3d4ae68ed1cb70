"""Runs in any release's Python: one compilation, pass by pass where asked, and the process that serves it.

These files import the standard library and the Triton at hand only, in Python 3.8's syntax: the installed
release runs them here, any other one in a worker process of its own (_pipeline/workers.py).

It is described in doc/guide/compiler.md."""
