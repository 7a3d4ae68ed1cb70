"""Estimates how long a launch takes on a chip: one SM is replayed from what its programs did.

The programs of one SM (each `sms`-th of the grid, as blocks are dealt) run on the CPU while the engine keeps
what each warp does in order; the core replays them (src/replay). Where an SM has more programs than were run,
what follows goes on at the pace that the replay has come to."""

from __future__ import annotations

import dataclasses
import heapq
import math
import os
import time
from collections import defaultdict

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import fail
from triton_runner._core import probe
from triton_runner._kernel.compiling.resources import resources
from triton_runner._kernel.cost import chips, timing
from triton_runner._kernel.cost.counting import Binary, Traced, blocks_of, traced
from triton_runner._kernel.cost.results import Estimate, Run, Stall, Timeline

KINDS = ("under 5 us", "memory-bound", "tensor cores", "latency-bound")
_REASONS = [text for _, text in probe.REPLAY_REASONS]
_NAMES = [name for name, _ in probe.REPLAY_REASONS]
_MOST_PROGRAMS, _WAVES = 16, 3  # that run, and waves of blocks of an SM that are replayed at most
_MOST = 1 << 26  # steps and requests of a trace
_SPREAD = 16  # programs of the whole grid that run where programs differ
_EQUAL = 1.03  # the largest program by the smallest, up to which they count as equal
_PARTS = 400  # of a timeline
_BUSY = 0.6  # of the time: a resource that binds


@dataclasses.dataclass(frozen=True, eq=False)
class ReplayedLaunch:
    """The parts of a launch that an estimate needs: how many programs it has, how many of them an SM holds,
    the shared memory of each, and the trace of some."""

    kernel: str
    total: int
    blocks: int
    shared: int
    what: Traced


@dataclasses.dataclass(frozen=True)
class _Dealt:
    """The share of an SM: how many programs, how many at once, how many SMs have some."""

    programs: int
    resident: int
    active: int

    @property
    def waves(self) -> float:
        return self.programs / self.resident


def estimate(
    launch: Relaunch, *, chip: str, programs: int | None = None, with_timeline: bool = False
) -> Estimate:
    """The time of a launch on a chip. programs: how many programs of an SM run at most. Raises
    DiagnosticError for a chip without timings and for launches that cannot be replayed."""
    started = time.perf_counter()
    numbers = timing.parameters(chip)
    subject = subject_of(launch, chips.chip_named(chip), programs)
    return estimate_of(subject, chips.chip_named(chip), numbers, started, with_timeline=with_timeline)


def subject_of(launch: Relaunch, chip: chips.Chip, programs: int | None = None) -> ReplayedLaunch:
    """Runs some programs of the launch. Raises as estimate()."""
    chips.check_target(chip, launch.target)
    if blocks_of(launch) > 1:
        raise fail(
            f"kernel '{launch.name}' launches clusters of {blocks_of(launch)} blocks",
            "the replay of an SM does not know what the cluster's other SMs do",
        )
    needs = resources(Binary(launch), launch.metadata, name=launch.name)
    if not needs.occupancy:
        raise fail("how many blocks an SM holds is not known", "give the metadata with the shared memory")
    total = math.prod(launch.grid)
    if not total:
        raise fail(f"kernel '{launch.name}' is launched with an empty grid")
    blocks = needs.occupancy["blocks"]
    dealt = _deal(chip, total, blocks)
    what = traced(launch, _sample(dealt, chip.sms, total, programs), _spread(total, _SPREAD), _MOST)
    if any(row.spelling.startswith("UTC") and "MMA" in row.spelling for row in what.rows):
        raise fail(
            f"kernel '{launch.name}' has products on tensor memory (tcgen05)", "the replay does not have them"
        )
    shared = (needs.static_shared or 0) + (needs.dynamic_shared or 0)
    return ReplayedLaunch(launch.name, total, blocks, shared, what)


def estimate_of(
    subject: ReplayedLaunch, chip: chips.Chip, numbers: dict[str, float], started: float = 0.0,
    clock: float = 0.0, with_timeline: bool = False,
) -> Estimate:  # fmt: skip
    """numbers: of the chip, by parameter. clock: in Hz, where it is known."""
    what, dealt = subject.what, _deal(chip, subject.total, subject.blocks)
    result, cycles = _replayed(subject, dealt, numbers, int(with_timeline))
    cycles += numbers["launch_cycles"]
    busy = _busy(result)
    clock = clock or timing.clock_of(chip, busy["tensor"])
    seconds = cycles / clock
    kind = _kind(seconds, busy)
    stalls = _stalls(result, what)
    unknown = [f"no estimate for {chip.name} was compared with the chip yet"]
    return Estimate(
        subject.kernel, chip.name, round(cycles, 1), round(seconds * 1e6, 3), clock, _bound(busy, stalls),
        kind, timing.error_of(chip, kind), round(dealt.waves, 3), dealt.resident, len(what.sizes),
        subject.total, stalls, busy, result["dram_bytes"] * dealt.active,
        round(time.perf_counter() - started, 3), [] if timing.ERRORS.get(chip.name) else unknown,
        _parted(_segments(result, what)) if with_timeline else None,
    )  # fmt: skip


