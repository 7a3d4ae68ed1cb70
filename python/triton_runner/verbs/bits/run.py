"""Compares one launch in its configurations: of a kernel in a file with its arguments, or in a case. Launches
of a program are compared in program.py."""

from __future__ import annotations

import contextlib

from triton_runner import _settings
from triton_runner._base.errors import fail
from triton_runner._kernel.cases.case import open_case
from triton_runner._programs.command_launch import CommandLaunch, launching
from triton_runner._worker import job
from triton_runner.verbs.bits import invariant as invariance
from triton_runner.verbs.bits import program
from triton_runner.verbs.bits.compare import Variant
from triton_runner.verbs.bits.results import SCHEMA, Bits
from triton_runner.verbs.bits.variants import Axes


def compared(given: CommandLaunch, axes: Axes, level: str, invariant: str, say) -> Bits:
    """The launch in its configurations, or in batches of other sizes."""
    comparing = program.WatchedBits(axes, level=level, say=say)
    with _settings.using(threads=1):
        function, named, launch = launching(given)
        if invariant:
            name = job.innermost(function).__name__
            call = invariance.call_of(name, launch, named, invariant, {})
            return Bits(SCHEMA, [invariance.judge(call, level, say)], 0, 0)
        with comparing.watching():
            launch(**named)
    return comparing.result(0)


def of_case(path: str, axes: Axes, level: str, say) -> Bits:
    """The launch of a case: its Python compiled again, or its texts alone where it has none."""
    case = open_case(path)
    if "kernel.py" in case.archive:
        with case.extracted() as folder, contextlib.ExitStack() as held:
            held.enter_context(_settings.using(target=case.target))
            return compared(CommandLaunch(**case.as_python(folder)), axes, level, "", say)
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
