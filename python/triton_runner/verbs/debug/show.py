"""Shows a stop as text: where, a value as a table with its mask and statistics, registers over all lanes,
shared memory."""

from __future__ import annotations

import linecache
import os

import numpy

from triton_runner.verbs.debug.places import line_of
from triton_runner.verbs.debug.results import Compared, Exited, Frame, Stopped
from triton_runner.verbs.debug.tables import ROWS, fitted, number, table

_OF_WARPS = (32, 16, 8, 4, 2, 1)  # elements of a line
_TEXT = 240  # characters of an op


def where(event: Stopped | Exited) -> list[str]:
    """Says where the program stands, in two or three lines."""
    if isinstance(event, Exited):
        return [f"the program has ended: {event.error or f'status {event.status}'}"]
    lines = [f"{_reason(event)}: {standing(event)}"]
    if event.trap:
        lines = [f"trap: {event.trap.splitlines()[0]}", f"before it: {standing(event)}"]
    source = [source_line(event.frames[0])] if event.frames else []
    return [
        *lines,
        *[line for line in source if line],
        f"  {event.level} {event.at:>4}  {_shortened(event.text.strip())}",
        *[f"  {event.note}"] * bool(event.note),
    ]


def _shortened(text: str) -> str:
    """An op or instruction in a line; `text` shows it whole."""
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 3]}..."


def compared(result: Compared) -> list[str]:
    """The first value that differs in full, the others in a line each."""
    count, first = len(result.differences), result.differences[:1]
    how_many = f"{count} of them {'differs' if count == 1 else 'differ'}" if count else "none differs"
    lines = [f"{result.side} | {result.other}: {result.values} values, up to here {how_many}"]
    lines += [line for one in first for line in one.text.splitlines()]
    for one in result.differences[1:ROWS]:
        name = f"'{one.variable}'" if one.variable else one.value
        lines.append(
            f"then {name}, line {one.line}: {one.elements} of {one.of} elements, by at most "
            f"{one.max_error if isinstance(one.max_error, str) else number(one.max_error)}"
        )
    return [*lines, *(f"note: {note}" for note in result.notes)]


def without_launches(session) -> list[str]:
    """Says of a program that has ended that it launched nothing that could stop."""
    if session.launches:
        return []
    others = ", ".join(dict.fromkeys(session.passed))
    if others:
        return [f"no kernel {session.kernel!r} was launched: only {others}"]
    return ["no kernel was launched in this process"]


def never_hit(breakpoint_, session) -> str:
    """Says of a breakpoint that no launch stopped at it."""
    what = breakpoint_.info().where + (f" if {breakpoint_.condition}" if breakpoint_.condition else "")
    return f"breakpoint {breakpoint_.number} ({what}) was never hit{_why_not(breakpoint_, session)}"


def _why_not(breakpoint_, session) -> str:
    if not session.launches:
        return ""
    if not breakpoint_.was_found and not breakpoint_.watch:
        if line_of(breakpoint_.where):
            return ": no launch has code at this line, or at a later one of its function"
        return ": no launch has such a place"
    for program in (breakpoint_.program, session.focus):
        if program and not any(is_within(program, grid) for grid in session.grids):
            largest = max(session.grids, key=lambda grid: grid[0] * grid[1] * grid[2])
            return f": no launch has program ({_axes(program)}), the largest grid is ({_axes(largest)})"
    return ""


def is_within(program, grid) -> bool:
    """Returns whether a grid has a program; -1 is any."""
    return all(axis < extent for axis, extent in zip(program, grid, strict=True))


def _axes(numbers) -> str:
    return ", ".join(map(str, numbers))


def _reason(event: Stopped) -> str:
    if event.breakpoints:
        return f"breakpoint {', '.join(map(str, event.breakpoints))}"
    words = {
        "statement": "dl.breakpoint", "moment": "stopped", "beginning": "nothing before it in this program",
        "thawed": "all else waits, so that what was frozen goes on",
    }  # fmt: skip
    return words.get(event.reason, event.reason)


def standing(event: Stopped) -> str:
    """ "add_kernel, program (3, 0, 0), iteration 2, kernel.py:27 in add_kernel"."""
    parts = [event.kernel, f"program ({_axes(event.program)})"]
    if event.threads:
        block, first, count = event.threads
        parts += [f"block {block}"] * bool(block) + [
            _threads(first, count, event.wave, warp_word(event.level))
        ]
    elif event.task:
        parts.append(f"partition {event.task}")
    if event.iterations:
        loops = ", ".join(map(str, event.iterations))
        parts.append(f"iteration {loops}" if len(event.iterations) == 1 else f"iterations {loops}")
    if event.frames:
        parts.append(frame(event.frames[0]))
    return ", ".join(parts)


