"""Has values of TTIR as terms, and the ops that compute them.

The term of a tile stands for its element at (element[0], element[1], ...). What is not followed (floats,
bits, what was loaded) is an "app": any number of its type, one for each element.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

from triton_runner.verbs.prove import terms
from triton_runner.verbs.prove.terms import (
    FALSE,
    TRUE,
    Atom,
    Cond,
    Poly,
    Substitution,
    both,
    choice,
    either,
    equal,
    ge,
    larger,
    le,
    lt,
    negated,
    poly,
    quotient,
    remainder,
    smaller,
)

_fresh = itertools.count()


@dataclasses.dataclass(frozen=True)
class Value:
    """kind: int, bool, ptr, desc, other. term: a polynomial (of a ptr: elements from its base on), or a
    condition. base: the argument that a ptr was made from, None: nobody knows. note: why something is not
    known of it. parts: of a descriptor (shape, strides)."""

    kind: str
    term: object = None
    shape: tuple = ()
    bits: int = 0
    base: str | None = None
    note: str = ""
    parts: tuple = ()


OTHER = Value("other")


@functools.cache
def axis(number: int) -> Atom:
    """The place of an element along a dimension of its tile."""
    return Atom("sym", f"element[{number}]", lo=0)


def within(shape) -> list[Cond]:
    """The elements of a tile are inside of it."""
    return [lt(axis(i), extent) for i, extent in enumerate(shape) if extent > 1]


def axes(shape) -> list[Poly]:
    return [poly(axis(i)) for i, extent in enumerate(shape) if extent > 1]


def fresh(name: str) -> str:
    return f"{name}#{next(_fresh)}"


def unknown(type_, note: str, name: str = "value", made_of=()) -> Value:
    """Any value of a type. made_of: the sizes that decide it."""
    shape = tuple(type_.shape) if type_.kind == "tensor" else ()
    element = type_.element if type_.kind == "tensor" else type_
    kind = element.kind
    if kind == "pointer":
        return Value("ptr", any_int(shape, 64, note, "pointer"), shape, 64, None, note)
    if kind == "tensordesc":
        return Value("desc", note=note)
    if kind == "index":
        return Value("int", any_int(shape, 64, note, name), shape, 64, note=note)
    if kind != "integer":
        return OTHER
    if element.width == 1:
        atom = Atom("app", fresh(name), *axes(shape), *made_of, lo=0, hi=1, note=note)
        return Value("bool", Cond("bool", atom), shape, 1, note=note)
    number = any_int(shape, element.width, note, name, made_of)
    return Value("int", number, shape, element.width, note=note)


def any_int(shape, bits: int, note: str, name: str = "value", made_of=()) -> Poly:
    half = 1 << (bits - 1)
    return poly(Atom("app", fresh(name), *axes(shape), *made_of, lo=-half, hi=half - 1, note=note))


class Data(str):
    """The note of a value that is the program's data. argument: what it was loaded from, or None."""

    def __new__(cls, text: str, argument: str | None = None):
        self = super().__new__(cls, text)
        self.argument = argument
        return self


def data_in(values) -> str:
    """The note of the first of the program's data that values are made of; "": they are made of none."""
    atoms = terms.atoms_of(*(one.term for one in values if isinstance(one.term, (Poly, Cond))))
    notes = [atom.note for atom in sorted(atoms) if atom.kind == "app"]
    return next((note for note in notes if isinstance(note, Data)), "")


def _sizes(operands: list[Value]) -> list[Poly]:
    """The parameters and sizes that values are made of."""
    atoms = terms.atoms_of(*(one.term for one in operands if isinstance(one.term, (Poly, Cond))))
    ours = ("program[", "element[", "iteration#", "programs[", "grid[")
    return [poly(one) for one in sorted(atoms) if one.kind == "sym" and not one.args[0].startswith(ours)]


def moved(value: Value, by: dict, shape) -> Value:
    """The value whose element is that of another place: by: {axis: a polynomial}."""
    if value.kind in ("other", "desc"):
        return value
    change = Substitution(by)
    term = change.cond(value.term) if value.kind == "bool" else change.poly(value.term)
    return dataclasses.replace(value, term=term, shape=tuple(shape))


def flags(cond: Cond) -> Poly:
    return choice(cond, 1, 0)


