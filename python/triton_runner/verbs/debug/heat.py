"""Draws a value as a heat map in text: a cell for an element, or for a block of elements of a large one.

    0369
    !^v.        NaN, inf, -inf, left out by the mask

If a terminal has colours, each cell is half a character, in the colours of viridis, by rich; elsewhere it is
a digit, from 0 for the smallest finite number to 9 for the largest. What is not finite, or not there, has a
mark or a colour of its own."""

from __future__ import annotations

import dataclasses
import math

import numpy

from triton_runner._base.errors import fail
from triton_runner.verbs.debug.show import number, statistics

_ROWS, _COLUMNS = 32, 64  # cells, at most
_VIRIDIS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
# A cell with any of these elements is no number; of several the last counts.
MARKS = {"masked": 1, "-inf": 2, "inf": 3, "nan": 4}
_DIGITS = {1: ".", 2: "v", 3: "^", 4: "!"}
_COLOURS = {1: (48, 48, 48), 2: (64, 160, 255), 3: (255, 255, 255), 4: (255, 64, 64)}
_WORDS = {2: ("v is -inf", "blue is -inf"), 3: ("^ is inf", "white is inf"), 4: ("! is NaN", "red is NaN")}
UPPER = "\u2580"  # the upper half of a character


@dataclasses.dataclass(frozen=True)
class Heat:
    """levels: of each cell 0 to 1, from the smallest to the largest; marks: of each one of MARKS, or 0."""

    levels: numpy.ndarray
    marks: numpy.ndarray
    block: tuple  # rows and columns of elements in a cell
    text: str

    def lines(self, console=None) -> list[str]:
        """As a console of rich shows it; None, or one without colours: in digits."""
        in_colours = console is not None and console.color_system is not None and not console.no_color
        words = [both[in_colours] for mark, both in _WORDS.items() if (self.marks == mark).any()]
        head = "; ".join([self.text, ", ".join(words)] if words else [self.text])
        rows = [[*zip(*row, strict=True)] for row in zip(self.levels, self.marks, strict=True)]
        if not in_colours:
            return [head, *("  " + "".join(self._digit(*cell) for cell in row) for row in rows)]
        return [head, *_halves(console, [[self._colour(*cell) for cell in row] for row in rows])]

    @staticmethod
    def _digit(level, mark) -> str:
        return _DIGITS.get(mark) or str(min(int(level * 10), 9))

    @staticmethod
    def _colour(level, mark) -> tuple:
        if mark:
            return _COLOURS[mark]
        at = min(float(level), 1.0) * (len(_VIRIDIS) - 1)
        low = min(int(at), len(_VIRIDIS) - 2)
        pairs = zip(_VIRIDIS[low], _VIRIDIS[low + 1], strict=True)
        return tuple(round(a + (b - a) * (at - low)) for a, b in pairs)


def heat_of(name: str, array, mask=None) -> Heat:
    """The map of an array of one axis or more; further axes than two are rows."""
    array = numpy.asarray(array)
    if array.ndim == 0:
        raise fail(f"heat {name}: it is a number", f"print {name} shows it")
    head = f"{name} = {'x'.join(map(str, array.shape))} {array.dtype}, {statistics(array, mask)}"
    there = numpy.ones(array.shape, bool) if mask is None else numpy.broadcast_to(mask, array.shape)
    values = _grid(array.astype("float64"), math.nan)
    there = _grid(there, False)
    rows, columns = (-(-extent // most) for extent, most in zip(values.shape, (_ROWS, _COLUMNS), strict=True))
    values, there = (_blocks(a, rows, columns) for a in (values, there))
    marks = numpy.where(there.any(axis=(1, 3)), 0, MARKS["masked"])
    for name, is_it in (("-inf", numpy.isneginf), ("inf", numpy.isposinf), ("nan", numpy.isnan)):
        marks = numpy.where((is_it(values) & there).any(axis=(1, 3)), MARKS[name], marks)
    counted = there & numpy.isfinite(values)
    sums = numpy.where(counted, values, 0.0).sum(axis=(1, 3))
    counts = counted.sum(axis=(1, 3))
    means = sums / numpy.maximum(counts, 1)
    there_are = means[(counts > 0) & (marks == 0)]
    low, high = (float(of(there_are)) if there_are.size else 0.0 for of in (numpy.min, numpy.max))
    levels = (means - low) / (high - low) if high > low else numpy.full(means.shape, 0.5)
    levels = numpy.where(marks == 0, levels.clip(0, 1), 0.0)
    each = f"each cell the mean of {rows}x{columns}, " if rows * columns > 1 else ""
    scale = f"{each}{number(low)} to {number(high)}" if there_are.size else "nothing to show"
    return Heat(levels, marks, (rows, columns), f"{head}; {scale}")


def _grid(array, missing):
    """Two axes: one axis is broken into rows."""
    if array.ndim > 1:
        return array.reshape(-1, array.shape[-1])
    width = min(array.size, _COLUMNS)
    rows = -(-array.size // width)
    padded = numpy.full(rows * width, missing, array.dtype)
    padded[: array.size] = array
    return padded.reshape(rows, width)


def _blocks(array, rows: int, columns: int):
    """[cells, rows, cells, columns], the last ones filled up with what is not there."""
    missing = False if array.dtype == bool else math.nan
    shape = [-(-extent // size) * size for extent, size in zip(array.shape, (rows, columns), strict=True)]
    padded = numpy.full(shape, missing, array.dtype)
    padded[: array.shape[0], : array.shape[1]] = array
    return padded.reshape(shape[0] // rows, rows, shape[1] // columns, columns)


def _halves(console, rows: list) -> list[str]:
    """Two rows of colours in a line of text."""
    from rich.text import Text  # a terminal's

    lines = []
    for upper in range(0, len(rows), 2):
        text = Text("  ")
        lower = rows[upper + 1] if upper + 1 < len(rows) else [None] * len(rows[upper])
        for top, bottom in zip(rows[upper], lower, strict=True):
            text.append(UPPER, f"rgb{_text(top)}" + (f" on rgb{_text(bottom)}" if bottom else ""))
        with console.capture() as captured:
            console.print(text, end="", soft_wrap=True)
        lines.append(captured.get())
    return lines


def _text(colour: tuple) -> str:
    return f"({','.join(map(str, colour))})"
