"""Launches of plain triton.jit (and gluon.jit) that are recorded: once a program dumps, JITFunction.run hands
those that a dumping() asks for, or whose kernel has dl.dump statements, to what records kernels of
triton_runner.jit. All other launches go on as they came."""

from __future__ import annotations

import contextlib
import functools

from triton.runtime.jit import JITFunction

from triton_runner._artifact.binding import own_options
from triton_runner._kernel.dumps.statements import keeping
from triton_runner._memory import arrays
from triton_runner._settings import messages


def install() -> None:
    """Looks at the launches of Triton's JIT from here on; once a process."""
    own = JITFunction.run
    if hasattr(own, "records_dumps"):
        return

    @functools.wraps(own)
    def run(function, *args, grid, warmup, **kwargs):
        if not hasattr(function, "launch"):
            from triton_runner._kernel.dumps import launches  # few programs that could dump do

            if launches.wanted(function, None):
                with messages.silent():
                    return launches.launch(recorded(function), None, None, args, kwargs, grid, warmup)
        return own(function, *args, grid=grid, warmup=warmup, **kwargs)

    run.records_dumps = True
    JITFunction.run = run


def recorded(function):
    """The same kernel, which shares all that it has compiled, with what a recorded launch asks of one of
    triton_runner.jit: launch() and without_dumps."""
    kernel = object.__new__(_class(type(function), None))
    kernel.__dict__ = function.__dict__
    return kernel


@functools.cache
def _class(base, keeps: bool | None):
    """keeps: whether dl.dump statements leave something in the code; None: the launch says so."""

    class Recorded(base):
        def launch(self, entry, args, kwargs, grid, warmup):
            args, kwargs = arrays.wrap_all(self, args, kwargs)  # copies of tensors are NumPy's
            with contextlib.nullcontext() if keeps is None else keeping(keeps):
                return self.run(*args, grid=grid, warmup=warmup, **kwargs)

        @property
        def without_dumps(self):
            quiet = self.__dict__.get("_runner_quiet")
            if quiet is None:
                quiet = self.__dict__["_runner_quiet"] = _class(base, False)(self.fn, **own_options(self))
                quiet.hash = f"{self.cache_key}-without-dumps"  # compiled kernels are found by it
                quiet.used_global_vals = self.used_global_vals
            return quiet

    Recorded.__name__, Recorded.__qualname__ = base.__name__, base.__qualname__
    return Recorded
