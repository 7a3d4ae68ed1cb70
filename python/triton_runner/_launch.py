"""Launching on the CPU as Triton launches on a GPU: the object that CompiledKernel.run is."""

from __future__ import annotations

from triton_runner import _core
from triton_runner._pipeline.versions import installed

# What stands around launchers, from the inside out: functions of a launcher and its kernel's name.
wraps: list = []
# While a CUDA graph is captured (_graphs.py): capture(name, function, args) keeps a launch for later and
# returns True.
capture = None
ARGUMENTS = 9  # where the kernel's begin among the values that Triton passes to a launcher


def signature(src):
    """(name, type) of what a launch passes: constexprs as "constexpr", folded constants too."""
    names = list(getattr(getattr(src, "fn", None), "arg_names", ()))
    constants = getattr(src, "constants", None) or {}
    result = []
    for key, kind in src.signature.items():
        name = key if isinstance(key, str) else (names[key] if key < len(names) else f"arg{key}")
        if not installed().constexprs_passed and (name in constants or key in constants):
            kind = "constexpr"
        result.append((name, kind))
    return result


def launcher(function: _core.Kernel, src) -> _core.Launcher:
    """Called as Triton calls its launchers; waits for the kernel to finish."""
    run = _core.Launcher(function, signature(src), installed().loose_launches)
    for wrap in wraps:
        run = wrap(run, function.name)
    return run
