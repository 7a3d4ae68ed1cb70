"""One launch that is given: of a kernel in a file with its arguments, or in a case."""

from __future__ import annotations

import contextlib
import dataclasses

from triton_runner import _settings
from triton_runner._base.errors import fail
from triton_runner._bits import invariant as invariance
from triton_runner._bits import program
from triton_runner._bits.compare import Variant
from triton_runner._bits.results import SCHEMA, Bits
from triton_runner._bits.variants import Axes
from triton_runner._case.case import open_case
from triton_runner._compare import expression
from triton_runner._memory.arrays import wrap
from triton_runner._worker import job


@dataclasses.dataclass(frozen=True)
class Given:
    """What is launched: "kernel.py:name", its arguments without constexprs, constexprs, a grid (numbers, or a
    text of expressions over parameters)."""

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


def compared(given: Given, axes: Axes, level: str, invariant: str, say) -> Bits:
    """The launch in its configurations, or in batches of other sizes."""
    comparing = program.Program(axes, level=level, say=say)
    with _settings.using(threads=1):
        function, named, launch = launching(given)
        if invariant:
            name = job.innermost(function).__name__
            call = invariance.call_of(name, launch, named, invariant, {})
            return Bits(SCHEMA, [invariance.judge(call, level, say)], 0, 0)
        with comparing.watching():
            launch(**named)
    return comparing.result(0)


def launching(given: Given) -> tuple:
    """(the kernel, its arguments by name, launch(**arguments)) of what is given."""
    function = decorated_of(given.kernel)

    def launch(**arguments):
        values = {name: wrap(name, value) for name, value in arguments.items()}
        function[_grid(given.grid)](**values, **given.constexprs)

    return function, _named(function, given), launch


def _named(function, given: Given) -> dict:
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


def of_case(path: str, axes: Axes, level: str, say) -> Bits:
    """The launch of a case: its Python compiled again, or its texts alone where it has none."""
    case = open_case(path)
    if "kernel.py" in case.archive:
        with case.extracted() as folder, contextlib.ExitStack() as held:
            held.enter_context(_settings.using(target=case.target))
            return compared(Given(**case.as_python(folder)), axes, level, "", say)
    if axes != Axes():
        raise fail(
            f"{path} has no Python of its kernel, which could be compiled in other configurations",
            "without options its texts run with fp fusion on and off, and in another order",
        )
    made = [Variant({}, case.subject), Variant({"order": 1}, case.subject, {"order": 1})]
    if "ttgir" in case.subject.texts and case.target.startswith("cuda"):
        on = case.subject.metadata.get("enable_fp_fusion", True) is not False
        made.append(Variant({"enable_fp_fusion": not on}, case.subject.recompiled(enable_fp_fusion=not on)))
    return Bits(SCHEMA, [program.of_variants(case.name, 0, made, level, say)], 0, 0)