def _deal(chip: chips.Chip, total: int, blocks: int) -> _Dealt:
    active = max(1, min(chip.sms, total))
    programs = math.ceil(total / active)
    return _Dealt(programs, max(1, min(blocks, programs)), active)


def _sample(dealt: _Dealt, sms: int, total: int, most: int | None) -> list[int]:
    """The programs of an SM that run: the first ones."""
    most = most or max(2, min(_MOST_PROGRAMS, 2 * dealt.resident))
    return list(range(0, total, sms))[: min(most, dealt.programs)]


def _spread(total: int, most: int) -> list[int]:
    """Programs of all parts of the grid, whatever its shape: steps of the golden ratio."""
    return list(dict.fromkeys(int(total * ((i + 0.5) * 0.6180339887 % 1)) for i in range(min(total, most))))


def _replayed(subject: ReplayedLaunch, dealt: _Dealt, numbers: dict, blocks: int):
    """Returns the core's answer, and the SM's cycles for all its programs. blocks: so many have a
    timeline."""
    sizes = subject.what.sizes
    if max(sizes.values()) > _EQUAL * min(sizes.values()):
        return _replayed_uneven(subject, dealt, numbers, blocks)
    ran = [*sizes]
    count = min(dealt.programs, max(len(ran), _WAVES * dealt.resident))
    result = _run(subject, dealt, numbers, [ran[i % len(ran)] for i in range(count)], blocks)
    cycles = result["cycles"]
    if dealt.programs > count:
        ends = sorted(result["ends"])
        first = ends[dealt.resident - 1]
        pace = (ends[-1] - first) / max(1, count - dealt.resident)
        cycles += pace * (dealt.programs - count)
    return result, cycles


def _replayed_uneven(subject: ReplayedLaunch, dealt: _Dealt, numbers: dict, blocks: int):
    """Programs differ: those of the whole grid are replayed on an SM, and then all are dealt to the SMs as
    these get free, each with the time of one of them."""
    sizes = subject.what.sizes
    ran = [number for number in _spread(subject.total, _SPREAD) if number in sizes] or [*sizes]
    if subject.total <= len(sizes):
        ran = [*sizes]
    if dealt.programs <= dealt.resident:  # all at once: the SM with the largest is the last
        ran = sorted(ran, key=lambda number: -sizes[number])[: dealt.programs]
        result = _run(subject, dealt, numbers, ran, blocks)
        return result, result["cycles"]
    result = _run(subject, dealt, numbers, ran, blocks)
    times = [end - begin for begin, end in zip(result["begins"], result["ends"], strict=True)]
    free = [0.0] * (dealt.resident * dealt.active)
    for number in range(subject.total):
        heapq.heappush(free, heapq.heappop(free) + times[number % len(times)])
    return result, max(free)


@dataclasses.dataclass(frozen=True)
class Segment:
    """A segment of the timeline of a warp of a block, from one cycle to another: it issued ("issuing"), or
    waited, at the instruction of an address."""

    block: int
    warp: int
    reason: str
    address: int
    begin: float
    end: float


def timeline(launch: Relaunch, *, chip: str, blocks: int = 1) -> list[Segment]:
    """Returns what the warps of an SM's first blocks do, one after the other. Raises as estimate()."""
    subject = subject_of(launch, chips.chip_named(chip))
    dealt = _deal(chips.chip_named(chip), subject.total, subject.blocks)
    return _segments(_replayed(subject, dealt, timing.parameters(chip), blocks)[0], subject.what)


def _segments(result: dict, what: Traced) -> list[Segment]:
    return [
        Segment(block, warp, _REASONS[reason], what.rows[instruction].address, begin, end)
        for block, warp, reason, instruction, begin, end in result["segments"]
    ]


