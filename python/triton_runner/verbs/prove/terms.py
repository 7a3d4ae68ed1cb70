"""Has terms over the integers: polynomials of atoms, and conditions over them.

An atom is a size, a program's number, the place of an element in its tile, an iteration; or a quotient, a
remainder, a choice, an integer that wrapped, or a value of which nothing is known but its bounds ("app").
Both are made once and compared by identity, so that substitution and proofs can keep what they found.
"""

from __future__ import annotations

import functools

INFINITY = 1 << 200


class Atom:
    """kind: sym, app, div, mod, ite, wrap; args: a name, polynomials and conditions; lo, hi: its bounds by
    itself; note: why nothing more is known of it, with its line."""

    __slots__ = ("args", "hi", "kind", "lo", "note", "number")
    _made: dict = {}  # noqa: RUF012

    def __new__(cls, kind: str, *args, lo=-INFINITY, hi=INFINITY, note=""):
        key = (kind, *args, lo, hi)
        if key not in cls._made:
            self = cls._made[key] = object.__new__(cls)
            self.kind, self.args, self.lo, self.hi, self.note = kind, args, lo, hi, note
            self.number = len(cls._made)
        return cls._made[key]

    def __lt__(self, other) -> bool:
        return self.number < other.number

    def __repr__(self) -> str:
        if self.kind == "sym":
            return self.args[0]
        if self.kind == "app":
            return f"{self.args[0]}({', '.join(map(repr, self.args[1:]))})"
        return f"{self.kind}({', '.join(map(repr, self.args))})"


