"""Sees a process import Triton, by any of the names that distributions give to it, and registers this package
with it then.

    import triton_runner                  # nothing of Triton is loaded
    import tokenspeed_triton as triton    # Triton of this process, by the name `triton`, with our driver

The name that is asked for first decides: a process has one Triton (_base/renamed.py)."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys

from triton_runner._base import releases, renamed


class _Watch(importlib.abc.MetaPathFinder):
    """Finds Triton as Python does, and calls `then` when it has run."""

    waits_for_triton = True

    def __init__(self, then):
        self._then = then
        self._asks = False

    def find_spec(self, name, path=None, target=None):
        if name not in releases.MODULES or self._asks:
            return None
        self._asks = True  # the other finders
        try:
            own = releases.place() if name == "triton" else releases.place(name)
            if own is not None and own.name != "triton" and renamed.folder() is None:
                renamed.install(own)
            spec = importlib.util.find_spec(name)
        finally:
            self._asks = False
        if name == "triton" and spec is not None and spec.loader is not None:
            self._follow(spec)
        return spec

    def _follow(self, spec) -> None:
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._then()

        spec.loader.exec_module = exec_module


def when_imported(then) -> None:
    """Calls `then` once Triton has been imported: at once, where it has been."""
    if "triton" in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Watch(then))
