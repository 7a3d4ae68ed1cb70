"""CommandLaunch is one launch that a command line describes: a file's kernel, its arguments and its grid."""

from __future__ import annotations

import dataclasses

from triton_runner._base import expression
from triton_runner._base.errors import fail
from triton_runner._memory.arrays import wrap
from triton_runner._worker import job


@dataclasses.dataclass(frozen=True)
class CommandLaunch:
    """The launch that was given: "kernel.py:name", its arguments without constexprs, constexprs, a grid
    (numbers, or a text of expressions over parameters)."""

    kernel: str
    args: list
    grid: object
    constexprs: dict


def decorated_of(kernel: str):
    """The kernel of "kernel.py:name" with its autotuner; None: it is a plain function."""
    path, _, name = kernel.rpartition(":")
    try:
        return job.load_decorated({"file": path, "name": name})
    except job.Refused as error:
        raise fail(error.message, *error.notes) from None


def launching(given: CommandLaunch) -> tuple:
    """(the kernel, its arguments by name, launch(**arguments)) of what is given."""
    function = decorated_of(given.kernel)

    def launch(**arguments):
        values = {name: wrap(name, value) for name, value in arguments.items()}
        function[_grid(given.grid)](**values, **given.constexprs)

    return function, _named(function, given), launch


def _named(function, given: CommandLaunch) -> dict:
    inner = job.innermost(function)
    names = [name for name in inner.arg_names if name not in given.constexprs]
    if len(given.args) > len(names):
        raise fail(f"{len(given.args)} arguments for {len(names)} parameters: {', '.join(names)}")
    return dict(zip(names, given.args, strict=False))


def _grid(grid):
    if not isinstance(grid, str):
        return grid

    def extents(meta: dict) -> tuple:
        numbers = {name: value for name, value in meta.items() if isinstance(value, (int, float))}
        return tuple(int(n) for n in expression.grid(grid, numbers))

    return extents