def warp_word(level: str) -> str:
    """Returns the word of a level for threads that run together: AMD says "wave"."""
    return "wave" if level == "amdgcn" else "warp"


def _threads(first: int, count: int, wave: int, name: str) -> str:
    last = (first + count - 1) // wave
    return f"{name} {first // wave}" if last == first // wave else f"{name}s {first // wave} to {last}"


def frame(at: Frame) -> str:
    return f"{os.path.basename(at.file)}:{at.line}" + (f" in {at.function}" if at.function else "")


def frames(event: Stopped) -> list[str]:
    """The lines that it stands on, innermost first."""
    return [f"#{i}  {frame(at)}" for i, at in enumerate(event.frames)] or ["no line of the source is known"]


def source_line(at: Frame) -> str:
    text = linecache.getline(at.file, at.line).rstrip()
    return f"  {at.line:>4}  {text}" if text else ""


def listing(event: Stopped, frame: int = 0, around: int = 5) -> list[str]:
    """The lines of the source around one that it stands on."""
    if not event.frames:
        return ["no line of the source is known"]
    at, lines = event.frames[frame], []
    for line in range(max(at.line - around, 1), at.line + around + 1):
        text = linecache.getline(at.file, line)
        if text:
            lines.append(f"{'->' if line == at.line else '  '} {line:>4}  {text.rstrip()}".rstrip())
    return lines or [f"{at.file} cannot be read"]


def described(name: str, array, mask=None, width: int = 0) -> list[str]:
    """An array with its type, statistics and a table of its elements; of a scalar the number. mask: elements
    that are there; others are dots. width: of the terminal."""
    array = numpy.asarray(array)
    if array.ndim == 0:
        return [f"{name} = {number(array[()])}"]
    shape = "x".join(map(str, array.shape))
    return [f"{name} = {shape} {array.dtype}, {statistics(array, mask)}", *table(array, mask, width)]


def pointers(name: str, array, places, mask=None, width: int = 0) -> list[str]:
    """The same of addresses: the elements of arguments that they are of (places), or their numbers."""
    array = numpy.asarray(array)
    if array.ndim == 0:
        place = places[()]
        return [f"{name} = {int(array[()]):#x}" + f", {place}" * bool(place)]
    there = array if mask is None else array[numpy.broadcast_to(mask, array.shape)]
    ends = f", {int(there.min()):#x} to {int(there.max()):#x}" if there.size else ""
    masked = f"; {array.size - there.size} masked" if there.size < array.size else ""
    shown = numpy.array(
        [
            place or f"{address:#x}"
            for place, address in zip(places.ravel(), array.ravel().tolist(), strict=True)
        ],
        object,
    ).reshape(array.shape)
    shape = "x".join(map(str, array.shape))
    return [f"{name} = {shape} pointers{ends}{masked}", *table(shown, mask, width, str)]


def figures(array, mask=None) -> tuple[dict[str, str], dict[str, int]]:
    """Least, largest and mean of the finite elements, where there are some; how many others there are."""
    there = array if mask is None else array[numpy.broadcast_to(mask, array.shape)]
    values = there.astype("float64").ravel()
    finite = values[numpy.isfinite(values)]
    names = ("min", "max", "mean") if finite.size else ()
    counts = {"NaN": int(numpy.isnan(values).sum()), "inf": int(numpy.isposinf(values).sum())}
    counts["-inf"] = int(numpy.isneginf(values).sum())
    counts["masked"] = array.size - there.size
    return {name: number(getattr(finite, name)()) for name in names}, {n: c for n, c in counts.items() if c}


def statistics(array, mask=None) -> str:
    """ "min -1.2, max 3.4, mean 0.1; 2 NaN; 12 masked"."""
    if array.dtype == bool:
        there = array if mask is None else array[numpy.broadcast_to(mask, array.shape)]
        return f"{int(there.sum())} of {there.size} true"
    found, counts = figures(array, mask)
    parts = [", ".join(f"{name} {text}" for name, text in found.items())] * bool(found)
    return "; ".join([*parts, *(f"{count} {name}" for name, count in counts.items())]) or "empty"


