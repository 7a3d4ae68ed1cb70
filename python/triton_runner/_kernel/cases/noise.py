"""Measures how far the outputs of a launch may vary although each of its runs is right.

Two experiments measure it: other orders of the programs and of their atomics, and Monte-Carlo arithmetic
(every rounding of the tile engine is off by a random part of its unit, `perturb=`), which models other orders
of sums, contraction, approximations and tf32. Two levels may differ by a small multiple of what the
experiments show. If no experiment can be run, the tolerances of the element types apply."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import ml_dtypes
import numpy

from triton_runner._kernel.cases.results import Bits
from triton_runner._memory.contents import Pair
from triton_runner._memory.difference import Difference, difference, magnitude, tolerance
from triton_runner._memory.files import kind_of

_FACTOR = 4.0  # an unperturbed run may differ by this many times the largest movement
_JUMP = 32.0  # an element that moves by this many times the usual movement was decided differently
_TINY = 1e-37  # below it GPUs may flush to 0
_SAMPLE = 1 << 16  # movements of a part, from which the usual one is estimated


class Movement:
    """The largest change that the experiments made to each element of one output (1 for changed elements that
    are not numbers), by the parts in which something changed."""

    def __init__(self, is_float: bool):
        self._is_float = is_float
        self._changes: dict[tuple, numpy.ndarray] = {}  # by the index of a part's first element

    def add(self, start: tuple, change: numpy.ndarray) -> None:
        if (known := self.of(start)) is not None:
            change = numpy.maximum(change, known)
        self._changes[start] = _packed(change) if self._is_float else change != 0
        self.__dict__.pop("_usual", None)
        self.__dict__.pop("of_all", None)

    def of(self, start: tuple) -> numpy.ndarray | None:
        """Returns the changes of the elements of a part; None: nothing changed."""
        kept = self._changes.get(start)
        return None if kept is None else _unpacked(kept)

    def _all(self) -> Iterator[numpy.ndarray]:
        return map(_unpacked, self._changes.values())

    @functools.cached_property
    def _usual(self) -> float:
        moved = [_sample(c[numpy.isfinite(c) & (c > 0)]) for c in self._all()]
        moved = numpy.concatenate(moved) if moved else numpy.zeros(0)
        # The quantile of 0.9. That of NumPy imports its masked arrays, for 0.04 s.
        place = 0.9 * (moved.size - 1)
        return float(numpy.interp(place, numpy.arange(moved.size), numpy.sort(moved))) if moved.size else 0.0

    def jumps(self, change: numpy.ndarray) -> numpy.ndarray:
        """The elements that jumped, because something was decided differently: a comparison, a rounding to an
        integer, or the slot that an atomic assigns."""
        if not self._is_float:
            return change > 0
        return change > _JUMP * self._usual if self._usual else ~numpy.isfinite(change)

    @functools.cached_property
    def of_all(self) -> tuple[float, int]:
        """(the largest change of those that did not jump, how many jumped)."""
        widest, jumped = 0.0, 0
        for change in self._all():
            jumps = self.jumps(change)
            widest = max(widest, float(numpy.max(change, initial=0.0, where=~jumps)))
            jumped += int(jumps.sum())
        return widest, jumped


class Noise:
    """The movements of a launch's outputs, by name."""

    def __init__(self):
        self._movements: dict[str, Movement] = {}

    def add(self, name: str, pair: Pair) -> None:
        """Adds an output of another run of the same text. pair: as it usually is, and as that run left it."""
        movement = self._movements.setdefault(name, Movement(is_float(pair)))
        for start, x, y in pair.differing():
            movement.add(start, _change(difference(x, y)))

    def is_rounding(self, name: str, pair: Pair) -> bool:
        """Returns whether rounding alone, without other decisions, explains the difference of an output in
        two runs."""
        room = self._room(name, pair, False, decisions=False)
        return all((_change(difference(x, y)) <= room.of(start, x)).all() for start, x, y in pair.differing())

    def compare(self, name: str, pair: Pair, exact: bool) -> Bits:
        """Compares an output of two runs. exact: both runs add in the same order, so that the tolerances of
        types do not apply."""
        elements = beyond = 0
        largest = widest = 0.0
        first: dict[bool, tuple] = {}  # (index, both numbers), by whether it is beyond what is allowed
        room = None
        for start, x, y in pair.differing():
            room = room or self._room(name, pair, exact)
            found = difference(x, y)
            change, allowed = _change(found), room.of(start, x)
            outside = found.where & ~(change <= allowed)
            elements, beyond = elements + found.elements, beyond + int(outside.sum())
            largest = max(largest, float(numpy.max(change, initial=0.0, where=found.where)))
            widest = max(widest, float(numpy.max(allowed, initial=0.0, where=numpy.isfinite(allowed))))
            for is_beyond, where in ((False, found.where), (True, outside)):
                one = dataclasses.replace(found, where=where)
                if one and (is_beyond not in first or _at(start, one) < first[is_beyond][0]):
                    first[is_beyond] = _at(start, one), [number(n) for n in one.numbers]
        if room is None:
            return Bits(name, True, True, 0)
        agrees = beyond <= room.spare
        element, numbers = first.get(bool(beyond) and not agrees) or ((), None)
        return Bits(name, False, agrees, elements, pair.size, number(largest), widest, list(element), numbers)

    def _room(self, name: str, pair: Pair, exact: bool, decisions: bool = True) -> _Room:
        movement = self._movements.get(name)
        relative = 0.0
        if is_float(pair) and not exact and (relative := tolerance(kind_of(pair.dtype))):
            relative *= max(map(magnitude, pair.whole()), default=0.0)
        return _Room(movement, is_float(pair), not exact, relative, decisions)


