"""Declares what model.py finds in a kernel, of which check.py proves the properties: accesses, divisions,
loops, branches, assumptions, and what the model does not follow. It is tested through
tests/python/prove/test_prove_odd.py."""

from __future__ import annotations

import dataclasses

from triton_runner.verbs.prove.terms import Cond, Poly, both, either, ge, lt, negated, symbol
from triton_runner.verbs.prove.values import Value, within

_LARGEST_GRID = ((1 << 31) - 1, 65535, 65535)


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of the source; line: 0 where a value has none."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else "a value without a line"


@dataclasses.dataclass(frozen=True, eq=False)
class Access:
    """An access to global memory. kind is loads, stores or atomics. base is the argument that it accesses; it
    is None where the model does not know, and note says why. offset counts elements. path are the conditions
    under which the access is executed, without its mask. after is the while loop that has to end before it,
    None where there is none."""

    kind: str
    base: str | None
    offset: Poly | None
    mask: Cond
    path: tuple
    shape: tuple
    place: Place
    op: str
    note: str = ""
    after: Place | None = None

    @property
    def given(self) -> tuple:
        return (*self.path, *within(self.shape))


@dataclasses.dataclass(frozen=True, eq=False)
class Loaded:
    """An integer that a kernel loads from an argument, wherever `reached` holds."""

    base: str
    number: Poly
    reached: Cond

    def within(self, lo, hi) -> Cond:
        return either(negated(self.reached), both(ge(self.number, lo), lt(self.number, hi)))


@dataclasses.dataclass(frozen=True, eq=False)
class Division:
    """A division of integers, whose divisor must not be zero where path holds."""

    divisor: Value
    path: tuple
    place: Place


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """A counted loop. bits is the width of its counter. lower is None where the bounds are not followed, and
    note says why."""

    lower: Poly | None
    upper: Poly | None
    step: Poly | None
    bits: int
    path: tuple
    place: Place
    note: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Branch:
    """The condition of an if, or of a while loop."""

    cond: Cond
    path: tuple
    place: Place


@dataclasses.dataclass(frozen=True, eq=False)
class Assumed:
    """A tl.assume: cond holds wherever path, the conditions under which it is reached, does."""

    cond: Cond
    path: tuple
    place: Place

    @property
    def fact(self) -> Cond:
        return either(negated(both(*self.path)), self.cond)


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something that the model does not follow. goes_back is true of a loop of the control flow, which may
    not end."""

    why: str
    place: Place
    goes_back: bool = False


def programs(dimension: int) -> Poly:
    """The number of programs of the grid in a dimension, as a term."""
    return symbol(f"grid[{dimension}]", 1, _LARGEST_GRID[dimension])


def program(dimension: int) -> Poly:
    """The number of a program in a dimension, as a term."""
    return symbol(f"program[{dimension}]", 0, _LARGEST_GRID[dimension] - 1)
