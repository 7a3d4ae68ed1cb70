"""Implements triton_runner.profile(): a launch is counted on the CPU in its machine code, and bounded."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import time
from collections.abc import Sequence

from triton_runner import _settings
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.loading import load
from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._kernel.compiling.resources import resources
from triton_runner._kernel.cost import bounds, chips, counters, lines
from triton_runner._kernel.cost.counting import Binary, Counted, blocks_of, counted
from triton_runner._kernel.cost.replay import at_lines, estimate
from triton_runner._kernel.cost.results import SCHEMA, Group, Instruction, Launch, Profile
from triton_runner._kernel.lockstep.subject import launch_of, shaped
from triton_runner._kernel.source_map import SourceMap
from triton_runner._launch.launchers import Call, Selection, observing
from triton_runner._worker.spelling import option

_FEWEST_WARPS = 3  # groups of single warps are no groups


def profile(
    kernel, args, constexprs=None, *, grid, target: str = "", programs: int | Sequence[int] | None = None,
    chip: str = "", replay: bool = False,
) -> Launch:  # fmt: skip
    """Runs a launch's machine code on the CPU and counts what it executes: instructions, sectors, bank
    conflicts, matrix operations, by instruction and by line. The arguments stay as they are.

    - `kernel`: a kernel of `triton_runner.jit` or of `load()`, or the path of a file that `load()` takes.
    - `args`: a list, or a dict by parameter name. `constexprs`: keywords of the launch.
    - `target`: by default the chip's, that of the settings, or `cuda:90`.
    - `programs`: a number (that many programs of the grid, spread over it, the last among them) or a list of
      programs' numbers, x fastest. The counts are extrapolated to the grid if these programs have equal
      counts. By default all run.
    - `chip`: adds the bounds of a chip (`h100`, `h200`, `a100`, ...): the least time by each of its
      resources, which is no prediction.
    - `replay`: adds `estimate`, the time on the chip by the replay of one of its SMs, with the error that was
      measured for launches of its kind.

    Raises DiagnosticError, and KernelTrap for a launch that stops.
    """
    known = chips.chip_named(chip) if chip else None
    target = target or (f"cuda:{known.capability}" if known else "")
    with _settings.using(device="cpu", target=target or _settings.current().target or None):
        if isinstance(kernel, (str, os.PathLike)):
            kernel = load(kernel)
        launch = launch_of(kernel, args, dict(constexprs or {}), grid)
    if isinstance(kernel, ArtifactKernel):
        launch = shaped(launch, kernel)
    return counted_launch(launch, programs=programs, chip=chip, replay=replay)


def counted_launch(
    launch: Relaunch, *, programs=None, chip: str = "", replay: bool = False, number: int = 0,
    threads: int = 0, told=lambda text, done=None, total=None: None,
) -> Launch:  # fmt: skip
    """profile() of a Relaunch. number: which of a program's launches it is."""
    started, notes = time.perf_counter(), []
    known = chips.chip_named(chip) if chip else None
    if known:
        chips.check_target(known, launch.target)
    elif replay:
        raise fail("a replay needs a chip", f"{option('chip', 'h200')} replays an H200")
    what = counted(launch, programs, threads, told)
    told(f"{launch.name}: lines")
    map_ = lines.map_of(launch, notes)
    every = lines.instructions(what, map_, launch.name)
    if what.programs < what.of and not what.is_extrapolated:
        why = "their counts differ" if not what.agree else "they cannot be multiplied without a remainder"
        notes.append(
            f"the counts are those of the {what.programs:,} programs that ran, not of all {what.of:,}: {why}"
        )
    estimated = None
    if replay:
        told(f"{launch.name}: replay")
        lines_of = {one.address: (one.file, one.line) for one in every}
        estimated = at_lines(estimate(launch, chip=chip, with_timeline=True), lines_of)
    made = _launch(launch, what, every, map_, known, number, notes, started)
    return dataclasses.replace(made, estimate=estimated)


