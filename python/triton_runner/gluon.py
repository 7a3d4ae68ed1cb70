"""Offers Gluon with a jit whose kernels take triton_runner's keywords (`ttgir_dir=`, `level=`,
`dump_value=`, ...). All other names are those of triton.experimental.gluon, in Triton 3.4 and later."""

from __future__ import annotations

import importlib

from triton_runner._base.errors import DiagnosticError, MissingName, fail
from triton_runner._jit.jit import jit as _jit


def _gluon():
    try:
        return importlib.import_module("triton.experimental.gluon")
    except ImportError as error:
        raise fail(f"this Triton has no Gluon ({error})", "it came with Triton 3.4") from None


def jit(fn=None, **options):
    """Makes a kernel in Gluon. It replaces gluon.jit and takes every option of it; a launch takes the
    keywords of triton_runner.jit. Raises DiagnosticError if Triton has no Gluon."""
    theirs = _gluon().jit

    def decorate(function):
        return _jit(theirs(function, **options))

    return decorate if fn is None else decorate(fn)


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        if hasattr(_gluon(), name):
            return getattr(_gluon(), name)
        return importlib.import_module(f"triton.experimental.gluon.{name}")
    except DiagnosticError as error:
        raise MissingName.of(error) from None
    except ModuleNotFoundError:
        raise AttributeError(f"triton.experimental.gluon has no {name!r}") from None
