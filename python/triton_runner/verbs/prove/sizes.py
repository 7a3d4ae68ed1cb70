"""Has sizes of a program's tensors as numbers that remember where they come from.

While a program runs, x.shape, x.size(), x.stride() and x.numel() give such numbers (tensors.py), and so does
arithmetic on them. A launch then tells that n is x.numel() and that its grid is cdiv(x.numel(), 1024): by
what the program computes, and not by values that happen to be equal. Comparisons of the program are noted, as
what follows one holds for such sizes alone.
"""

from __future__ import annotations

import math
import operator
import os
import sys

import torch

from triton_runner._base.errors import package_folders
from triton_runner.verbs.prove.terms import (
    TRUE,
    Poly,
    Substitution,
    atoms_of,
    equal,
    ge,
    le,
    lt,
    negated,
    poly,
    quotient,
    remainder,
)

_noted: list = []  # (condition, file:line) of the program's comparisons
_WRAPPERS = (f"torch{os.sep}overrides.py", f"torch{os.sep}_tensor.py")  # between a program and what it calls


class Size(int):
    """An integer with the term that it is the value of."""

    term: Poly

    @staticmethod
    def of(number: int, term: Poly):
        if term.const is not None:
            return int(number)
        made = Size(number)
        made.term = term
        return made

    def __reduce__(self):
        return int, (int(self),)


def term_of(value) -> Poly:
    return value.term if isinstance(value, Size) else poly(int(value))


def _arithmetic(name: str, make, swapped: bool = False):
    plain = getattr(operator, name)

    def method(self, other):
        if not isinstance(other, int) or isinstance(other, bool):
            pair = (other, int(self)) if swapped else (int(self), other)
            return plain(*pair)
        a, b = (other, self) if swapped else (self, other)
        term = make(term_of(a), term_of(b))
        number = plain(int(a), int(b))
        return number if term is None else Size.of(number, term)

    return method


def _divided(a: Poly, b: Poly) -> Poly | None:
    """The quotient; of -(n // -128), which rounds up, the inner one."""
    if b.const is not None and b.const <= 0:
        return quotient(-a, -b) if b.const else None
    return quotient(a, b)


def _left(a: Poly, b: Poly) -> Poly | None:
    return remainder(a, b) if b.const is None or b.const > 0 else None


for _name, _make in (
    ("add", operator.add), ("sub", operator.sub), ("mul", operator.mul), ("floordiv", _divided),
    ("mod", _left),
):  # fmt: skip
    setattr(Size, f"__{_name}__", _arithmetic(_name, _make))
    setattr(Size, f"__r{_name}__", _arithmetic(_name, _make, True))
