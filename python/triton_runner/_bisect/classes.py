"""How two arrays differ that should be the same: not at all, in bits of equal numbers, by drift, or wrong."""

from __future__ import annotations

import numpy

from triton_runner import _tolerances
from triton_runner._files import kind_of, numpy_named


def unpacked(taken: list) -> numpy.ndarray:
    """An array of [dtype, shape, bytes]."""
    dtype, shape, content = taken
    return numpy.frombuffer(content, numpy_named(dtype)).reshape(shape)


def compare(got: numpy.ndarray, want: numpy.ndarray) -> dict | None:
    """None where all bits are the same; else class ("wrong", "drift", "bits": other bits of equal numbers),
    size (the largest difference, relative), elements, of, element (the first that is of the class), got and
    want there."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return {
            "class": "wrong", "size": None, "elements": want.size, "of": want.size, "element": None,
            "got": f"{got.dtype}{list(got.shape)}", "want": f"{want.dtype}{list(want.shape)}",
        }  # fmt: skip
    bits = f"u{got.dtype.itemsize}"
    differs = numpy.ascontiguousarray(got).view(bits) != numpy.ascontiguousarray(want).view(bits)
    if not differs.any():
        return None
    kind, size, far = "wrong", None, differs
    if got.dtype.kind in "fV":
        a, b = got.astype(numpy.float64), want.astype(numpy.float64)
        with numpy.errstate(invalid="ignore"):
            finite = numpy.isfinite(a) & numpy.isfinite(b)
            same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
            error = numpy.where(finite, numpy.abs(a - b), numpy.where(same, 0, 1e300))
        largest = numpy.abs(b[numpy.isfinite(b)]).max(initial=0) or 1.0
        size = float(error.max() / largest)
        allowed = _tolerances.tolerance(kind_of(got.dtype))
        kind = "bits" if size == 0 else "drift" if size <= allowed else "wrong"
        if kind == "wrong":
            far = error / largest > allowed
    first = tuple(int(i) for i in numpy.argwhere(far)[0])
    return {
        "class": kind, "size": size, "elements": int(differs.sum()), "of": want.size, "element": list(first),
        "got": _plain(got[first]), "want": _plain(want[first]),
    }  # fmt: skip


def _plain(value):
    return value.item() if value.dtype.kind in "iub" else float(value)


def sentence(found: dict, what: str) -> str:
    """A difference as a person reads it."""
    where = f"{what}{found['element']}" if found["element"] is not None else what
    rest = f"{found['elements']} of {found['of']} elements differ"
    if found["size"] is not None:
        rest += f", by at most {found['size']:.3g} of the largest"
    return f"{where} is {found['got']!r}, and should be {found['want']!r} ({rest}: {found['class']})"
