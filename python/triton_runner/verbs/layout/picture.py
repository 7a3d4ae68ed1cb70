"""A layout as a picture: the elements of its last two dimensions, coloured by the warp and lane, the bank or
the lane of tensor memory that they belong to; of shared memory also the banks that a warp touches."""

from __future__ import annotations

import numpy

from triton_runner._base.drawing import check_picture
from triton_runner._base.errors import fail

_WIDTH = 530  # points that a row of cells has
_SMALLEST, _LARGEST = 4, 9  # points of a letter; names of cells that would need less are left out


def picture(layout, path: str, banks=None) -> None:
    """Writes a PNG (or SVG, PDF); banks: a Banks of shared memory, whose first access is drawn beside it."""
    check_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    colours, names, what = _cells(layout)
    figure = Figure(figsize=(14 if banks else 8, 7), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2 if banks else 1, squeeze=False)[0]
    axes[0].imshow(colours, interpolation="nearest", aspect="auto")
    axes[0].set_title(
        f"{layout.kind} on {'x'.join(map(str, layout.shape))} of {layout.element}: {what}", fontsize=9
    )
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
    from matplotlib.colors import hsv_to_rgb

    return hsv_to_rgb(numpy.stack([0.58 + hue, saturation, numpy.full(hue.shape, 0.97)], -1) % 1.0)


def _lines_between(axes, shape) -> None:
    axes.set_xticks(numpy.arange(shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(numpy.arange(shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=0.8)
    axes.tick_params(which="minor", length=0)


def _draw_banks(axes, banks) -> None:
    table = banks.table(0)
    touched = numpy.zeros((len(table), 32))
    for lane, word in enumerate(table):
        touched[lane, word] = 1
    axes.imshow(touched, cmap="Blues", interpolation="nearest", aspect="auto")
    first = banks.accesses[0]
    cost = f"{first.turns} turns, {first.conflicts} of them conflicts"
    axes.set_title(f"an access of {banks.vector_bytes} bytes a lane: {cost}", fontsize=9)
    axes.set_xlabel("bank")
    axes.set_ylabel("lane")
