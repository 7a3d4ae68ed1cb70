"""Compares two arrays that should hold the same, and says how far they may differ: the one comparison and the
one table of tolerances, for lockstep, verify, bisection, comparison, reduction and the repro.py of a case.

A tolerance is relative to the largest magnitude of the array, and holds where only the order of sums differs.
Half a unit in the last place is 2^-53 for f64, 2^-24 for f32, 2^-11 for f16, 2^-8 for bf16, 2^-4 and 2^-3 for
the two kinds of fp8. Sums are kept in f32 (f64 for f64), so that a narrow result differs by its own rounding:

- f64, f32: about a thousand roundings, as sums of some thousand terms in another order have;
- f16, bf16: eight roundings, as chains of several narrow results have;
- fp8: one unit of the coarsest kind, e5m2, whose neighbours differ by a quarter.

A tf32 product is summed in f32 with the same operands at every level, so that it takes the row of f32."""

from __future__ import annotations

import dataclasses
import functools

import numpy

_RELATIVE = {"f64": 1e-12, "f32": 1e-4, "tf32": 1e-4, "f16": 4e-3, "bf16": 3e-2}
_FP8 = 0.25


def tolerance(kind: str, chosen: float | None = None) -> float:
    """Returns the tolerance of an element type as the IR names it ("f16"): relative to the largest magnitude;
    0 for integers and pointers. chosen: what a person wants for floats instead."""
    if kind[0] in "iu" or kind == "ptr":
        return 0.0
    return _RELATIVE.get(kind, _FP8) if chosen is None else float(chosen)


@dataclasses.dataclass(frozen=True, eq=False)
class Difference:
    """Two arrays of one shape. It is true where an element differs by more than what is allowed.

    - `error`: |want - got| of each element: 0 where they are equal or both NaN, NaN where one of them is.
    - `largest`: the largest finite magnitude of what is wanted.
    - `where`: which elements differ by more than the tolerance allows.
    """

    want: numpy.ndarray
    got: numpy.ndarray
    error: numpy.ndarray
    largest: float
    where: numpy.ndarray

    def __bool__(self) -> bool:
        return bool(self.where.any())

    @property
    def elements(self) -> int:
        return int(self.where.sum())

    @property
    def of(self) -> int:
        return self.where.size

    @property
    def max_error(self) -> float:
        """The largest error of the elements that differ; NaN where a NaN is among them."""
        return float(numpy.max(self.error, initial=0.0, where=self.where))

    @property
    def size(self) -> float:
        """The largest error of all elements, relative; of what has no number, a large one."""
        return _largest(self.error) / (self.largest or 1.0)

    @functools.cached_property
    def element(self) -> tuple:
        """The first that differs."""
        return tuple(int(i) for i in numpy.argwhere(self.where)[:1].ravel())

    @property
    def numbers(self) -> tuple:
        """The number that is wanted there, and the number that is there."""
        return plain(self.want[self.element]), plain(self.got[self.element])

    def __str__(self) -> str:
        return f"{self.elements} of {self.of} elements differ"


def difference(want, got, allowed: float = 0.0, among=None) -> Difference:
    """allowed: relative to the largest number of `want`, or of `among`, the array that it is taken from."""
    x, y = want.astype(numpy.float64), got.astype(numpy.float64)
    with numpy.errstate(invalid="ignore", over="ignore"):
        error = numpy.where((x == y) | (numpy.isnan(x) & numpy.isnan(y)), 0.0, numpy.abs(x - y))
    largest = magnitude(x if among is None else among)
    if want.dtype == bool or (want.dtype.kind in "iu" and got.dtype.kind in "iu"):
        where = want != got
    else:
        where = ~(error <= allowed * largest)
    return Difference(want, got, error, largest, where)


def magnitude(array: numpy.ndarray) -> float:
    """The largest finite one of its elements."""
    numbers = numpy.abs(array.astype(numpy.float64, copy=False))
    return float(numpy.max(numbers, initial=0.0, where=numpy.isfinite(numbers)))


def of_pair(pair) -> float:
    """Difference.size of all elements of a contents.Pair."""
    error = max((_largest(difference(x, y).error) for _, x, y in pair.differing()), default=0.0)
    return error / (max(map(magnitude, pair.whole()), default=0.0) or 1.0)


def same_are_numbers(pair) -> bool:
    """Returns whether the same elements of a contents.Pair are infinite or NaN."""
    parts = ((x.astype(numpy.float64), y.astype(numpy.float64)) for _, x, y in pair.differing())
    return all((numpy.isfinite(x) == numpy.isfinite(y)).all() for x, y in parts)


def _largest(error: numpy.ndarray) -> float:
    return float(numpy.nan_to_num(error, nan=1e300, posinf=1e300).max(initial=0.0))


def same_bits(want: numpy.ndarray, got: numpy.ndarray) -> numpy.ndarray:
    """Returns for each element of two arrays of one type whether all bits are the same."""
    bits = f"u{got.dtype.itemsize}"
    return numpy.ascontiguousarray(got).view(bits) == numpy.ascontiguousarray(want).view(bits)


def differing(left, right):
    """Returns where the elements of two arrays differ: all NaNs of a float type are one."""
    same = same_bits(left, right)
    if left.dtype.kind in "fV":
        as_numbers = [array.astype(numpy.float64) for array in (left, right)]
        same = same | (numpy.isnan(as_numbers[0]) & numpy.isnan(as_numbers[1]))
    return ~same


def plain(value):
    """An element as a number of Python."""
    return value.item() if value.dtype.kind in "iub" else float(value)