class Computing:
    """The ops on integers. fits(term, bits), holds(cond): whether that is proved."""

    def __init__(self, fits, holds):
        self._fits, self._holds = fits, holds

    def compute(self, op, operands: list[Value], note: str) -> Value:
        """The result of an elementwise op; any value of its type where it is not followed."""
        type_ = op.results[0].type
        shape = tuple(type_.shape) if type_.kind == "tensor" else ()
        element = type_.element if type_.kind == "tensor" else type_
        name = op.name.partition(".")[2]
        function = getattr(self, f"_{name}", None)
        if function is None or any(operand.kind in ("other", "desc") for operand in operands):
            return unknown(type_, note, name, _sizes(operands))
        bits = 64 if element.kind == "index" else element.width if element.kind == "integer" else 0
        result = function(op, bits, *operands)
        if result is None:
            return unknown(type_, note, name, _sizes(operands))
        if isinstance(result, Cond):
            return Value("bool", result, shape, 1)
        return Value("int", result, shape, bits)

    def _exact(self, term: Poly, bits: int) -> Poly:
        term = poly(term)
        plain = terms.wrapped(term, bits)
        if plain.atom is None or plain.atom.kind != "wrap":
            return plain
        inner = plain.atom.args[0]
        return inner if self._fits(inner, bits) else plain

    def _addi(self, op, bits, a, b):
        if bits == 1:
            return self._xori(op, bits, a, b)
        return self._exact(a.term + b.term, bits)

    def _subi(self, op, bits, a, b):
        return None if bits == 1 else self._exact(a.term - b.term, bits)

    def _muli(self, op, bits, a, b):
        return both(a.term, b.term) if bits == 1 else self._exact(a.term * b.term, bits)

    def _divided(self, bits, a: Poly, b: Poly):
        """(quotient, remainder) towards 0, for a divisor whose sign is known; else None."""
        if self._holds(ge(b, 1)):
            if self._holds(ge(a, 0)):
                return quotient(a, b), remainder(a, b)
            q = choice(ge(a, 0), quotient(a, b), -quotient(-a, b))
            r = choice(ge(a, 0), remainder(a, b), -remainder(-a, b))
            return q, r
        if b.const is not None and b.const < -1 and self._holds(ge(a, 0)):
            return -quotient(a, -b), remainder(a, -b)
        return None

    def _divsi(self, op, bits, a, b):
        pair = self._divided(bits, a.term, b.term)
        return pair and pair[0]

    def _remsi(self, op, bits, a, b):
        pair = self._divided(bits, a.term, b.term)
        return pair and pair[1]

    def _both_positive(self, a, b) -> bool:
        return self._holds(ge(a.term, 0)) and self._holds(ge(b.term, 0))

    def _divui(self, op, bits, a, b):
        return self._divsi(op, bits, a, b) if self._both_positive(a, b) else None

    def _remui(self, op, bits, a, b):
        return self._remsi(op, bits, a, b) if self._both_positive(a, b) else None

    def _ceildivsi(self, op, bits, a, b):
        return -quotient(-a.term, b.term) if self._holds(ge(b.term, 1)) else None

    def _floordivsi(self, op, bits, a, b):
        return quotient(a.term, b.term) if self._holds(ge(b.term, 1)) else None

    def _minsi(self, op, bits, a, b):
        return None if bits == 1 else smaller(a.term, b.term)

    def _maxsi(self, op, bits, a, b):
        return None if bits == 1 else larger(a.term, b.term)

    def _minui(self, op, bits, a, b):
        return self._minsi(op, bits, a, b) if bits > 1 and self._both_positive(a, b) else None

    def _maxui(self, op, bits, a, b):
        return self._maxsi(op, bits, a, b) if bits > 1 and self._both_positive(a, b) else None

    def _andi(self, op, bits, a, b):
        if bits == 1:
            return both(a.term, b.term)
        for x, mask in ((a.term, b.term.const), (b.term, a.term.const)):
            if mask is not None and mask >= 0 and mask & (mask + 1) == 0:
                return remainder(x, mask + 1)  # the low bits, of negative numbers too
            if mask is not None and mask < 0 and -mask & (-mask - 1) == 0:
                return x - remainder(x, -mask)
        return None

    def _ori(self, op, bits, a, b):
        return either(a.term, b.term) if bits == 1 else None

    def _xori(self, op, bits, a, b):
        if bits != 1:
            return None
        return either(both(a.term, negated(b.term)), both(negated(a.term), b.term))

    def _shli(self, op, bits, a, b):
        n = b.term.const if bits > 1 else None
        return None if n is None or not 0 <= n < bits else self._exact(a.term * (1 << n), bits)

    def _shrsi(self, op, bits, a, b):
        n = b.term.const if bits > 1 else None
        return None if n is None or not 0 <= n < bits else quotient(a.term, 1 << n)

    def _shrui(self, op, bits, a, b):
        return self._shrsi(op, bits, a, b) if bits > 1 and self._holds(ge(a.term, 0)) else None

    def _absi(self, op, bits, a):
        return self._exact(larger(a.term, -a.term), bits)

    def _cmpi(self, op, bits, a, b):
        predicate = op.attr("predicate").value
        if a.kind == "bool":
            same = negated(self._xori(op, 1, a, b))
            return {"eq": same, "ne": negated(same)}.get(predicate)
        if a.kind == "ptr" and (a.base is None or a.base != b.base):
            return None
        if predicate[0] == "u" and "ptr" in (a.kind, b.kind):
            return None
        if predicate[0] == "u":
            predicate, a, b = "s" + predicate[1:], self._unsigned(a), self._unsigned(b)
        else:
            a, b = a.term, b.term
        return {
            "eq": lambda: equal(a, b), "ne": lambda: negated(equal(a, b)), "slt": lambda: lt(a, b),
            "sle": lambda: le(a, b), "sgt": lambda: lt(b, a), "sge": lambda: le(b, a),
        }[predicate]()  # fmt: skip

    def _extsi(self, op, bits, a):
        return -flags(a.term) if a.kind == "bool" else a.term

    def _extui(self, op, bits, a):
        if a.kind == "bool":
            return flags(a.term)
        return self._unsigned(a)

    def _unsigned(self, a) -> Poly:
        """Returns a number as one without a sign has it."""
        return a.term if self._holds(ge(a.term, 0)) else choice(ge(a.term, 0), a.term, a.term + (1 << a.bits))

    def _index_cast(self, op, bits, a):
        return self._exact(a.term, bits)

    def _index_castui(self, op, bits, a):
        return self._exact(self._extui(op, bits, a), bits)

    def _trunci(self, op, bits, a):
        if bits == 1:
            return equal(remainder(a.term, 2), 1)
        return self._exact(a.term, bits)


