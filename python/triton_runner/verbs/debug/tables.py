"""Writes elements as a table with their numbers, as wide as there is room for; of many the first ones and the
last.

   0  1  2
0  1  2  .      a dot: the mask left it out
1  4  5  6"""

from __future__ import annotations

import numpy

ROWS = 16  # at most
_COLUMNS = 8  # where nobody says how much room there is
_MOST = 64
_STEPS = (64, 48, 32, 24, 16, 8, 4, 2, 1)


def number(value) -> str:
    """An element as a person reads it."""
    if isinstance(value, (bool, numpy.bool_)):
        return str(bool(value))
    if isinstance(value, (int, numpy.integer)):
        return str(int(value))
    return f"{float(value):.6g}"


def table(array, mask=None, width: int = 0, text_of=number) -> list[str]:
    """Rows and columns of the last two axes. width: of the terminal; text_of: an element as text."""
    array = numpy.asarray(array)
    if mask is not None:
        mask = numpy.broadcast_to(mask, array.shape)
    if array.ndim > 2:
        flat = (-1, array.shape[-1])
        array, mask = array.reshape(flat), None if mask is None else mask.reshape(flat)
    if array.ndim == 1:
        return fitted(lambda count: _row(array, mask, count, text_of), width)
    most = min(array.shape[1], _MOST) if width else _COLUMNS
    lines = aligned(_grid(array, mask, most, text_of))
    while most > 3 and width and len(lines[0]) > width:
        most -= 1
        lines = aligned(_grid(array, mask, most, text_of))
    return lines


def _grid(array, mask, most: int, text_of) -> list:
    """Elements of two axes, in at most so many columns."""
    rows, columns = _some(array.shape[0], ROWS), _some(array.shape[1], most)
    cells = [["", *("..." if c is None else str(c) for c in columns)]]
    for r in rows:
        if r is None:
            cells.append(["..."] * (len(columns) + 1))
            continue
        hidden = [c is not None and mask is not None and not mask[r, c] for c in columns]
        shown = [
            "..." if c is None else "." if h else text_of(array[r, c])
            for c, h in zip(columns, hidden, strict=True)
        ]
        cells.append([str(r), *shown])
    return cells


def fitted(cells_of, width: int, counts=_STEPS) -> list[str]:
    """The lines of cells_of(elements of a line), with as many as fit."""
    for count in counts if width else (_COLUMNS,):
        lines = aligned(cells_of(count))
        if not width or max(map(len, lines), default=0) <= width:
            break
    return lines


def _row(array, mask, count: int, text_of) -> list:
    """Elements of one axis."""
    cells = []
    for start in _some(-(-array.shape[0] // count), ROWS):
        if start is None:
            cells.append(["..."])
            continue
        at = range(start * count, min((start + 1) * count, array.shape[0]))
        shown = ["." if mask is not None and not mask[i] else text_of(array[i]) for i in at]
        cells.append([f"[{at[0]}]", *shown])
    return cells


def _some(count: int, most: int) -> list:
    if count <= most:
        return [*range(count)]
    return [*range(most - 2), None, count - 1]


def aligned(cells: list) -> list[str]:
    columns = max((len(row) for row in cells), default=0)
    widths = [max((len(row[c]) for row in cells if c < len(row)), default=0) for c in range(columns)]
    return ["  " + "  ".join(text.rjust(widths[c]) for c, text in enumerate(row)) for row in cells]
