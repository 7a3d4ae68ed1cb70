"""Launching on the CPU as Triton launches on a GPU: the object that CompiledKernel.run is."""

from __future__ import annotations

import weakref

from triton_runner import _core
from triton_runner._pipeline.versions import installed

# What stands around launchers, from the inside out: functions of a launcher and its kernel's name.
wraps: list = []
# While a CUDA graph is captured (_graphs.py): capture(name, function, args) keeps a launch for later and
# returns True.
capture = None
# What sees every launch on the CPU before it runs (_case/observe.py): observer(kernel, grid, named, run) is
# given what compiled_of() takes, (name, value) pairs and what does the launch; True: it is done.
observer = None
_kernels = weakref.WeakValueDictionary()  # Triton's compiled kernels by the id of what they load
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


def launcher(function: _core.Kernel, src, kernel=None) -> _core.Launcher:
    """Called as Triton calls its launchers; waits for the kernel to finish. kernel: the CompiledKernel that
    it is of."""
    run = _core.Launcher(function, signature(src), installed().loose_launches)
    if kernel is not None:
        _kernels[id(function)] = kernel
    for wrap in wraps:
        run = wrap(run, function.name)
    return run


def observe(see) -> None:
    """Puts an observer in place, or takes it away (None)."""
    global observer
    observer = see
    _core.set_observer(_seen if see is not None else None)


def _seen(run: _core.Launcher, args: tuple) -> bool:
    """A call of a launcher, as the observer takes it."""
    kernel = _kernels.get(id(args[4]))
    if observer is None or kernel is None:
        return False
    given = zip(signature(kernel.src), args[ARGUMENTS:], strict=False)
    named = [pair for (name, kind), value in given for pair in pieces(name, kind, value)]
    return observer(kernel, args[:3], named, lambda: run(*args))


def pieces(name: str, kind, value) -> list:
    """(name, value) of what a parameter passes: a tuple's parts one by one, of a constexpr nothing."""
    if isinstance(kind, (tuple, list)):
        parts = zip(kind, value, strict=True)
        return [piece for i, (k, v) in enumerate(parts) for piece in pieces(f"{name}.{i}", k, v)]
    return [] if kind == "constexpr" else [(name, value)]
