"""Gathers the parts of a kernel that something is proved of: accesses, divisions, loops, and what is not
followed."""

from __future__ import annotations

import dataclasses

from triton_runner.verbs.prove.terms import Cond, Poly, both, either, ge, lt, negated, symbol
from triton_runner.verbs.prove.values import Value, within

_LARGEST_GRID = ((1 << 31) - 1, 65535, 65535)


@dataclasses.dataclass(frozen=True)
class Place:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else "a value without a line"


@dataclasses.dataclass(frozen=True, eq=False)
class Access:
    """kind: loads, stores, atomics. base: the argument, None: nobody knows, and note says why. offset: in
    elements. path: the conditions under which it is executed, mask left out. after: the while loop that has
    to end before."""

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
    """An integer that is loaded from an argument wherever `reached` holds."""

    base: str
    number: Poly
    reached: Cond

    def within(self, lo, hi) -> Cond:
        return either(negated(self.reached), both(ge(self.number, lo), lt(self.number, hi)))


@dataclasses.dataclass(frozen=True, eq=False)
class Division:
    divisor: Value
    path: tuple
    place: Place


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """bits: of its counter; None as lower: its bounds are not followed."""

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
    """Something that the model does not follow. goes_back: a loop of the control flow, which may not end."""

    why: str
    place: Place
    goes_back: bool = False


def programs(dimension: int) -> Poly:
    return symbol(f"grid[{dimension}]", 1, _LARGEST_GRID[dimension])


def program(dimension: int) -> Poly:
    return symbol(f"program[{dimension}]", 0, _LARGEST_GRID[dimension] - 1)
