"""Launches on the CPU as Triton launches on a GPU, by an object in place of CompiledKernel.run; and keeps the
one list of observers, which see launches before they run."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import weakref
from collections.abc import Callable

from triton_runner import _core
from triton_runner._base.releases import installed
from triton_runner._settings import devices

# Observers see every launch on the CPU, and those of artifacts on a GPU, from the outside in: observer(call,
# go) launches by go(), or in another way. Launches that it makes itself pass only those inside of it.
observers: tuple = ()
_changing = threading.Lock()
_local = threading.local()  # at_work: the observers that this thread is inside of
_kernels = weakref.WeakValueDictionary()  # Triton's compiled kernels by the id of what they load
_ARGUMENTS = 9  # where the kernel's begin among the values that Triton passes to a launcher


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """A launch that is about to run.

    kernel: Triton's compiled kernel, or an ArtifactKernel. again(*args): does the launch anew, for all to
    see, without `hooks`, functions that Triton calls around it. pairs(): (name, value) of what it passes.
    """

    kernel: object
    name: str
    grid: tuple
    again: Callable
    args: tuple
    pairs: Callable
    hooks: tuple = ()

    @functools.cached_property
    def named(self) -> list:
        """(name, value) of what it passes to the code."""
        return self.pairs()

    @property
    def is_empty(self) -> bool:
        """Returns whether it is a launch of no programs, which Triton leaves out."""
        return 0 in axes_of(self.grid)

    @property
    def function(self):
        """The JIT function, where the kernel has one."""
        return getattr(getattr(self.kernel, "src", None), "fn", None)


def observe(observer, outermost: bool = False) -> None:
    """Adds an observer: inside of all that are there, or outside."""
    _change(lambda: (observer, *observers) if outermost else (*observers, observer))


def forget(observer) -> None:
    """Takes an observer away."""
    _change(lambda: tuple(other for other in observers if other != observer))


def _change(those) -> None:
    global observers
    with _changing:
        observers = those()
        _core.set_observer(_seen if observers else None)


@contextlib.contextmanager
def observing(observer):
    """The observer sees the launches inside of the block; on a GPU those of Triton's JIT too, but not those
    of what torch.compile makes."""
    observe(observer)
    try:
        with _jit_on_gpu():
            yield
    finally:
        forget(observer)


def unseen():
    """A context manager: launches of this thread are seen by none of those that are there now."""
    return _inside(*observers)


@contextlib.contextmanager
def _inside(*those):
    before = getattr(_local, "at_work", ())
    _local.at_work = (*before, *those)
    try:
        yield
    finally:
        _local.at_work = before


def sees_empty(observer):
    """Decorates an observer that sees launches of no programs too, which are none to all others."""
    observer.sees_empty = True
    return observer


def _next(is_empty: bool = False):
    """The outermost observer that this thread is not inside of. is_empty: of launches of no programs."""
    at_work = getattr(_local, "at_work", ())
    those = (one for one in observers if not is_empty or getattr(one, "sees_empty", False))
    return next((observer for observer in those if observer not in at_work), None)


def through(call: Call, go) -> None:
    """Does a launch by go(), seen by all observers that this thread is not inside of."""
    observer = _next(call.is_empty)
    if observer is None:
        return go()
    with _inside(observer):
        observer(call, lambda: through(call, go))


def _seen(run: _core.Launcher, args: tuple) -> bool:
    """A call of a launcher, as observers take it; False where nobody looks at it."""
    if _next() is None or (call := _call_of(run, args)) is None or _next(call.is_empty) is None:
        return False
    through(call, lambda: run(*args))
    return True


def _call_of(run: _core.Launcher, args: tuple) -> Call | None:
    kernel = _kernels.get(id(args[4]))
    if kernel is None:
        return None

    def pairs() -> list:
        values = zip(signature(kernel.src), args[_ARGUMENTS:], strict=False)
        return [pair for (name, kind), value in values for pair in pieces(name, kind, value)]

    def again(*args):
        run(*args[: _ARGUMENTS - 2], None, None, *args[_ARGUMENTS:])

    hooks = tuple(functools.partial(hook, args[6]) for hook in args[7:_ARGUMENTS] if hook is not None)
    return Call(kernel, kernel.name, args[:3], again, args, pairs, hooks)


@contextlib.contextmanager
def _jit_on_gpu():
    """Triton's JIT hands launches on a GPU to the observers."""
    try:
        from triton.runtime.jit import JITFunction
    except ImportError:
        yield
        return
    own = JITFunction.run

    @functools.wraps(own)
    def run(function, *args, grid, warmup, **keywords):
        def launch():
            return own(function, *args, grid=grid, warmup=warmup, **keywords)

        if warmup or _next() is None or devices.resolved_device() == "cpu":
            return launch()
        kernel = own(function, *args, grid=grid, warmup=True, **keywords)
        params = {name: value for name, value in keywords.items() if name in function.arg_names}
        bound = function.signature.bind(*args, **params)
        bound.apply_defaults()
        axes = grid(dict(bound.arguments)) if callable(grid) else grid
        types = signature(kernel.src)
        named = [pair for name, kind in types for pair in pieces(name, kind, bound.arguments.get(name))]
        through(Call(kernel, kernel.name, axes, launch, (), lambda: named), launch)
        return kernel

    JITFunction.run = run
    try:
        yield
    finally:
        JITFunction.run = own


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


