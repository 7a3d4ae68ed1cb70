"""Answers for a kernel's shared memory at TTGIR. A schedule that breaks it is run before it is shown."""

from __future__ import annotations

import dataclasses

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError, KernelTrap, with_source
from triton_runner._core import ir
from triton_runner.verbs.prove.buffers import Buffers
from triton_runner.verbs.prove.limit import now
from triton_runner.verbs.prove.results import (
    NOTHING,
    PROVED,
    REFUTED,
    UNKNOWN,
    Answer,
    CounterExample,
    Reason,
    reason_at,
)
from triton_runner.verbs.prove.terms import ge

PROPERTY = "buffers"
_TIMINGS = ("late", "eager")  # when copies land
_SHOW = "data race", "deadlock"  # what a wait that is missing, or that does not end, leads to
_MOST_PROGRAMS = 4
_TURNS = 6  # of each loop: more than the buffers of a pipeline


def answer(text: str, name: str, reproduce) -> Answer:
    """reproduce(settings): runs a launch of the TTGIR; gives a CounterExample, or None where all is well."""
    began = now()
    module = ir.parse(text)
    function = module.function(name) or (module.kernels or [None])[0]
    buffers = Buffers(function)
    buffers.explore()
    reasons = [reason_at(clash.text, clash.place) for clash in buffers.clashes.values()]
    reasons += [reason_at(why, place) for why, place in buffers.problems.items()]
    example = _reproduced([*buffers.clashes, *buffers.stuck], reproduce)
    verdict = REFUTED if example else UNKNOWN if reasons else PROVED if buffers.count else NOTHING
    return Answer(PROPERTY, verdict, buffers.count, reasons, example, round(now() - began, 3))


def _reproduced(faults: list[str], reproduce) -> CounterExample | None:
    for timing in _TIMINGS if faults else ():
        found = reproduce({"timing": timing, "check": "race"})
        if found is not None:
            text = f"{faults[0]}\n{found.report}\n(timing={timing!r}, check='race')"
            return dataclasses.replace(found, report=text)
    return None


def of_launch(relaunch: Relaunch) -> Answer | None:
    """The answer for the kernel of a launch, which is run again; None: it has no TTGIR."""
    if "ttgir" not in relaunch.levels:
        return None

    def reproduce(settings: dict) -> CounterExample | None:
        checks = settings["check"]
        trap = relaunch.run("ttgir", timing=settings["timing"], checks=checks, programs=_MOST_PROGRAMS).trap
        shown = {name: _shown(value) for name, value in relaunch.arguments.named}
        return _example(trap, shown, relaunch.grid)

    try:
        return answer(relaunch.texts["ttgir"], relaunch.name, reproduce)
    except (DiagnosticError, KeyError) as error:
        return _unread(error)


def of_kernel(subject, refuter, loops: list) -> Answer:
    """The answer for a kernel without a launch. loops: of its TTIR; each has some turns in the launch that is
    run."""

    def reproduce(settings: dict) -> CounterExample | None:
        long = [ge(one.upper - one.lower, one.step * _TURNS) for one in loops if one.lower is not None]
        made = refuter.small(long) or refuter.small([])
        if made is None:
            return None
        launch = made[0]
        trap = launch.run(settings["check"], "ttgir", timing=settings["timing"], programs=_MOST_PROGRAMS)
        return _example(trap, launch.shown, launch.grid)

    try:
        return answer(subject.ttgir[0], subject.name, reproduce)
    except DiagnosticError as error:
        return _unread(error)


def _example(trap: KernelTrap | None, shown: dict, grid) -> CounterExample | None:
    if trap is None or not trap.kind.startswith(_SHOW):
        return None
    return CounterExample(shown, list(grid), with_source(trap), trap.file, trap.line)


def _shown(value):
    """A launch's value for people: of a tensor what it holds and its shape."""
    if hasattr(value, "base") and hasattr(value, "block_shape"):
        return f"a descriptor of {_shown(value.base)} by {list(value.block_shape)}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{str(value.dtype).rpartition('.')[2]}{[int(one) for one in value.shape]}"
    return value if isinstance(value, (int, float)) else str(value)


def _unread(error: Exception) -> Answer:
    why = f"its TTGIR could not be looked at: {str(error).splitlines()[0]}"
    return Answer(PROPERTY, UNKNOWN, 0, [Reason(why)], None)
