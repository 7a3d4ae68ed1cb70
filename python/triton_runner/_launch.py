"""Launching on the CPU as Triton launches on a GPU: the object that CompiledKernel.run is."""

from __future__ import annotations

from triton_runner import _core
from triton_runner._pipeline.versions import installed


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
    return _core.Launcher(function, signature(src), installed().loose_launches)
