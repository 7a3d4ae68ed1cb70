"""Classifies how two arrays that should be equal differ: not at all, in bits of equal numbers, by drift, or
wrongly."""

from __future__ import annotations

import dataclasses

import numpy

from triton_runner._memory.difference import difference, plain, same_bits, tolerance
from triton_runner._memory.files import kind_of


@dataclasses.dataclass(frozen=True)
class Differs:
    """A difference of two arrays. class_: "wrong", "drift" or "bits" (equal numbers with other bits); size:
    the largest relative difference; element: the first of that class, with its value and the expected
    one."""

    class_: str
    size: float | None
    elements: int
    of: int
    element: list[int] | None
    got: float | int | bool | str
    want: float | int | bool | str

    def sentence(self, what: str) -> str:
        """The difference in a sentence."""
        where = f"{what}{self.element}" if self.element is not None else what
        rest = f"{self.elements} of {self.of} elements differ"
        if self.size is not None:
            rest += f", by at most {self.size:.3g} of the largest"
        return f"{where} is {self.got!r}, and should be {self.want!r} ({rest}: {self.class_})"


def compare(got: numpy.ndarray, want: numpy.ndarray) -> Differs | None:
    """How two arrays differ; None if all bits are the same."""
    if got.shape != want.shape or got.dtype != want.dtype:
        texts = (f"{array.dtype}{list(array.shape)}" for array in (got, want))
        return Differs("wrong", None, want.size, want.size, None, *texts)
    far = ~same_bits(want, got)
    count = int(far.sum())
    if not count:
        return None
    kind, size = "wrong", None
    if got.dtype.kind in "fV":
        differs = difference(want, got)
        size, allowed = differs.size, tolerance(kind_of(got.dtype))
        kind = "bits" if size == 0 else "drift" if size <= allowed else "wrong"
        if kind == "wrong":  # of an array of zeros, by itself
            far = ~(differs.error <= allowed * (differs.largest or 1.0))
    first = tuple(int(i) for i in numpy.argwhere(far)[0])
    return Differs(kind, size, count, want.size, list(first), plain(got[first]), plain(want[first]))
