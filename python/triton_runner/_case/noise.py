"""How far the outputs of one launch may move although every run of it is right.

Two experiments measure it: other orders of the programs and of their atomics, and Monte-Carlo arithmetic
(every rounding of the tile engine off by a random part of its unit, `perturb=`), which stands for other
orders of sums, contraction, approximations and tf32. What two levels give may differ by a small multiple of
what the experiments show; the element types' table holds where no experiment could be run.
"""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy

from triton_runner._case.results import Bits
from triton_runner._memory.difference import Difference, difference, tolerance
from triton_runner._memory.files import kind_of

_FACTOR = 4.0  # how many times the largest movement seen may be exceeded by a run that nobody perturbed
_JUMP = 32.0  # an element that moves by so many times the usual movement was decided otherwise (an argmax)
_TINY = 1e-37  # below it GPUs may flush to 0


@dataclasses.dataclass
class Movement:
    """What the experiments did to one output: the largest change of each element (of an array of no numbers,
    1 where it changed)."""

    change: numpy.ndarray

    @property
    def jumps(self) -> numpy.ndarray:
        """Elements that changed by leaps: a decision (a comparison, a rounding to whole numbers, a slot that
        an atomic hands out) fell otherwise."""
        moved = self.change[numpy.isfinite(self.change) & (self.change > 0)]
        usual = float(numpy.quantile(moved, 0.9)) if moved.size else 0.0
        return self.change > _JUMP * usual if usual else ~numpy.isfinite(self.change)


class Noise:
    """The movements of a launch's outputs, by name."""

    def __init__(self):
        self._movements: dict[str, Movement] = {}

    def add(self, base: dict, other: dict) -> None:
        """Another run of the same text: what each output is there, beside what it usually is."""
        for name, array in base.items():
            change = _change(difference(array, other[name]))
            movement = self._movements.get(name)
            self._movements[name] = Movement(
                change if movement is None else numpy.maximum(change, movement.change)
            )

    def is_rounding(self, name: str, x: numpy.ndarray, y: numpy.ndarray) -> bool:
        """Whether an output of two runs differs by no more than rounding moves it, decisions left out."""
        distance = difference(x, y)
        return bool((_change(distance) <= self._allowed(name, distance, False, decisions=False)[0]).all())

    def compare(self, name: str, x: numpy.ndarray, y: numpy.ndarray, exact: bool) -> Bits:
        """How an output of one run differs from that of another. exact: both runs add in the same order, so
        that types allow nothing."""
        if x.tobytes() == y.tobytes():
            return Bits(name, True, True, 0)
        found = difference(x, y)
        change = _change(found)
        allowed, spare = self._allowed(name, found, exact)
        beyond = found.where & ~(change <= allowed)
        agrees = int(beyond.sum()) <= spare
        shown = found if agrees or not beyond.any() else dataclasses.replace(found, where=beyond)
        finite = allowed[numpy.isfinite(allowed)]
        return Bits(
            name, False, agrees, found.elements, found.of,
            number(float(numpy.max(change, initial=0, where=found.where))), float(finite.max(initial=0.0)),
            list(shown.element), [number(n) for n in shown.numbers] if shown else None,
        )  # fmt: skip

    def _allowed(
        self, name: str, found: Difference, exact: bool, decisions: bool = True
    ) -> tuple[numpy.ndarray, int]:
        """(how far each element may be off, how many elements may be off by more). decisions: those that fell
        otherwise in an experiment count."""
        x = found.want
        is_float = x.dtype.kind not in "iub"
        room = numpy.zeros(x.shape)
        if is_float and not exact:
            room = room + tolerance(kind_of(x.dtype)) * found.largest + _step(x)
        movement = self._movements.get(name)
        if movement is None:
            return room, 0
        jumps = movement.jumps if is_float else movement.change > 0
        steady = movement.change[~jumps]
        widest = float(steady.max()) if steady.size else 0.0
        if is_float and widest:
            room = numpy.maximum(room, _FACTOR * widest + _step(x) + _TINY)
        if not decisions:
            return room, 0
        # What was decided otherwise here may be so elsewhere, and about as often.
        return numpy.where(jumps, numpy.inf, room), 2 * int(jumps.sum())


def _change(difference: Difference) -> numpy.ndarray:
    """By how much each element differs: of whole numbers 1 where it does; infinite where only one is NaN."""
    if difference.want.dtype.kind in "iub":
        return difference.where.astype(numpy.float64)
    return numpy.where(numpy.isnan(difference.error), numpy.inf, difference.error)


def _step(x: numpy.ndarray) -> numpy.ndarray:
    """A unit in the last place of each element of a type of 16 bits or fewer: a number between two of them
    is rounded to either."""
    if x.dtype.itemsize > 2:
        return numpy.zeros(x.shape)
    return numpy.abs(x.astype(numpy.float64)) * float(ml_dtypes.finfo(x.dtype).eps)


def number(value):
    """A number as JSON has it: what it has no word for as text."""
    return value if isinstance(value, (bool, int)) or numpy.isfinite(value) else str(float(value))