Size.__neg__ = lambda self: Size.of(-int.__int__(self), -self.term)
Size.__pos__ = lambda self: self
Size.__divmod__ = lambda self, other: (self // other, self % other)


def _bits(name: str):
    """Operations on bits: to mask or shift by a constant is arithmetic; else the number stays."""
    plain = getattr(operator, name)
    make = {
        "and_": lambda a, b: remainder(a, b + 1) if b >= 0 and b & (b + 1) == 0 else None,
        "lshift": lambda a, b: a * (1 << b), "rshift": lambda a, b: quotient(a, 1 << b),
    }.get(name)  # fmt: skip

    def method(self, other):
        number = plain(int.__int__(self), other if not isinstance(other, Size) else int.__int__(other))
        term = make(self.term, other) if make and type(other) is int and isinstance(number, int) else None
        return number if term is None and _stays(self, other) else Size.of(number, term)

    return method


def _stays(*values) -> bool:
    """Notes that sizes stay as they are: the program makes something of them that is not followed."""
    for value in values:
        if isinstance(value, Size):
            note(equal(value.term, int.__int__(value)), 3)
    return True


for _name in ("and_", "or_", "xor", "lshift", "rshift"):
    setattr(Size, f"__{_name.rstrip('_')}__", _bits(_name))
Size.__rand__, Size.__ror__, Size.__rxor__ = Size.__and__, Size.__or__, Size.__xor__


def _truth(self) -> bool:
    note(negated(equal(self.term, 0)) if int.__int__(self) else equal(self.term, 0))
    return int.__int__(self) != 0


def _length(self) -> int:
    _stays(self)
    return int.bit_length(self)


Size.__bool__, Size.bit_length = _truth, _length


class Ratio(float):
    """A quotient of sizes, which math.ceil and math.floor turn into one; where it is compared, or rounded
    otherwise, the sizes stay as they are."""

    of: tuple

    def __ceil__(self):
        a, b = self.of
        return -(-a // b)

    def __floor__(self):
        a, b = self.of
        return a // b


def _power(self, other):
    if type(other) is int and 0 <= other <= 4:
        term = poly(1)
        for _ in range(other):
            term = term * self.term
        return Size.of(int.__int__(self) ** other, term)
    return int.__int__(self) ** other


def _ratio(self, other):
    number = int.__int__(self) / other
    if not isinstance(other, int) or isinstance(other, bool) or other <= 0:
        return number
    made = Ratio(number)
    made.of = (self, other)
    return made


def _settled(name: str):
    plain = getattr(float, name)

    def method(self, *others):
        _stays(*self.of)
        return plain(self, *others)

    return method


Size.__truediv__, Size.__pow__ = _ratio, _power
for _name in ("mod", "lt", "le", "eq", "ne", "gt", "ge", "int", "trunc", "round", "floordiv", "bool"):
    setattr(Ratio, f"__{_name}__", _settled(f"__{_name}__"))
Ratio.is_integer, Ratio.__hash__ = _settled("is_integer"), float.__hash__


def _comparison(name: str, make):
    plain = getattr(operator, name)

    def method(self, other):
        if isinstance(other, float) and math.isfinite(other) and not isinstance(other, Ratio):
            number = (math.ceil if name in ("lt", "ge") else math.floor)(other)  # n < 2.5 is n < 3
            if number == other or name not in ("eq", "ne"):
                other = number
        if not isinstance(other, int) or isinstance(other, bool):
            return plain(int(self), other)
        holds = plain(int(self), int(other))
        cond = make(self.term, term_of(other))
        note(cond if holds else negated(cond))
        return holds

    return method


for _name, _make in (
    ("lt", lt), ("le", le), ("eq", equal), ("ne", lambda a, b: negated(equal(a, b))), ("ge", ge),
    ("gt", lambda a, b: lt(b, a)),
):  # fmt: skip
    setattr(Size, f"__{_name}__", _comparison(_name, _make))
Size.__hash__ = int.__hash__


def note(cond, depth: int = 2) -> None:
    """Notes a comparison of the program itself; those inside of libraries are theirs."""
    frame = sys._getframe(depth)
    while frame.f_code.co_filename.endswith(_WRAPPERS):
        frame = frame.f_back
    file = frame.f_code.co_filename
    if file.startswith(_libraries()) or file.startswith("<"):
        return
    keep(cond, f"{file}:{frame.f_lineno}")


def keep(cond, place: str) -> None:
    _noted.append((cond, place))


def forget() -> None:
    """Forgets what a program before this one compared."""
    _noted.clear()


def _libraries() -> tuple:
    return (*package_folders(), torch.__path__[0])


def noted(terms) -> list:
    """(condition, place) of the comparisons that are about atoms of these terms alone. Of sizes that the
    program says are equal one stands for the others, so that a == b == c is about a and c too."""
    known = {atom for atom in atoms_of(*terms) if atom.kind == "sym"}
    every = dict.fromkeys(_noted)
    change = Substitution(_stand_ins([cond for cond, _ in every], known))
    found = [(change.cond(cond), place) for cond, place in every]
    return [
        (cond, place)
        for cond, place in dict.fromkeys(found)
        if cond is not TRUE and {atom for atom in atoms_of(cond) if atom.kind == "sym"} <= known
    ]


def _stand_ins(conds, known: set) -> dict:
    """{a size that is not known: one that is, to which it is equal}."""
    same: dict = {}  # {a size: those that it is equal to}
    for cond in conds:
        pair = _pair(cond)
        for a, b in (pair, pair[::-1]) if pair else ():
            same.setdefault(a, []).append(b)
    found: dict = {}
    for first in sorted((one for one in same if one in known), key=lambda one: one.number):
        waiting = [first]
        while waiting:
            for other in same.get(waiting.pop(), ()):
                if other not in known and other not in found:
                    found[other] = poly(first)
                    waiting.append(other)
    return found


def _pair(cond) -> tuple | None:
    """The two sizes that a condition says are equal."""
    parts = cond.args[0].parts if cond.op == "eq0" else {}
    atoms = [atoms[0] for atoms in parts if len(atoms) == 1 and atoms[0].kind == "sym"]
    return tuple(atoms) if len(atoms) == len(parts) == 2 and {*parts.values()} == {1, -1} else None


def plain(value):
    """A value of a launch without terms."""
    if isinstance(value, Size):
        return int(value)
    if type(value) in (tuple, list):
        return type(value)(plain(one) for one in value)
    return value