def selected(cond: Value, a: Value, b: Value, type_, note: str) -> Value:
    """The one or the other, by a condition."""
    if cond.kind != "bool" or "other" in (a.kind, b.kind) or a.kind == "desc":
        return unknown(type_, note, "select")
    shape = tuple(type_.shape) if type_.kind == "tensor" else ()
    if a.kind == "bool":
        term = either(both(cond.term, a.term), both(negated(cond.term), b.term))
        return Value("bool", term, shape, 1)
    if a.kind == "ptr" and (a.base is None or a.base != b.base):
        if cond.term is TRUE or cond.term is FALSE:
            return a if cond.term is TRUE else b
        return unknown(type_, note, "pointer")
    return dataclasses.replace(a, term=choice(cond.term, a.term, b.term), shape=shape)


def reshaped(value: Value, shape: tuple) -> Value:
    """The same elements in row-major order."""
    place = poly(0)
    for i, extent in enumerate(shape):
        place = place * extent + (axis(i) if extent > 1 else 0)
    by, old = {}, value.shape
    for i, extent in enumerate(old):
        if extent > 1:
            step = math.prod(old[i + 1 :])
            by[axis(i)] = remainder(quotient(place, step), extent) if i else quotient(place, step)
    # A quotient of sums whose parts fit is that of the parts: axes that stay come out as they were.
    return moved(value, _simplified(by, shape), shape)


def _simplified(by: dict, shape: tuple) -> dict:
    """Replaces quotients and remainders by numbers whose bounds decide them."""
    bounds = {axis(i): (0, max(extent - 1, 0)) for i, extent in enumerate(shape)}
    return {atom: simplified(term, bounds) for atom, term in by.items()}


def simplified(term: Poly, bounds: dict) -> Poly:
    by = {}
    for atom in term.atoms():
        if atom.kind in ("div", "mod") and atom.args[1].const:
            a, b = simplified(atom.args[0], bounds), atom.args[1].const
            whole = Poly({atoms: n // b for atoms, n in a.parts.items() if n % b == 0})
            rest = Poly({atoms: n for atoms, n in a.parts.items() if n % b})
            lo, hi = terms.interval(rest, bounds)
            if lo >= 0 and hi < b:
                by[atom] = whole if atom.kind == "div" else rest
            else:
                by[atom] = quotient(a, b) if atom.kind == "div" else remainder(a, b)
    return Substitution(by).poly(term)