def _launch(
    launch: Relaunch, what: Counted, every: list[Instruction], map_: SourceMap | None, chip, number: int,
    notes: list[str], started: float,
) -> Launch:  # fmt: skip
    loaded, stored = (32 * sectors for sectors in what.touched)
    ran = what.of if what.is_extrapolated else what.programs
    matrices = _matrices(every)
    flops = sum(map(lines.flops_of, every))
    needs = _needs(launch, map_, notes)
    limits, roofline, deal = [], None, None
    if chip:
        deal = bounds.dealt(
            chip, ran, what.by_warp.shape[1], needs and needs.occupancy and needs.occupancy["blocks"],
            what.agree and blocks_of(launch) == 1,
        )  # fmt: skip
        moved = (loaded, stored) if what.programs == what.of else (0, 0)
        limits = bounds.of_launch(every, chip, deal, *moved)
        operations = flops + sum(n for kind, n in matrices.items() if kind not in counters.FLOATS)
        if not what.is_extrapolated:  # the bytes are of the programs that ran
            roofline = bounds.roofline(limits, chip, operations, matrices, loaded + stored)
        if what.programs < what.of:
            notes.append("memory bounds nothing here: which bytes all programs read is known if all run")
    return Launch(
        launch.name, number, [*launch.grid], launch.target, what.by_warp.shape[1], what.programs, what.of,
        is_extrapolated=what.is_extrapolated, counters=counters.of(every),
        opcodes=_by(every, "opcode"), pipes=_by(every, "pipe"), flops=flops, matrix_operations=matrices,
        loaded_bytes=loaded, stored_bytes=stored, groups=_groups(what),
        registers=needs and needs.registers, spills=needs and needs.spills,
        shared=needs and (needs.static_shared or 0) + (needs.dynamic_shared or 0),
        occupancy=needs and needs.occupancy, chip=chip.name if chip else "", bounds=limits,
        roofline=roofline, lines=lines.lines(every, launch, chip, deal), instructions=every, notes=notes,
        seconds=round(time.perf_counter() - started, 3),
    )  # fmt: skip


def _needs(launch: Relaunch, map_: SourceMap | None, notes: list[str]):
    """The Resources of the machine code; None, with a note: they are not known."""
    try:
        return resources(
            Binary(launch), launch.metadata, name=launch.name,
            listing=map_.levels["sass"].text if map_ and "sass" in map_.levels else None,
        )  # fmt: skip
    except DiagnosticError as error:
        notes.append(f"no resources: {error.message}")
        return None


def _by(every: list[Instruction], field: str) -> dict[str, int]:
    """Warp instructions by a field, the most frequent first."""
    out: dict[str, int] = {}
    for one in every:
        key = getattr(one, field) or "not known"
        out[key] = out.get(key, 0) + one.counts.get("executed", 0)
    return {key: n for key, n in sorted(out.items(), key=lambda item: -item[1]) if n}


def _matrices(every: list[Instruction]) -> dict[str, int]:
    out: dict[str, int] = {}
    for one in every:
        if n := one.matrix_operations * one.counts.get("executed", 0):
            out[one.matrix_type] = out.get(one.matrix_type, 0) + n
    return out


def _groups(what: Counted) -> list[Group]:
    """The groups of a block's warps, where there are several and they are groups: warp-specialised."""
    by_counts: dict[bytes, list[int]] = {}
    for warp, column in enumerate(what.by_warp.T):
        by_counts.setdefault(column.tobytes(), []).append(warp)
    if len(by_counts) == 1 or len(by_counts) * 2 > max(_FEWEST_WARPS, what.by_warp.shape[1]):
        return []
    return [Group(warps, int(what.by_warp[:, warps].sum())) for warps in by_counts.values()]


class LaunchCounts:
    """names: launches of these kernels only, () of all; most: launches, each kernel and grid once; options:
    of counted_launch()."""

    def __init__(self, names=(), most: int = 4, options: dict | None = None):
        self._selection, self._options = Selection(names, most), options or {}
        self._launches: list[Launch] = []

    @contextlib.contextmanager
    def watching(self):
        """Launches inside of the block are counted, and then run as the program asks."""
        with observing(self._observe):
            yield self

    def result(self, status: int) -> Profile:
        selection = self._selection
        return Profile(SCHEMA, self._launches, selection.left_out, status, [*selection.others])

    def _observe(self, call: Call, go) -> None:
        launch = of_call(call)

        def count() -> None:
            self._launches.append(counted_launch(launch, number=len(self._launches), **self._options))

        if math.prod(launch.grid):  # an empty grid executes nothing
            self._selection.look(launch.name, (launch.name, tuple(launch.grid), launch.target), count)
        return go()
