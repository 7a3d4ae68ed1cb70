"""Names what surely costs a launch time: bank conflicts that bind it, and spills in what it executes often.

A warning that is wrong costs its reader more than one that is missing. Bank conflicts are named if shared
memory takes longer than every other resource because of them, on the chip of the target with the slowest
memory; spills if they are a twentieth of all warp instructions; both if the launch loses a microsecond to
them at least.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError, KernelTrap
from triton_runner._kernel.cost import bounds
from triton_runner._kernel.cost.chips import CHIPS, Chip
from triton_runner._kernel.cost.counting import COUNTS, counted
from triton_runner._kernel.cost.profiling import counted_launch
from triton_runner._kernel.cost.results import Launch, Line

_CHIPS = {"cuda:80": "a100", "cuda:90": "h100-pcie"}  # by target
_PROGRAMS = 3  # that run: the first, one in the middle, and the last, which a mask may cut
_FACTOR = 1.25  # by which shared memory takes longer than any other resource, and than without conflicts
_PART = 0.05  # of all warp instructions
_LEAST = 1e-6  # seconds


@dataclasses.dataclass(frozen=True)
class Cost:
    """kind: "conflicts" or "spills"; message: a sentence; file, line: of the program, where most of it comes
    from, with notes."""

    kind: str
    message: str
    file: str
    line: int
    notes: list[str]


def costs(launch: Relaunch) -> list[Cost]:
    """Nothing for a target whose chips are not known, for a launch that cannot be counted, and for one that
    has no program for each SM: it is small, and to count it takes longer than to judge it."""
    chip = CHIPS.get(_CHIPS.get(launch.target, ""))
    if chip is None or math.prod(launch.grid) < chip.sms:
        return []
    try:
        what = counted(launch, _PROGRAMS)
        sums = dict(zip(COUNTS, what.table.sum(0).tolist(), strict=True))
        if sums["shared_wavefronts"] <= sums["shared_least"] and not sums["local_requests"]:
            return []
        return [*_of(counted_launch(launch, programs=_PROGRAMS, chip=chip.name), chip)]
    except (DiagnosticError, KernelTrap):  # verify has said what cannot be run
        return []


def _of(launch: Launch, chip: Chip) -> Iterator[Cost]:
    def total(name: str) -> int:
        return sum(one.counts.get(name, 0) for one in launch.instructions)

    # An SM's part of the whole grid: warps that share an SM with others make the others' times shorter only.
    part = (1 if launch.is_extrapolated else launch.of / launch.programs) / chip.sms
    used = min(launch.warps, chip.schedulers) / chip.schedulers
    others = bounds.of_instructions(launch.instructions, chip, bounds.Dealt(part, used))
    # Sectors that many programs read count each time.
    others["memory"] = total("global_sectors") * 32 * part * chip.sms / chip.memory * chip.clock
    shared = others.pop("shared memory", 0.0)
    wavefronts, least, spilled = map(total, ("shared_wavefronts", "shared_least", "local_requests"))
    name = max(others, key=others.get)
    enough = _FACTOR * max(others[name], least * part / chip.shared)
    if shared >= enough and (wavefronts - least) * part / chip.clock >= _LEAST:
        yield _cost(
            "conflicts", launch, "shared_wavefronts", "shared_least",
            f"bank conflicts make shared memory the limit of the launch on {chip.name}: {wavefronts:,} "
            f"wavefronts, {least:,} without; next is {name} with {others[name] / shared:.0%} of its time",
        )  # fmt: skip
    executed = total("executed")
    if launch.spills and spilled >= _PART * executed and spilled * part / chip.clock >= _LEAST:
        yield _cost(
            "spills", launch, "local_requests", "",
            f"{launch.spills} registers are spilled: {spilled / executed:.0%} of the warp instructions that "
            "run load and store them",
        )  # fmt: skip


def _cost(kind: str, launch: Launch, name: str, least: str, message: str) -> Cost:
    def lost(line: Line) -> int:
        return line.counts.get(name, 0) - line.counts.get(least, 0)

    worst = max(launch.lines_of("python"), key=lost, default=None)
    if worst is None:
        return Cost(kind, message, "", 0, [])
    notes = [cause for cause in worst.causes if _ABOUT[kind] in cause]
    return Cost(kind, message, worst.file, worst.line, notes)


_ABOUT = {"conflicts": "-way", "spills": "spills"}  # of _profile.causes
