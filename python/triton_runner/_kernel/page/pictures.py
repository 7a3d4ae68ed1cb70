"""Makes what the page draws of dumped tensors and layouts: thinned out, but with every NaN and infinity
kept."""

from __future__ import annotations

import base64
import math

import numpy

from triton_runner import _core
from triton_runner._base.errors import DiagnosticError

_MOST = 128  # cells of a picture an axis
_BINS = 40
_NAN, _INF, _ABSENT, _MINUS_INF = 1, 2, 4, 8  # marks of a cell


def value(values, at, most_cells: int) -> tuple[dict, list[dict]]:
    """A dumped value, and its records as pictures: all of them, or as many as have most_cells, with those
    preferred that hold a NaN or an infinity. `first` is the record that is shown first: with a NaN, else
    with an infinity, else the last. at: its [level, line] in the map, or None."""
    everything = values.offsets().astype("float64") if values.origin else values.floats()
    there = numpy.ones(everything.shape, bool) if values.mask is None else values.mask
    first, kept = _chosen(everything, there, most_cells)
    shape = everything.shape[1:] or (1,)
    image = math.prod(shape[:-1]), shape[-1]
    steps = tuple(max(1, math.ceil(extent / _MOST)) for extent in image)
    records = [_record(everything[at].reshape(image), ~there[at].reshape(image), steps) for at in kept]
    return {
        "name": values.name, "variable": values.variable, "op": values.op, "level": values.level,
        "type": values.type, "shape": list(values.shape),
        "stats": {**values.stats(), **_count(everything, there)},
        "programs": values.programs[kept].tolist(), "iterations": values.iterations[kept].tolist(),
        "first": kept.index(first), "step": steps, "thinned": max(steps) > 1,
        "rows": math.ceil(image[0] / steps[0]), "columns": math.ceil(image[1] / steps[1]),
        "where": f"{values.file.rpartition('/')[2]}:{values.line}" if values.file else "",
        "at": at,
    }, records  # fmt: skip


def _record(image, absent, steps) -> dict:
    """The picture of one record, its histogram, and how many elements are not finite or not there."""
    cells, marks = _thin(image, absent, steps)
    finite = image[numpy.isfinite(image) & ~absent]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    counts = numpy.histogram(finite, _BINS, (low, high if high > low else low + 1))[0] if finite.size else []
    return {
        "low": low, "high": high, "histogram": [int(n) for n in counts],
        "cells": _packed(cells.astype("<f4")), "marks": _packed(marks), **_count(image, ~absent),
    }  # fmt: skip


def _count(values, there) -> dict:
    """Returns how many elements have a mark: those that are there, and those that are not."""
    seen = values[there]
    return {
        "nan": int(numpy.isnan(seen).sum()), "inf": int(numpy.isposinf(seen).sum()),
        "minusInf": int(numpy.isneginf(seen).sum()), "absent": int(values.size - seen.size),
    }  # fmt: skip


def _chosen(everything, there, most_cells: int) -> tuple[int, list[int]]:
    """The numbers of the record that is shown first, and of all that are kept, in order."""
    flat = everything.reshape(len(everything), -1)
    seen = there.reshape(flat.shape)
    nans, infs = (
        (is_wrong(flat) & seen).any(axis=1).nonzero()[0].tolist() for is_wrong in (numpy.isnan, numpy.isinf)
    )
    first = (nans or infs or [len(flat) - 1])[0]
    most = max(1, most_cells // min(max(1, flat.shape[1]), _MOST * _MOST))
    if len(flat) <= most:
        return first, list(range(len(flat)))
    spread = numpy.linspace(0, len(flat) - 1, most, dtype=int).tolist()
    half = [first, *nans[: most // 2], *infs[: most // 4]]
    return first, sorted([*dict.fromkeys([*half, *spread])][:most])


def _thin(image, absent, steps):
    """The mean of the finite numbers of each block of cells, and the marks of what else is in it."""
    padding = [(0, -extent % step) for extent, step in zip(image.shape, steps, strict=True)]
    blocks = numpy.pad(image, padding, constant_values=0.0)
    there = numpy.pad(~absent, padding, constant_values=False)
    shape = (blocks.shape[0] // steps[0], steps[0], blocks.shape[1] // steps[1], steps[1])
    blocks, there = blocks.reshape(shape), there.reshape(shape)
    finite = there & numpy.isfinite(blocks)
    count = finite.sum(axis=(1, 3))
    cells = numpy.where(finite, blocks, 0.0).sum(axis=(1, 3)) / numpy.maximum(count, 1)
    marks = _NAN * (there & numpy.isnan(blocks)).any(axis=(1, 3))
    marks = marks + _INF * (there & numpy.isposinf(blocks)).any(axis=(1, 3))
    marks = marks + _MINUS_INF * (there & numpy.isneginf(blocks)).any(axis=(1, 3))
    marks = marks + _ABSENT * ~there.any(axis=(1, 3))
    return cells, marks.astype("u1")


def _packed(array) -> str:
    return base64.b64encode(array.tobytes()).decode()


def layouts(ttgir: str, notes: list[str]) -> list[dict]:
    """The layouts of a TTGIR, with their cells as text."""
    try:
        drawn = _core.report.draw_layouts(ttgir)
    except DiagnosticError as error:
        notes.append(f"no layouts: {error.message}")
        return []
    groups: dict = {}
    for dump in drawn:
        # In registers the type of an element does not matter, in shared memory its size does.
        key = (dump["encoding"], *dump["shape"], dump["type"] if dump["shared"] else "")
        if key not in groups:
            groups[key] = {**dump, "cells": base64.b64encode(dump["cells"]).decode()}
            continue
        groups[key]["count"] += dump["count"]
        if dump["type"] not in groups[key]["type"].split(", "):
            groups[key]["type"] += f", {dump['type']}"
    # Pictures that say most come first: planes before rows, often used ones before others.
    return sorted(
        groups.values(),
        key=lambda d: (d["rows"] * d["columns"] < 64, min(d["rows"], d["columns"]) == 1, -d["count"]),
    )
