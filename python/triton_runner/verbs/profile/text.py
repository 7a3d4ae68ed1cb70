"""Shows a profile in a terminal: what was executed, what bounds it, and the lines that it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator

from triton_runner._kernel.cost.counters import COUNTERS
from triton_runner._kernel.cost.lines import short
from triton_runner._kernel.cost.results import Estimate, Instruction, Launch, Profile
from triton_runner._launch.launchers import what_else

_LINES, _INSTRUCTIONS, _STALLS, _WIDTH = 12, 12, 5, 60


def text_of(result: Profile, level: str = "python", most: int = _LINES) -> str:
    """level: whose lines are shown; "sass": instructions."""
    parts = ["\n".join(_launch(one, level, most)) for one in result.launches] or [_nothing(result)]
    parts += what_else("profiled", result.left_out, result.status, " (--launches)")
    return "\n\n".join(parts)


def _nothing(result: Profile) -> str:
    """Why there is no launch to show."""
    if result.others:
        return f"no launch of the kernel of --kernel; launched kernels: {', '.join(result.others)}"
    return "no launch was counted" if result.status else "no kernel was launched"


def _launch(one: Launch, level: str, most: int) -> Iterator[str]:
    ran = f"all {one.of:,} programs" if one.programs == one.of else f"{one.programs:,} of {one.of:,} programs"
    ran += ", extrapolated: their counts are equal" if one.is_extrapolated else ""
    grid = " x ".join(map(str, one.grid))
    waves = "wavefronts" if one.target.startswith("hip:") else "warps"
    yield f"{one.kernel}, grid {grid}, {one.target}, {one.warps} {waves}: {ran}"
    for name, value in one.counters.items():
        if value:
            unit = COUNTERS[name].unit
            yield f"  {name.replace('_', ' '):<26}{value:>16,} {waves if unit == 'warps' else unit}"
    yield from _work(one)
    for group in one.groups:
        yield f"  warps {_ranges(group.warps):<20}{group.instructions:>16,} warps' instructions"
    yield from _bounds(one)
    yield from _estimate(one.estimate) if one.estimate else ()
    yield ""
    yield from _instructions(one, most) if level in ("sass", "amdgcn") else _lines(one, level, most)
    yield from (f"note: {note}" for note in one.notes)


def _work(one: Launch) -> Iterator[str]:
    if one.flops:
        yield f"  {'floating-point operations':<26}{one.flops:>16,}"
    moved = (("loaded, each sector once", one.loaded_bytes), ("stored, each sector once", one.stored_bytes))
    for what, amount in moved:
        if amount:
            yield f"  {what:<26}{amount:>16,} bytes"
    pipes = [f"{name} {n:,}" for name, n in one.pipes.items()]
    yield f"  pipes: {', '.join(pipes)}"
    opcodes = [f"{name} {n:,}" for name, n in [*one.opcodes.items()][:8]]
    yield f"  opcodes: {', '.join(opcodes)}"
    if one.occupancy:
        o = one.occupancy
        yield (
            f"  {one.registers} registers, {one.spills} spilled, {one.shared:,} bytes of shared memory; "
            f"{o['warps']} of {o['most_warps']} warps on an SM, limited by {' and '.join(o['limits'])}"
        )


def _estimate(one: Estimate) -> Iterator[str]:
    error = "its error was not measured" if one.error is None else f"+- {one.error:.0%}, as measured"
    yield (
        f"  estimate on {one.chip}: {_time(one.microseconds, 2, ' ')}, {one.cycles:,.0f} cycles "
        f"({one.kind}: {error}), bound by {one.bound_by}"
    )
    busy = ", ".join(f"{name} {part:.0%}" for name, part in one.busy.items())
    yield f"    {one.waves:g} waves of {one.blocks_per_sm} blocks an SM; at work: {busy}"
    for stall in one.stalls[:_STALLS]:
        where = f"{short(stall.file)}:{stall.line}" if stall.file else ""
        about = f"waits for {stall.reason:<24} {stall.address:>#6x} {stall.text[:40]:<40}"
        yield f"    {stall.share:>6.1%} {about} {where}"
    yield from (f"    note: {note}" for note in one.notes)


def _bounds(one: Launch) -> Iterator[str]:
    if not one.bounds:
        return
    yield f"  least time on {one.chip}, by resource (bounds, not predictions):"
    top = one.bounds[0].microseconds or 1.0
    for bound in one.bounds:
        bar = "#" * max(1, round(20 * bound.microseconds / top))
        yield f"    {bound.name:<14}{_time(bound.microseconds, 3, ' '):>15}  {bar:<20}  {bound.about}"
    if roof := one.roofline:
        yield from _roofline(roof)


def _time(microseconds: float, digits: int, space: str = "") -> str:
    """A time in the largest unit in which these digits show something."""
    units = {"us": 1, "ns": 1e3, "ps": 1e6}
    shown = (unit for unit, parts in units.items() if round(microseconds * parts, digits))
    unit = next(shown, "us")
    return f"{microseconds * units[unit]:,.{digits}f}{space}{unit}"


def _roofline(roof) -> Iterator[str]:
    """A line from 1/16 to 4,096 operations a byte with the ridge and the launch on it."""
    if roof.intensity is None:
        return
    low, high, width = -4, 12, 48

    def at(ratio: float) -> int:
        place = (math.log2(max(ratio, 2**low)) - low) / (high - low)
        return min(width - 1, max(0, round(place * (width - 1))))

    ridge, here = at(roof.ridge), at(roof.intensity)
    row = ["/" if i < ridge else "_" for i in range(width)]
    row[ridge], row[here] = "+", "o"
    here, ridge = f"o {roof.intensity:,.2f}", f"+ {roof.ridge:,.1f}"
    yield f"    roofline: {''.join(row)}  operations a byte: {here}, {ridge} (bound)"


def _lines(one: Launch, level: str, most: int) -> Iterator[str]:
    rows = one.lines_of(level)
    if one.chip:
        rows = sorted(rows, key=lambda line: -line.microseconds)
    if not rows:
        yield f"no instruction names a line of the {level}"
        return
    head = {"python": "line of the program", "ptx": "line of the PTX", "ttgir": "line of the TTGIR"}[level]
    bound = f"{'at least':>10}  {'bound by':<14}" if one.chip else ""
    yield f"{'share':>7}{'warp instr.':>14}  {bound}{head}"
    for line in rows[:most]:
        at_least = f"{_time(line.microseconds, 2):>10}  {line.bound_by:<14}" if one.chip else ""
        where = f"{short(line.file)}:{line.line}" if line.file else f"{line.line}"
        executed = line.counts.get("executed", 0)
        yield f"{line.share:>7.1%}{executed:>14,}  {at_least}{where}  {line.text[:_WIDTH]}"
        yield from (f"{'':>23}{said}" for said in line.causes)
    if len(rows) > most:
        yield f"and {len(rows) - most} more (--lines)"


def _instructions(one: Launch, most: int) -> Iterator[str]:
    rows = sorted(one.instructions, key=lambda i: -i.counts.get("executed", 0))
    is_amd = one.target.startswith("hip:")  # its text has lines, and no addresses
    where = "line" if is_amd else "address"
    yield f"{'share':>7}{'warp instr.':>14}  {'pipe':<9}{where:>8}  instruction"
    for row in rows[:most]:
        yield (
            f"{row.share:>7.1%}{row.counts.get('executed', 0):>14,}  {row.pipe or '-':<9}"
            f"{row.address if is_amd else hex(row.address):>8}  "
            f"{_counts(row)}"
        )
    if len(rows) > most:
        yield f"and {len(rows) - most} more (--lines)"


def _counts(row: Instruction) -> str:
    about = [
        f"{row.counts[name]:,} {said}"
        for name, said in (
            ("global_sectors", "sectors"), ("shared_wavefronts", "wavefronts"),
            ("local_sectors", "sectors of local memory"), ("copied_bytes", "bytes copied"),
        )
        if name in row.counts
    ]  # fmt: skip
    return row.text + (f"  ({', '.join(about)})" if about else "")


def _ranges(warps: list[int]) -> str:
    parts, start = [], 0
    for i in range(1, len(warps) + 1):
        if i == len(warps) or warps[i] != warps[i - 1] + 1:
            first, last = warps[start], warps[i - 1]
            parts.append(str(first) if first == last else f"{first} to {last}")
            start = i
    return ", ".join(parts)