def constants_of(src) -> dict:
    """The constants of a kernel of Triton by parameter: what the launch gave, and what it folded."""
    names = list(getattr(getattr(src, "fn", None), "arg_names", ()))
    out = {}
    for key, value in (getattr(src, "constants", None) or {}).items():
        if isinstance(key, tuple):  # of 3.3 and later: a path into arguments; a tuple is passed as such
            key = key[0] if len(key) == 1 else None
        name = names[key] if isinstance(key, int) and key < len(names) else key
        if isinstance(name, str):
            out[name] = value
    return out


def launcher(function: _core.Kernel, src, kernel=None) -> _core.Launcher:
    """Called as Triton calls its launchers; waits for the kernel to finish. kernel: the CompiledKernel that
    it is of."""
    if kernel is not None:
        _kernels[id(function)] = kernel
    return _core.Launcher(function, signature(src), installed().loose_launches)


def axes_of(grid) -> tuple:
    """(x, y, z) of a launch's grid."""
    axes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    return tuple(int(axis) for axis in (*axes, 1, 1)[:3])


class Selection:
    """Which launches of a program are looked at: of kernels called `names` (() of all), each key once, the
    first `most`. count: how many were; left_out: how many came later; others: other kernels' names."""

    def __init__(self, names=(), most: int | None = None):
        self._names, self.most = names, most
        self._known: dict = {}
        self.count, self.left_out, self.others = 0, 0, {}

    def look(self, name: str, key, of):
        """Returns what of() gives for a launch, or gave for an equal one; None: it is not looked at."""
        if self._names and name not in self._names:
            self.others[name] = None
        elif key not in self._known:
            self._known[key] = None
            if self.has_place(key):
                self._known[key] = of()
                self.count += 1
            else:
                self.left_out += 1
        return self._known.get(key)

    def has_place(self, key) -> bool:
        """Returns whether one more is looked at, with a key that is new."""
        return self.most is None or self.count < self.most


def what_else(verb: str, left_out: int, status: int, option: str = "") -> list[str]:
    """Returns the end of a page about a program's launches: those that it leaves out, and a failure."""
    lines = [f"not {verb}: {left_out} later launches{option}"] * bool(left_out)
    return lines + [f"the program itself ended with status {status}"] * bool(status)


def pieces(name: str, kind, value) -> list:
    """(name, value) of what a parameter passes: a tuple's parts one by one, of a constexpr nothing."""
    if isinstance(kind, (tuple, list)):
        parts = zip(kind, value, strict=True)
        return [piece for i, (k, v) in enumerate(parts) for piece in pieces(f"{name}.{i}", k, v)]
    return [] if kind == "constexpr" else [(name, value)]
