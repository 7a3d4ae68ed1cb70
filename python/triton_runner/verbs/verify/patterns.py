"""Describes how a result differs from what it is compared with, as far as that shows what the kernel does: by
one factor, by one number along an axis, moved by one, transposed, or in one part of the tensor only."""

from __future__ import annotations

import numpy

_FEW = 8  # elements that differ: of fewer a pattern tells nothing
_CLOSE = 2e-3  # rounding of 16 bits, relative


def lines(got: numpy.ndarray, want: numpy.ndarray) -> list[str]:
    """Says what is true of all elements that differ by more than rounding."""
    with numpy.errstate(all="ignore"):
        size = numpy.nanmax(numpy.abs(numpy.where(numpy.isfinite(want), want, 0)), initial=0.0)
        where = ~numpy.isclose(got, want, rtol=_CLOSE, atol=_CLOSE * size, equal_nan=True)
        if where.sum() < _FEW:
            return []
        return [line for line in (_how(got, want, where), _part(where)) if line]


def _how(got, want, where) -> str:
    if not (numpy.isfinite(got).all() and numpy.isfinite(want).all()):
        return ""
    ratios = got[where] / want[where]
    if _is_one(ratios, numpy.abs(ratios).max()) and ratios[0] != 0:
        return f"each of them is {numpy.median(ratios):.4g} times what it is compared with"
    if got.ndim == 2 and got.shape[0] == got.shape[1] and _equal(got, want.T):
        return "it is what it is compared with, transposed"
    apart = (got - want) * where
    size = numpy.abs(apart).max()
    if _is_one(apart[where], size):
        return f"each of them differs by {numpy.median(apart[where]):.4g}"
    for axis in range(got.ndim):
        if got.shape[axis] < _FEW:
            continue
        line = _along(got, want, axis)
        if line:
            return line
    return ""


def _along(got, want, axis: int) -> str:
    count = got.shape[axis]
    first, last = numpy.s_[: count - 1], numpy.s_[1:]
    at = [numpy.s_[:]] * got.ndim
    at[axis], other = first, [*at]
    other[axis] = last
    if _equal(got[tuple(at)], want[tuple(other)]):
        return f"each of them is what the next along axis {axis} is compared with"
    if _equal(got[tuple(other)], want[tuple(at)]):
        return f"each of them is what the one before along axis {axis} is compared with"
    apart = got - want
    spread = numpy.ptp(apart, axis=axis)
    if (spread <= 10 * _CLOSE * numpy.abs(apart).max()).all():
        return f"the difference is the same number along axis {axis}"
    with numpy.errstate(all="ignore"):
        ratios = numpy.where(want == 0, numpy.nan, got / want)
        middle = numpy.nanmedian(ratios, axis=axis, keepdims=True)
        if (middle != 0).all() and numpy.isclose(got, want * middle, rtol=10 * _CLOSE).all():
            return f"the ratio is the same number along axis {axis}"
    return ""


def _part(where: numpy.ndarray) -> str:
    """The part of the tensor that the elements that differ are in, if it is not all of it."""
    if where.ndim == 0:
        return ""
    sides = []
    for axis in range(where.ndim):
        there = numpy.flatnonzero(where.any(axis=tuple(i for i in range(where.ndim) if i != axis)))
        sides.append((int(there[0]), int(there[-1]) + 1))
    if all(side == (0, count) for side, count in zip(sides, where.shape, strict=True)):
        return ""
    return f"all that differ are in [{', '.join(f'{a}:{b}' for a, b in sides)}] of {list(where.shape)}"


def _is_one(values: numpy.ndarray, size: float) -> bool:
    return bool(numpy.isfinite(values).all() and numpy.ptp(values) <= 2 * _CLOSE * size)


def _equal(got, want) -> bool:
    scale = numpy.abs(want).max(initial=0.0)
    return bool(scale and numpy.isclose(got, want, rtol=_CLOSE, atol=_CLOSE * scale).all())