def _parted(segments: list[Segment]) -> Timeline:
    """Segments of one block in _PARTS equal parts of its time, each with what takes most of it."""
    start, cycles = min((s.begin for s in segments), default=0), max((s.end for s in segments), default=0)
    reasons = sorted({s.reason for s in segments}, key=lambda reason: (reason != "issuing", reason))
    number_of = {reason: number for number, reason in enumerate(reasons)}
    step = max(1.0, (cycles - start) / _PARTS)
    by_warp: dict[int, dict] = defaultdict(lambda: defaultdict(float))
    for s in segments:
        for part in range(int((s.begin - start) / step), math.ceil((s.end - start) / step)):
            begin, end = start + part * step, start + (part + 1) * step
            by_warp[s.warp][part, number_of[s.reason], s.address] += min(end, s.end) - max(begin, s.begin)
    warps = []
    for warp in sorted(by_warp):
        most: dict[int, tuple] = {}
        for (part, reason, address), time_ in by_warp[warp].items():
            most[part] = max(most.get(part, (0.0, 0, 0)), (time_, reason, address))
        runs: list[Run] = []
        for part, (_, reason, address) in sorted(most.items()):
            begin, end = round(part * step, 1), round((part + 1) * step, 1)
            if runs and (runs[-1].end, runs[-1].reason, runs[-1].address) == (begin, reason, address):
                runs[-1] = dataclasses.replace(runs[-1], end=end)
            else:
                runs.append(Run(begin, end, reason, address))
        warps.append(runs)
    return Timeline(round(cycles - start, 1), reasons, warps)


def _run(subject: ReplayedLaunch, dealt: _Dealt, numbers: dict, order: list[int], blocks: int = 0) -> dict:
    what = subject.what
    return probe.replay(
        what.observer, what.listing, subject.kernel, numbers, order, dealt.resident, dealt.active,
        subject.shared * dealt.resident, _regions(what, subject.total), blocks,
    )  # fmt: skip


def _regions(what: Traced, total: int) -> list[tuple[int, int, float]]:
    """(first address, end, how many programs share a byte) of each block of the arguments' memory."""
    plain = [(begin, begin + size, 1.0) for begin, size in what.memory]
    out = []
    for (begin, end, _), (each, together) in zip(plain, probe.footprints(what.observer, plain), strict=True):
        of_all = each / len(what.sizes) * total
        there = min(end - begin, of_all) if len(what.sizes) < total else together
        out.append((begin, end, max(1.0, of_all / there) if there else 1.0))
    return out


def _busy(result: dict) -> dict[str, float]:
    """The part of the replayed time that each resource was at work."""
    whole = max(1.0, result["cycles"])
    names = {"memory": "dram", "L2": "l2", "tensor": "tensor", "shared memory": "shared", "issue": "issue"}
    busy = {name: round(min(1.0, result[key] / whole), 4) for name, key in names.items()}
    return dict(sorted(busy.items(), key=lambda item: -item[1]))


def _kind(seconds: float, busy: dict[str, float]) -> str:
    if seconds < 5e-6:
        return KINDS[0]
    if max(busy["memory"], busy["L2"]) >= 0.5:
        return KINDS[1]
    return KINDS[2] if busy["tensor"] >= 0.25 else KINDS[3]


def _bound(busy: dict[str, float], stalls: list[Stall]) -> str:
    name, part = next(iter(busy.items()))
    if part >= _BUSY or not stalls:
        return name
    first = stalls[0]
    return f"{first.reason}, {os.path.basename(first.file)}:{first.line}" if first.line else first.reason


def at_lines(one: Estimate, lines: dict[int, tuple[str, int]]) -> Estimate:
    """An estimate whose stalls are at these lines: (file, line) by an instruction's address."""
    stalls = []
    for stall in one.stalls:
        file, line = lines.get(stall.address, (stall.file, stall.line))
        stalls.append(dataclasses.replace(stall, file=file, line=line))
    return dataclasses.replace(one, stalls=stalls, bound_by=_bound(one.busy, stalls))


def _stalls(result: dict, what: Traced) -> list[Stall]:
    out: dict[tuple, float] = defaultdict(float)
    for instruction, reason, cycles in result["stalls"]:
        if _NAMES[reason] != "selected":
            out[instruction, reason] += cycles
    whole = sum(cycles for *_, cycles in result["stalls"]) or 1.0
    stalls = []
    for (instruction, reason), cycles in sorted(out.items(), key=lambda item: -item[1]):
        row = what.rows[instruction]
        file, _, line = row.program.rpartition(":")
        number = int(line) if line.isdigit() else 0
        share = round(cycles / whole, 4)
        stalls.append(Stall(_REASONS[reason], share, row.address, str(row), file, number))
    return stalls