class _Room:
    """How far the elements of an output may differ. decisions: whether those that were decided differently in
    an experiment may differ by any amount; spare: how many others may differ by more."""

    def __init__(
        self, movement: Movement | None, is_float: bool, steps: bool, relative: float, decisions: bool
    ):
        self._movement, self._is_float, self._steps, self._relative = movement, is_float, steps, relative
        self._decisions = decisions
        self._widest, jumped = movement.of_all if movement is not None else (0.0, 0)
        # An element that was decided otherwise here may be so elsewhere, and about as often.
        self.spare = 2 * jumped if decisions else 0

    def of(self, start: tuple, x: numpy.ndarray) -> numpy.ndarray:
        """The difference that each element of a part may have."""
        room = numpy.zeros(x.shape)
        if self._is_float and self._steps:
            room = room + self._relative + _step(x)
        if self._is_float and self._widest:
            room = numpy.maximum(room, _FACTOR * self._widest + _step(x) + _TINY)
        change = self._movement.of(start) if self._movement is not None else None
        if change is None or not self._decisions:
            return room
        return numpy.where(self._movement.jumps(change), numpy.inf, room)


def is_float(pair: Pair) -> bool:
    """Returns whether an argument has numbers that are rounded."""
    return pair.dtype.kind not in "iub"


def _packed(change: numpy.ndarray) -> numpy.ndarray:
    """Changes as they are kept: rounded up to the upper half of an f32, where that can be. That is enough for
    what is compared after a factor."""
    fits = numpy.isinf(change) | (change < 3e38) & ((change > 1e-37) | (change == 0))
    if not fits.all():
        return change
    single = change.astype(numpy.float32)
    single[single < change] = numpy.nextafter(single[single < change], numpy.float32(numpy.inf))
    return ((single.view(numpy.uint32) + 0xFFFF) >> 16).astype(numpy.uint16)


def _unpacked(kept: numpy.ndarray) -> numpy.ndarray:
    """The changes again, as numbers."""
    if kept.dtype == numpy.uint16:
        return (kept.astype(numpy.uint32) << 16).view(numpy.float32)
    return kept.astype(numpy.float64)


def _sample(values: numpy.ndarray) -> numpy.ndarray:
    """Values for a quantile: all, or every so many."""
    return values[:: values.size // _SAMPLE + 1]


def _at(start: tuple, found: Difference) -> tuple:
    """The index of the first element of a part that differs, in the whole output."""
    return tuple(a + b for a, b in zip(start, found.element, strict=True))


def _change(difference: Difference) -> numpy.ndarray:
    """The difference of each element: 1 for integers that differ, infinite if only one of two is NaN."""
    if difference.want.dtype.kind in "iub":
        return difference.where.astype(numpy.float64)
    return numpy.where(numpy.isnan(difference.error), numpy.inf, difference.error)


def _step(x: numpy.ndarray) -> numpy.ndarray:
    """The unit in the last place of each element of a type with 16 bits or fewer: a number between two of
    them can be rounded to either."""
    if x.dtype.itemsize > 2:
        return numpy.zeros(x.shape)
    return numpy.abs(x.astype(numpy.float64)) * float(ml_dtypes.finfo(x.dtype).eps)


def number(value):
    """A number for JSON; infinities and NaNs as text."""
    return value if isinstance(value, (bool, int)) or numpy.isfinite(value) else str(float(value))
