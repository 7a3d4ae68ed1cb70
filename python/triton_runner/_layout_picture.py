"""A layout as a picture: the elements of its last two dimensions, coloured by the warp and lane, the bank or
the lane of tensor memory that they belong to; of shared memory also the banks that a warp touches."""

from __future__ import annotations

import numpy

from triton_runner._errors import fail

_MOST_NAMED = 1024  # cells: with more the names would not be legible


def picture(layout, path: str, banks=None) -> None:
    """Writes a PNG (or SVG, PDF); banks: a Banks of shared memory, whose first access is drawn beside it."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise fail("a picture needs matplotlib, which is not installed", "pip install matplotlib") from None
    colours, names, what = _colours(layout)
    figure = Figure(figsize=(14 if banks else 8, 7), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2 if banks else 1, squeeze=False)[0]
    axes[0].imshow(colours, cmap="nipy_spectral", interpolation="nearest", aspect="auto")
    axes[0].set_title(
        f"{layout.kind} on {'x'.join(map(str, layout.shape))} of {layout.element}: {what}", fontsize=9
    )
    if colours.size <= _MOST_NAMED:
        for (row, column), name in numpy.ndenumerate(names):
            axes[0].text(column, row, name, ha="center", va="center", fontsize=5, color="white")
    if banks:
        _draw_banks(axes[1], banks)
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise fail(f"cannot write {path}: {error}", "as in layout.png, layout.svg or layout.pdf") from None


def _colours(layout):
    """(numbers, names, what the numbers are) of the first matrix of a layout."""
    if layout.memory == "registers":
        number, second, what = layout.thread, layout.places["register"], "threads"
    elif layout.memory == "shared":
        number, second, what = layout.places["bank"], layout.places["byte"], "banks"
    else:
        number, second, what = layout.places["row"], layout.places["col"], "lanes of tensor memory"
    number, second = (table.reshape(-1, *table.shape[-2:])[0] if table.ndim > 1 else table[None]
                      for table in (number, second))  # fmt: skip
    names = numpy.array([f"{a}:{b}" for a, b in zip(number.flat, second.flat, strict=True)])
    return number, names.reshape(number.shape), what


def _draw_banks(axes, banks) -> None:
    table = banks.table(0)
    touched = numpy.zeros((len(table), 32))
    for lane, wanted in enumerate(table):
        touched[lane, wanted] = 1
    axes.imshow(touched, cmap="Blues", interpolation="nearest", aspect="auto")
    first = banks.accesses[0]
    cost = f"{first.turns} turns, {first.conflicts} of them conflicts"
    axes.set_title(f"an access of {banks.vector_bytes} bytes a lane: {cost}", fontsize=9)
    axes.set_xlabel("bank")
    axes.set_ylabel("lane")
