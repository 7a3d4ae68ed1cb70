"""Offers TLX, the language of warp groups, buffers and barriers of Meta's fork of Triton (fbtriton), which
the package triton-utlx adds to Triton 3.8. The names are looked up in either of them when a kernel uses
them. A file with TLX kernels can therefore be imported without both, and its kernels can be run from
artifacts of later levels."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys

from triton_runner._base import commands
from triton_runner._base.errors import DiagnosticError, MissingName, fail

PACKAGE = "triton-utlx"


def available() -> bool:
    """Returns whether kernels written in TLX can be compiled here."""
    try:
        _plugin()
    except ValueError:
        return False
    return True


@functools.cache
def _plugin():
    with contextlib.suppress(ImportError):
        own = importlib.import_module("triton.language.extra.tlx")
        if own.__name__ != __name__:  # Meta's fork; elsewhere the name is this module's
            return own
    try:
        module = importlib.import_module("utlx_plugin")
    except ImportError as error:
        raise fail(f"TLX is not installed ({error})", _advice()) from None
    triton = importlib.import_module("triton")
    if ".".join(triton.__version__.split(".")[:2]) != "3.8":
        raise fail(f"TLX needs Triton 3.8, and this is {triton.__version__}", _advice())
    if "libutlx" not in os.environ.get("TRITON_PLUGIN_PATHS", ""):
        raise fail("Triton was imported without the plug-in of TLX", _advice())
    return module


def _advice() -> str:
    return (
        f"in an environment with Triton 3.8: {sys.executable} -m pip install triton==3.8.0 {PACKAGE}; its "
        ".pth file must lie in a site directory, as pip puts it; or with Meta's fork: "
        f"`{commands.shell('versions', 'run', 'fbtriton', 'run', 'PROGRAM')}`"
    )


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(_plugin(), name)
    except DiagnosticError as error:
        # For a kernel: Triton would put off an AttributeError, and wrap it in an error of its own.
        if sys._getframe(1).f_globals.get("__name__", "").startswith("triton."):
            raise
        raise MissingName.of(error) from None