def lanes(name: str, array, mask, at: Stopped, style: str = "", width: int = 0) -> list[str]:
    """A register over all lanes, each warp from a new line on; threads that are elsewhere are dots."""
    first, wave, word = at.threads[1], at.wave, warp_word(at.level)
    there = array if mask is None else array[mask]
    if len(there) == 1:
        one = first + (0 if mask is None else int(numpy.flatnonzero(mask)[0]))
        where_ = f"lane {one % wave} of {word} {one // wave}"
        return [f"{name} = {element(there[0], style)} in {where_}, {array.dtype}"]
    if len(there) and (there == there[0]).all():
        return [f"{name} = {element(there[0], style)} in all {len(there)} lanes, {array.dtype}"]
    lines = [f"{name} = {array.dtype}, {statistics(array, mask)}"]

    def cells_of(count: int) -> list:
        cells = []
        for start in range(0, len(array), count):
            lane = first + start
            of_warp = start - lane % wave
            if mask is not None and not mask[max(of_warp, 0) : of_warp + wave].any():
                continue
            own = range(start, min(start + count, len(array)))
            warp = f"{word} {lane // wave}" if lane % wave == 0 else ""
            shown = ["." if mask is not None and not mask[i] else element(array[i], style) for i in own]
            cells.append([warp, f"[{lane % wave}]", *shown])
        return cells[: 4 * ROWS]

    return [*lines, *fitted(cells_of, width, _OF_WARPS)]


def element(value, style: str) -> str:
    """An element in a style: "x" its bits, "f" the bits as a float, "" as its type has it."""
    bits = numpy.asarray(value)
    if style == "x":
        return hex(int.from_bytes(bits.tobytes(), "little"))
    if style == "f" and bits.dtype.kind in "iu" and bits.dtype.itemsize in (2, 4, 8):
        return number(bits.view(f"f{bits.dtype.itemsize}")[()])
    return number(value)


def register(name: str, array, mask=None) -> str:
    """A register over the lanes that are here, in a line."""
    there = array if mask is None else array[mask]
    if len(there) and (there == there[0]).all():
        return f"{name:<8} {number(there[0])} in all {len(there)} lanes"
    shown = "  ".join(number(value) for value in there[:8])
    return f"{name:<8} {shown}{' ...' if len(there) > 8 else ''}"


def predicate(name: str, array, mask, at: Stopped) -> list[str]:
    """A predicate, a warp a line and a digit a lane, the first lane first; a dot where a thread is
    elsewhere."""
    there = array if mask is None else array[mask]
    if len(there) and (there == there[0]).all():
        return [register(name, array, mask)]
    lines, wave, word = [], at.wave, warp_word(at.level)
    for start in range(0, len(array), wave):
        own = range(start, min(start + wave, len(array)))
        digits = "".join("." if mask is not None and not mask[i] else str(int(array[i])) for i in own)
        if digits.strip("."):
            lines.append(f"{name if not lines else '':<8} {word} {(at.threads[1] + start) // wave}  {digits}")
    return lines


def barrier(held) -> str:
    """ "full, mbarrier at shared 0x230: phase 0: 1 arrival and 0 bytes are missing; warps 4 to 7 wait"."""
    place = f"mbarrier at shared 0x{held.at:x}" + (f" of block {held.block}" if held.block else "")
    name = f"{held.name}, " if held.name else ""
    waits = f"; {', '.join(held.waiting)} {'wait' if _are_several(held.waiting) else 'waits'}"
    return f"{name}{place}: {held.state}" + (waits if held.waiting else "")


def _are_several(who: list[str]) -> bool:
    return len(who) > 1 or any("warps" in one for one in who)


def buffer(held) -> str:
    """ "a_smem           shared 0x400, 4096 bytes"."""
    of = "bytes" if held.space == "shared" else "bytes along each lane"
    return f"{held.name:<16} {held.space} 0x{held.at:x}, {held.bytes} {of}"


def memory(data: bytes, offset: int, kind: str, count: int, base: int = 0, width: int = 0) -> list[str]:
    """Bytes of shared memory as elements of a type of NumPy. base: the address of the first of them."""
    size = numpy.dtype(kind).itemsize
    count = min(count, (len(data) - offset) // size)
    array = numpy.frombuffer(data, kind, count, offset)

    def cells_of(row: int) -> list:
        starts = range(0, count, row)
        return [[f"0x{base + offset + at * size:x}", *map(number, array[at : at + row])] for at in starts]

    return fitted(cells_of, width, _OF_WARPS) or ["nothing is there"]
