"""Launching on the CPU as Triton launches on a GPU: the object that CompiledKernel.run is."""

from __future__ import annotations

from triton_runner import _core
from triton_runner._pipeline.versions import installed

# Under --pretend-cuda (_graphs.py): wrap(launcher, kernel's name) makes launchers that can be captured, and
# while a CUDA graph is captured capture(name, function, args) keeps a launch for later and returns True.
wrap = None
capture = None


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
    run = _core.Launcher(function, signature(src))
    return run if wrap is None else wrap(run, function.name)
