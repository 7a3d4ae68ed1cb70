"""Draws a dumped value as a heat map: where its large, its missing and its wrong numbers are, at a
glance."""

from __future__ import annotations

import math

import numpy

from triton_runner._base.drawing import check_picture
from triton_runner._base.errors import fail
from triton_runner._kernel.dumps.axes import program_of

_MOST = 2048  # pixels an axis: larger values are thinned out


def heat_map(values, path: str, program=None, iteration=None) -> None:
    """Writes a PNG (or SVG, PDF) of one record: rows and columns of its last two dimensions, or of a row of
    elements all records below each other. NaN is red, infinities are yellow, absent elements white.

    program, iteration: which record, as in values[program, iteration]; the last one if left out.
    """
    check_picture(path)
    import matplotlib

    image, title = _image(values, program, iteration)
    rows, columns = (max(1, math.ceil(extent / _MOST)) for extent in image.shape)
    image = image[::rows, ::columns]
    figure, axes = _figure(matplotlib, image)
    finite = image[numpy.isfinite(image)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    shown = axes.imshow(
        numpy.where(numpy.isfinite(image), image, numpy.nan),
        aspect="auto",
        interpolation="nearest",
        cmap="viridis",
        vmin=low,
        vmax=high if high > low else low + 1,
    )
    marks = numpy.zeros((*image.shape, 4))
    marks[numpy.isnan(image)] = (0.85, 0.1, 0.1, 1)
    marks[numpy.isinf(image)] = (1, 0.85, 0, 1)
    axes.imshow(marks, aspect="auto", interpolation="nearest")
    figure.colorbar(shown, ax=axes)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("column" if len(values.shape) > 1 else "element")
    axes.set_ylabel("row" if len(values.shape) > 1 else "record")
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise fail(f"cannot write {path}: {error}") from None


def _figure(matplotlib, image):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = min(8.0, max(2.2, 6.4 * image.shape[0] / max(image.shape)))
    figure = Figure(figsize=(7.0, height + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _image(values, program, iteration):
    """Numbers in rows and columns, and what the picture is called."""
    if not len(values):
        raise fail(f"{values.name} has no records to show")
    everything = values.floats()
    what = f"{values.variable or values.name}: {values.name} = {values.op}, {values.level}"
    if len(values.shape) < 2:
        picked = everything.reshape(len(values), -1)
        if program is not None:
            program = program_of(program)
            picked = picked[(values.programs == numpy.array(program)).all(axis=1)]
            what += f", program {program}"
        return picked, f"{what}, {len(picked)} records"
    at = len(values) - 1 if program is None else values.find(program, iteration)
    where = f"program {tuple(values.programs[at].tolist())}"
    if values.loops:
        where += f", iteration {', '.join(map(str, values.iterations[at].tolist()))}"
    array = everything[at]
    return array.reshape(-1, array.shape[-1]), f"{what}, {where}"