class Poly:
    """A sum of products of atoms: {a sorted tuple of atoms: a number that is not 0}."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: dict):
        self.parts = {atoms: n for atoms, n in parts.items() if n}
        self._hash = hash(frozenset(self.parts.items()))

    def __eq__(self, other) -> bool:
        return isinstance(other, Poly) and self.parts == other.parts

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other) -> Poly:
        other = poly(other)
        parts = dict(self.parts)
        for atoms, n in other.parts.items():
            parts[atoms] = parts.get(atoms, 0) + n
        return Poly(parts)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly({atoms: -n for atoms, n in self.parts.items()})

    def __sub__(self, other) -> Poly:
        return self + -poly(other)

    def __rsub__(self, other) -> Poly:
        return poly(other) + -self

    def __mul__(self, other) -> Poly:
        parts: dict = {}
        for a, n in self.parts.items():
            for b, m in poly(other).parts.items():
                atoms = tuple(sorted((*a, *b)))
                parts[atoms] = parts.get(atoms, 0) + n * m
        return Poly(parts)

    __rmul__ = __mul__

    @property
    def const(self) -> int | None:
        """Its number, where it is one."""
        return self.parts.get((), 0) if not self.parts or set(self.parts) == {()} else None

    @property
    def atom(self) -> Atom | None:
        """Its atom, where it is nothing else."""
        if len(self.parts) == 1:
            (atoms, n), *_ = self.parts.items()
            if n == 1 and len(atoms) == 1:
                return atoms[0]
        return None

    def atoms(self) -> set:
        return {atom for atoms in self.parts for atom in atoms}

    def __repr__(self) -> str:
        def part(atoms, n):
            text = "*".join(map(repr, atoms))
            return str(n) if not text else text if n == 1 else f"{n}*{text}"

        return " + ".join(part(*one) for one in self.parts.items()) or "0"


def poly(value) -> Poly:
    if isinstance(value, Poly):
        return value
    return Poly({(value,): 1}) if isinstance(value, Atom) else Poly({(): int(value)})


def symbol(name: str, lo=-INFINITY, hi=INFINITY) -> Poly:
    return poly(Atom("sym", name, lo=lo, hi=hi))


class Cond:
    """op: ge0, eq0 (of a polynomial), not, and, or, true, false, bool (of an atom that is 0 or not)."""

    __slots__ = ("args", "op")
    _made: dict = {}  # noqa: RUF012

    def __new__(cls, op: str, *args):
        key = (op, *args)
        if key not in cls._made:
            self = cls._made[key] = object.__new__(cls)
            self.op, self.args = op, args
        return cls._made[key]

    def __repr__(self) -> str:
        if self.op in ("ge0", "eq0"):
            return f"({self.args[0]!r} {'>=' if self.op == 'ge0' else '=='} 0)"
        return f"{self.op}({', '.join(map(repr, self.args))})"


TRUE, FALSE = Cond("true"), Cond("false")


def ge(a, b) -> Cond:
    difference = poly(a) - b
    if difference.const is not None:
        return TRUE if difference.const >= 0 else FALSE
    return Cond("ge0", difference)


def le(a, b) -> Cond:
    return ge(b, a)


def lt(a, b) -> Cond:
    return ge(poly(b) - 1, a)


def equal(a, b) -> Cond:
    difference = poly(a) - b
    if difference.const is not None:
        return TRUE if difference.const == 0 else FALSE
    return Cond("eq0", difference)


def both(*conds) -> Cond:
    return _joined("and", conds, TRUE, FALSE)


def either(*conds) -> Cond:
    return _joined("or", conds, FALSE, TRUE)


def _joined(op: str, conds, neutral: Cond, absorbing: Cond) -> Cond:
    flat: list = []
    for cond in conds:
        flat += cond.args if cond.op == op else (cond,)
    flat = list(dict.fromkeys(one for one in flat if one is not neutral))
    if absorbing in flat:
        return absorbing
    return Cond(op, *flat) if len(flat) > 1 else flat[0] if flat else neutral


@functools.cache
def negated(cond: Cond) -> Cond:
    if cond.op == "not":
        return cond.args[0]
    if cond.op == "ge0":
        return Cond("ge0", -cond.args[0] - 1)
    if cond.op in ("and", "or"):
        return (either if cond.op == "and" else both)(*map(negated, cond.args))
    return {TRUE: FALSE, FALSE: TRUE}.get(cond) or Cond("not", cond)


def choice(cond: Cond, a, b) -> Poly:
    a, b = poly(a), poly(b)
    if cond is TRUE or a == b:
        return a
    return b if cond is FALSE else poly(Atom("ite", cond, a, b))


def smaller(a, b) -> Poly:
    return choice(le(a, b), a, b)


def larger(a, b) -> Poly:
    return choice(ge(a, b), a, b)


def quotient(a, b) -> Poly:
    """The quotient towards minus infinity, of a divisor that is at least 1 wherever the term matters."""
    a, b = poly(a), poly(b)
    if b.const == 1:
        return a
    if b.const and b.const > 0:
        whole = Poly({atoms: n // b.const for atoms, n in a.parts.items() if n % b.const == 0})
        rest = Poly({atoms: n for atoms, n in a.parts.items() if n % b.const})
        if rest.const is not None:
            return whole + rest.const // b.const
        if whole.parts:
            return whole + poly(Atom("div", rest, b))
    whole, rest = _multiples(a, b)
    return whole if not rest.parts else whole + poly(Atom("div", rest, b))


def remainder(a, b) -> Poly:
    """The remainder that goes with quotient()."""
    a, b = poly(a), poly(b)
    if b.const and b.const > 0:
        a = Poly({atoms: n for atoms, n in a.parts.items() if n % b.const})
        if a.const is not None:
            return poly(a.const % b.const)
    _, rest = _multiples(a, b)
    return rest if not rest.parts else poly(Atom("mod", rest, b))


def _multiples(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """(q, r) of a == q * b + r, q being what products with all of b in them have beside it."""
    if len(b.parts) != 1 or b.const is not None:
        return poly(0), a
    ((atoms, n),) = b.parts.items()
    whole, rest = {}, {}
    for own, m in a.parts.items():
        left = list(own)
        for atom in atoms:
            if atom in left:
                left.remove(atom)
        is_multiple = len(left) == len(own) - len(atoms) and m % n == 0
        (whole if is_multiple else rest)[tuple(left) if is_multiple else own] = m // n if is_multiple else m
    return Poly(whole), Poly(rest)


def wrapped(a, bits: int) -> Poly:
    """The signed integer of so many bits that has the low bits of a. Inner wraps of the same width are
    dropped, as sums and products of what is equal modulo 2**bits are."""
    parts = poly(0)
    for atoms, n in poly(a).parts.items():
        product = poly(n)
        for atom in atoms:
            is_inner = atom.kind == "wrap" and atom.args[1] == bits
            product = product * (atom.args[0] if is_inner else atom)
        parts = parts + product
    if parts.const is not None:
        half = 1 << (bits - 1)
        return poly((parts.const + half) % (2 * half) - half)
    return poly(Atom("wrap", parts, bits, lo=-(1 << (bits - 1)), hi=(1 << (bits - 1)) - 1))


class Substitution:
    """Puts polynomials in the place of atoms, everywhere. rename: gives the name of an "app" anew."""

    def __init__(self, by: dict, rename=None):
        self._by, self._rename = dict(by), rename
        self._polys: dict = {}
        self._conds: dict = {}

    def poly(self, value: Poly) -> Poly:
        if value not in self._polys:
            result = poly(0)
            for atoms, n in value.parts.items():
                product = poly(n)
                for atom in atoms:
                    product = product * self.atom(atom)
                result = result + product
            self._polys[value] = result
        return self._polys[value]

    def atom(self, atom: Atom) -> Poly:
        if atom not in self._by:
            self._by[atom] = self._again(atom)
        return self._by[atom]

    def _again(self, atom: Atom) -> Poly:
        kind, args = atom.kind, atom.args
        if kind == "sym":
            return poly(atom)
        if kind == "app":
            name = self._rename(args[0]) if self._rename else args[0]
            return poly(Atom("app", name, *map(self.poly, args[1:]), lo=atom.lo, hi=atom.hi, note=atom.note))
        if kind == "ite":
            return choice(self.cond(args[0]), self.poly(args[1]), self.poly(args[2]))
        if kind == "wrap":
            return wrapped(self.poly(args[0]), args[1])
        return (quotient if kind == "div" else remainder)(self.poly(args[0]), self.poly(args[1]))

    def cond(self, cond: Cond) -> Cond:
        if cond not in self._conds:
            self._conds[cond] = self._cond(cond)
        return self._conds[cond]

    def _cond(self, cond: Cond) -> Cond:
        if cond.op == "ge0":
            return ge(self.poly(cond.args[0]), 0)
        if cond.op == "eq0":
            return equal(self.poly(cond.args[0]), 0)
        if cond.op == "not":
            return negated(self.cond(cond.args[0]))
        if cond.op in ("and", "or"):
            return (both if cond.op == "and" else either)(*map(self.cond, cond.args))
        if cond.op == "bool":
            return Cond("bool", self.atom(cond.args[0]).atom)
        return cond


def atoms_of(*terms) -> set:
    """All atoms in polynomials and conditions, those inside of others included."""
    seen: set = set()
    waiting, known = list(terms), set()
    while waiting:
        term = waiting.pop()
        if term in known or isinstance(term, (str, int)):
            continue
        known.add(term)
        if isinstance(term, Poly):
            waiting += term.atoms()
        elif isinstance(term, Atom):
            seen.add(term)
            waiting += [arg for arg in term.args if isinstance(arg, (Poly, Cond))]
        else:
            waiting += term.args
    return seen


def interval(value, known: dict | None = None, seen: dict | None = None) -> tuple[int, int]:
    """Bounds of a polynomial; known: narrower ones of atoms; seen: those that were computed for the same
    question, as atoms are parts of many others."""
    seen = {} if seen is None else seen
    lo = hi = 0
    for atoms, n in poly(value).parts.items():
        a, b = n, n
        for atom in atoms:
            if atom not in seen:
                seen[atom] = _interval_of(atom, known or {}, seen)
            c, d = seen[atom]
            corners = (a * c, a * d, b * c, b * d)
            a, b = max(min(corners), -INFINITY), min(max(corners), INFINITY)
        lo, hi = lo + a, hi + b
    return lo, hi


def _interval_of(atom: Atom, known: dict, seen: dict) -> tuple[int, int]:
    lo, hi = atom.lo, atom.hi
    if atom in known:
        lo, hi = max(lo, known[atom][0]), min(hi, known[atom][1])
    if atom.kind == "ite":
        pairs = [interval(arg, known, seen) for arg in atom.args[1:]]
        lo, hi = min(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    elif atom.kind in ("div", "mod"):
        (a, b), (c, d) = interval(atom.args[0], known, seen), interval(atom.args[1], known, seen)
        if c >= 1 and atom.kind == "mod":
            lo, hi = max(lo, 0), min(hi, d - 1, b if a >= 0 else INFINITY)
        elif c >= 1:
            lo, hi = max(lo, min(a // c, a // d)), min(hi, max(b // c, b // d))
    return lo, hi
