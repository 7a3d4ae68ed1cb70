"""Every launch of a program, seen before it runs: on the CPU where the engines launch, so that kernels of
triton.jit, of torch.compile and of artifacts are all seen; on a GPU where Triton's JIT launches."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading

from triton_runner import _device, _launch
from triton_runner._arrays import ArrayArgument
from triton_runner._compiled import compiled_of


@dataclasses.dataclass
class Launch:
    """One launch: its compiled kernel, its grid, and what it passes to the code, by parameter name.

    run(): does the launch. function: the JIT function, where the kernel has one; constexprs: its constants.
    """

    kernel: object
    grid: tuple
    named: list
    run: object = None

    @property
    def name(self) -> str:
        return self.kernel.name

    @functools.cached_property
    def compiled(self):
        return compiled_of(self.kernel)

    @property
    def function(self):
        return getattr(getattr(self.kernel, "src", None), "fn", None)


_local = threading.local()


@contextlib.contextmanager
def unseen():
    """Launches of this thread inside the block are not seen."""
    before, _local.inside = getattr(_local, "inside", False), True
    try:
        yield
    finally:
        _local.inside = before


@contextlib.contextmanager
def observing(see):
    """see(Launch) stands in the place of every launch inside of the block; launches that it makes itself,
    Launch.run() among them, are not seen."""

    def observer(kernel, grid, named, run) -> bool:
        if getattr(_local, "inside", False):
            return False
        with unseen():
            see(Launch(kernel, _axes(grid), [(name, _own(value)) for name, value in named], run))
        return True

    before = _launch.observer
    _launch.observe(observer)
    try:
        with _on_gpu(observer):
            yield
    finally:
        _launch.observe(before)


def _axes(grid) -> tuple:
    axes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    return tuple(int(axis) for axis in (*axes, 1, 1)[:3])


def _own(value):
    """The array that an argument stands for."""
    return value.base if isinstance(value, ArrayArgument) else value


@contextlib.contextmanager
def _on_gpu(observer):
    """Triton's JIT hands launches on a GPU to the observer. What torch.compile makes launches without it."""
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

        if warmup or getattr(_local, "inside", False) or _device.resolved_device() == "cpu":
            return launch()
        kernel = own(function, *args, grid=grid, warmup=True, **keywords)
        params = {name: value for name, value in keywords.items() if name in function.arg_names}
        bound = function.signature.bind(*args, **params)
        bound.apply_defaults()
        axes = grid(dict(bound.arguments)) if callable(grid) else grid
        constexprs = {param.name for param in function.params if param.is_constexpr}
        observer(kernel, axes, compiled_of(kernel).passed(dict(bound.arguments), constexprs), launch)
        return kernel

    JITFunction.run = run
    try:
        yield
    finally:
        JITFunction.run = own
