"""Has sizes of a program's tensors as numbers that remember where they come from.

While a program runs, x.shape, x.size(), x.stride() and x.numel() give such numbers (tensors.py), and so does
arithmetic on them. A launch then tells that n is x.numel() and that its grid is cdiv(x.numel(), 1024): by
what the program computes, and not by values that happen to be equal. Comparisons of the program are noted, as
what follows one holds for such sizes alone.
"""

from __future__ import annotations

import contextlib
import functools
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
            return _number(number)
        made = Size(number)
        made.term = term
        return made

    def __reduce__(self):
        return int, (int.__int__(self),)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def term_of(value) -> Poly:
    return value.term if isinstance(value, Size) else poly(int(value))


def _number(value):
    """A size without its term; anything else is itself."""
    return int.__int__(value) if isinstance(value, int) else value


def _arithmetic(name: str, make, swapped: bool = False):
    plain = getattr(operator, name)

    def method(self, other):
        a, b = (other, self) if swapped else (self, other)
        if not isinstance(other, int):
            return Real.of(plain(_number(a), _number(b)), self, other)
        term = make(term_of(a), term_of(b))
        number = plain(_number(a), _number(b))
        return number if term is None and _stays(self, other) else Size.of(number, term)

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
Size.__invert__ = lambda self: -self - 1
Size.__pos__ = Size.__ceil__ = Size.__floor__ = Size.__trunc__ = lambda self: self
Size.__divmod__ = lambda self, other: (self // other, self % other)
Size.__rdivmod__ = lambda self, other: (other // self, other % self)


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
    for value in sizes_in(values):
        note(equal(value.term, int.__int__(value)), 3)
    return True


def sizes_in(values) -> tuple:
    """The sizes among values, and those that floats among them are made of."""
    found = [one.sizes if isinstance(one, Real) else (one,) for one in values]
    return tuple(one for these in found for one in these if isinstance(one, Size))


def _kept(plain):
    """A function of sizes that gives plain numbers: the sizes stay."""

    def method(self, *others):
        _stays(self, *others)
        return plain(self, *map(_number, others))

    return method


for _name in ("and_", "or_", "xor", "lshift", "rshift"):
    setattr(Size, f"__{_name.rstrip('_')}__", _bits(_name))
Size.__rand__, Size.__ror__, Size.__rxor__ = Size.__and__, Size.__or__, Size.__xor__


def _truth(self) -> bool:
    note(negated(equal(self.term, 0)) if int.__int__(self) else equal(self.term, 0))
    return int.__int__(self) != 0


def _rounded(self, digits=None):
    return self if digits is None or digits >= 0 or not _stays(self) else int.__round__(self, digits)


Size.__bool__, Size.__round__ = _truth, _rounded
# Python gives a plain number of int(n), whatever this gives.
Size.__int__, Size.bit_length, Size.__abs__ = _kept(int.__int__), _kept(int.bit_length), _kept(int.__abs__)
for _name in ("pow", "lshift", "rshift"):
    setattr(Size, f"__r{_name}__", _kept(getattr(int, f"__r{_name}__")))


class Real(float):
    """A float that a program makes of sizes: where it is compared, or rounded, these stay as they are."""

    sizes: tuple

    @classmethod
    def of(cls, number, *values):
        """A result of arithmetic with values, among them sizes."""
        if type(number) is not float:
            return number
        made = cls(number)
        made.sizes = sizes_in(values)
        return made

    def __reduce__(self):
        return float, (float.__float__(self),)


class Ratio(Real):
    """A quotient of sizes, which math.ceil and math.floor turn into one."""

    parts: tuple

    def __ceil__(self):
        a, b = self.parts
        return -(-a // b)

    def __floor__(self):
        a, b = self.parts
        return a // b


def _of_floats(name: str):
    plain = getattr(float, name)

    def method(self, *others):
        return Real.of(plain(self, *map(_number, others)), self, *others)

    return method


for _name in ("add", "sub", "mul", "truediv", "pow"):
    for _side in ("", "r"):
        setattr(Real, f"__{_side}{_name}__", _of_floats(f"__{_side}{_name}__"))
for _name in ("neg", "abs", "pos"):
    setattr(Real, f"__{_name}__", _of_floats(f"__{_name}__"))


def _power(self, other):
    if type(other) is int and 0 <= other <= 4:
        term = poly(1)
        for _ in range(other):
            term = term * self.term
        return Size.of(int.__int__(self) ** other, term)
    number = int.__int__(self) ** _number(other)
    return Real.of(number, self, other) if isinstance(number, float) or not _stays(self, other) else number


def _ratio(self, other):
    number = int.__int__(self) / _number(other)
    if not isinstance(other, int) or isinstance(other, bool) or other <= 0:
        return Real.of(number, self, other)
    made = Ratio.of(number, self, other)
    made.parts = self, other
    return made


def _inverse(self, other):
    return Real.of(_number(other) / int.__int__(self), self, other)


Size.__truediv__, Size.__rtruediv__, Size.__pow__ = _ratio, _inverse, _power
for _name in (
    "mod", "rmod", "lt", "le", "eq", "ne", "gt", "ge", "int", "trunc", "round", "floordiv", "rfloordiv",
    "bool",
):  # fmt: skip
    setattr(Real, f"__{_name}__", _kept(getattr(float, f"__{_name}__")))
Real.__ceil__, Real.__floor__ = _kept(float.__ceil__), _kept(float.__floor__)
Real.is_integer, Real.__hash__ = _kept(float.is_integer), float.__hash__


def _comparison(name: str, make):
    plain = getattr(operator, name)

    def method(self, other):
        if isinstance(other, float) and math.isfinite(other) and not isinstance(other, Real):
            number = (math.ceil if name in ("lt", "ge") else math.floor)(other)  # n < 2.5 is n < 3
            if number == other or name not in ("eq", "ne"):
                other = number
        if not isinstance(other, int) or isinstance(other, bool):
            if isinstance(other, Real):
                _stays(self, other)
            return plain(_number(self), other)
        holds = plain(_number(self), _number(other))
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


def _function(plain):
    """A function of the module math, which keeps what its result is made of."""

    def function(*values):
        number = plain(*map(_number, values))
        if sizes_in(values) and isinstance(number, int):
            _stays(*values)
        return Real.of(number, *values) if sizes_in(values) else number

    return functools.wraps(plain)(function)


@contextlib.contextmanager
def functions():
    """Functions of the module math follow sizes inside of the block."""
    names = ("sqrt", "log", "log2", "log10", "exp", "exp2", "pow", "gcd", "lcm", "isqrt")
    own = {name: getattr(math, name) for name in names if hasattr(math, name)}
    vars(math).update({name: _function(one) for name, one in own.items()})
    try:
        yield
    finally:
        vars(math).update(own)


def plain(value):
    """A value of a launch without terms."""
    if isinstance(value, Size):
        return int.__int__(value)
    if isinstance(value, Real):
        return float.__float__(value)
    if type(value) in (tuple, list):
        return type(value)(plain(one) for one in value)
    return value
