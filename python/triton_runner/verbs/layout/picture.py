"""Draws a layout as a picture: the elements of its last two dimensions, coloured by the warp and lane, the
bank or the lane of tensor memory that they belong to; of shared memory also the banks that a warp touches."""

from __future__ import annotations

import colorsys
import html
import itertools

import numpy

from triton_runner._base.drawing import check_picture, kind_of
from triton_runner._base.errors import fail
from triton_runner._base.paths import write_file

_TOP = 24  # of the cells in an SVG
_WIDTH = 530  # points that a row of cells has
_SMALLEST, _LARGEST = 4, 9  # points of a letter; names of cells that would need less are left out


def picture(layout, path: str, banks=None) -> None:
    """Writes an SVG, or by matplotlib a PNG or PDF; banks: a Banks of shared memory, whose first access is
    drawn beside it."""
    if kind_of(path) == "svg":
        return write_file(path, _svg(layout, banks))
    check_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    colours, names, what = _cells(layout)
    figure = Figure(figsize=(14 if banks else 8, 7), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2 if banks else 1, squeeze=False)[0]
    axes[0].imshow(colours, interpolation="nearest", aspect="auto")
    axes[0].set_title(_title(layout, what), fontsize=9)
    size = min(_LARGEST, _WIDTH / names.shape[1] / (0.65 * max(map(len, names.flat))))
    if size >= _SMALLEST and names.size <= 4096:
        for (row, column), name in numpy.ndenumerate(names):
            axes[0].text(column, row, name, ha="center", va="center", fontsize=size, color="#222")
        _lines_between(axes[0], names.shape)
    if banks:
        _draw_banks(axes[1], banks)
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise fail(f"cannot write {path}: {error}") from None


def _title(layout, what: str) -> str:
    return f"{layout.kind} on {'x'.join(map(str, layout.shape))} of {layout.element}: {what}"


def _svg(layout, banks) -> str:
    """The same picture without matplotlib: a rectangle for a run of cells of one colour, and their names."""
    colours, names, what = _cells(layout)
    rows, columns = names.shape
    has_names = names.size <= 4096
    high = 16 if has_names else 4
    wide = max(high, 7 * max(map(len, names.flat)) + 6) if has_names else high
    parts = [_heading(0, _title(layout, what)), *_runs(colours, wide, high, 0)]
    for (row, column), name in numpy.ndenumerate(names) if has_names else ():
        parts.append(f'<text x="{(column + 0.5) * wide:g}" y="{_TOP + row * high + 11}">{name}</text>')
    width, height = max(columns * wide, 480), _TOP + rows * high
    if banks:
        touched, title = _touched(banks)
        shades = numpy.where(touched[..., None] > 0, (0.15, 0.4, 0.7), (0.93, 0.95, 0.98))
        parts += [_heading(width + 24, title), *_runs(shades, 16, 16, width + 24)]
        width, height = width + 24 + 480, max(height, _TOP + 16 * len(touched))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace" '
        f'font-size="11"><rect width="100%" height="100%" fill="#fff"/><g text-anchor="middle">'
        f"{''.join(parts)}</g></svg>\n"
    )


def _heading(left: int, title: str) -> str:
    return f'<text x="{left}" y="14" text-anchor="start">{html.escape(title)}</text>'


def _runs(colours, wide: int, high: int, left: int):
    """Neighbours of one colour in a row as one rectangle."""
    for row, line in enumerate(numpy.round(255 * colours).astype(int).tolist()):
        column = 0
        for colour, run in itertools.groupby(line):
            count = len(list(run))
            yield (
                f'<rect x="{left + column * wide}" y="{_TOP + row * high}" width="{count * wide}" '
                f'height="{high}" fill="#{"".join(f"{c:02x}" for c in colour)}" stroke="#fff" '
                f'stroke-width="{int(high > 4)}"/>'
            )
            column += count


def _cells(layout):
    """(colours, names, what they are) of the first matrix of a layout: a hue a warp and lighter from lane to
    lane, or a hue a bank."""
    places = {name: _matrix(table) for name, table in layout.places.items()}
    if layout.memory == "registers":
        threads = _matrix(layout.thread)
        lanes, warps = places["lane"], places["warp"]
        hue = warps / max(1, warps.max() + 1)
        return (
            _rgb(hue, 0.12 + 0.4 * (1 - lanes / max(1, lanes.max()))),
            _named(threads, places["register"]),
            "threads and registers",
        )
    if layout.memory == "shared":
        bank = places["bank"]
        return _rgb(bank / 32, numpy.full(bank.shape, 0.4)), _named(bank, places["byte"]), "banks and bytes"
    row = places["row"]
    named = _named(row, places["col"])
    return _rgb(row / max(1, row.max() + 1), numpy.full(row.shape, 0.4)), named, "lanes of tensor memory"


def _matrix(table):
    return table.reshape(-1, *table.shape[-2:])[0] if table.ndim > 1 else table[None]


def _named(first, second):
    names = numpy.array([f"{a}:{b}" for a, b in zip(first.flat, second.flat, strict=True)])
    return names.reshape(first.shape)


def _rgb(hue, saturation):
    """Colours on which dark text is legible."""
    pairs = zip((0.58 + hue.ravel()) % 1.0, saturation.ravel(), strict=True)
    return numpy.array([colorsys.hsv_to_rgb(h, s, 0.97) for h, s in pairs]).reshape(*hue.shape, 3)


def _lines_between(axes, shape) -> None:
    axes.set_xticks(numpy.arange(shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(numpy.arange(shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=0.8)
    axes.tick_params(which="minor", length=0)


def _touched(banks):
    """(which bank each lane touches in the first access, what it costs)."""
    table = banks.table(0)
    touched = numpy.zeros((len(table), 32))
    for lane, word in enumerate(table):
        touched[lane, word] = 1
    first = banks.accesses[0]
    cost = f"{first.turns} turns, {first.conflicts} of them conflicts"
    return touched, f"an access of {banks.vector_bytes} bytes a lane: {cost}"


def _draw_banks(axes, banks) -> None:
    touched, title = _touched(banks)
    axes.imshow(touched, cmap="Blues", interpolation="nearest", aspect="auto")
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("bank")
    axes.set_ylabel("lane")
