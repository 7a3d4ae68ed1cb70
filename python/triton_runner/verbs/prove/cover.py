"""Finds the program and the element of its tile that write a given element of an output.

The offset of a store is a sum of strides times numbers that programs and tiles are counted by. These are
solved for the element, as digits are; a quotient and a remainder of one number are two digits of it. That is
a guess: that these programs exist, that they store and that they store there is what is proved.
"""

from __future__ import annotations

from triton_runner.verbs.prove.facts import program, programs
from triton_runner.verbs.prove.terms import (
    Atom,
    Cond,
    Poly,
    Substitution,
    atoms_of,
    both,
    either,
    equal,
    ge,
    lt,
    poly,
    quotient,
    remainder,
    symbol,
)
from triton_runner.verbs.prove.values import axis


def goal(tensor, placed, assumed: list) -> tuple[Cond | None, list]:
    """(each element is written, what is given of an element); placed: (access, offset, mask) of the stores;
    assumed: what the kernel says is so on their paths."""
    said = {(one.path, one.cond): one.fact for one in assumed}
    places = tensor.places()
    element = [symbol(f"of {tensor.name}[{i}]", 0) for i in range(len(places))]
    given = [
        cond for at, (extent, _) in zip(element, places, strict=True) for cond in (ge(at, 0), lt(at, extent))
    ]
    target = poly(0)
    for at, (_, stride) in zip(element, places, strict=True):
        target = target + at * stride
    written = []
    for access, offset, mask in placed:
        found = _witness(access, offset, [stride for _, stride in places], element)
        if found is None:
            continue
        change = Substitution(found)
        steps = [(access.path[:i], cond) for i, cond in enumerate(access.path)]
        given += [change.cond(said[step]) for step in steps if step in said]
        conds = [*(step[1] for step in steps if step not in said), mask, equal(offset, target)]
        for dimension in range(3):
            conds += [ge(program(dimension), 0), lt(program(dimension), programs(dimension))]
        for i, extent in enumerate(access.shape):
            conds += [ge(axis(i), 0), lt(axis(i), extent)]
        for atom in found:
            if atom.args[0].startswith("iteration#"):
                conds.append(ge(atom, 0))
        written.append(both(*map(change.cond, conds)))
    return (either(*written) if written else None), given


def _is_free(atom: Atom) -> bool:
    return atom.kind == "sym" and atom.args[0].startswith(("program[", "element[", "iteration#"))


def _witness(access, offset: Poly, strides, element) -> dict | None:
    """A number for each program, element and iteration."""
    solving = _Solving(access)
    for part, at in _by_stride(offset, strides, element):
        solving.equations.append((part, at))
    return solving.solve(atoms_of(offset, access.mask, *access.path))


def _by_stride(offset: Poly, strides, element) -> list:
    """(the factor of a stride in the offset, the index there): the stride with most atoms takes first."""
    order = sorted(range(len(strides)), key=lambda i: (-_degree(strides[i]), -(strides[i].const or 0)))
    rest, pairs = offset, []
    for i in order:
        stride = strides[i]
        if len(stride.parts) != 1:
            return [(offset, element[0])] if len(strides) == 1 else []
        ((atoms, n),) = stride.parts.items()
        taken: dict = {}
        for own, m in rest.parts.items():
            left = _without(own, atoms)
            if left is not None and m % n == 0 and (atoms or n > 1 or i == order[-1] or _has_free(left)):
                taken[left] = m // n
        factor = Poly(taken)
        rest = rest - factor * stride
        pairs.append((factor, element[i]))
    return pairs if not rest.parts else []


def _has_free(atoms) -> bool:
    return any(_is_free(one) for one in atoms_of(*map(poly, atoms)))


def _degree(value: Poly) -> int:
    return max(map(len, value.parts), default=0)


def _without(atoms: tuple, others: tuple) -> tuple | None:
    left = list(atoms)
    for one in others:
        if one not in left:
            return None
        left.remove(one)
    return tuple(left)


class _Solving:
    def __init__(self, access):
        self.equations: list = []
        self._values: dict = {}
        self._shape = access.shape

    def solve(self, atoms) -> dict | None:
        """The values of what is free; the others of them are 0."""
        halves: dict = {}  # of each (a, b): quotient and remainder, as far as they are known
        for _ in range(40):
            if not self.equations:
                pairs = [key for key, half in halves.items() if half is not None]
                if not pairs:
                    break
                pair = max(pairs, key=lambda key: len(atoms_of(key[0])))  # what others are made of comes last
                half, halves[pair] = halves[pair], None
                a, b = pair
                divisor = Substitution(self._values).poly(b)
                if any(atom in atoms_of(divisor) for atom in self._left(atoms)):
                    return None
                self.equations.append((a, half.get("div", poly(0)) * divisor + half.get("mod", poly(0))))
                continue
            part, at = self.equations.pop(0)
            part = Substitution(self._values).poly(part)
            digits = _digits(part)
            if digits is None:
                return None
            constant, digits, is_downwards = digits
            at = constant - at if is_downwards else at - constant
            for factor, atom in digits:
                value, at = quotient(at, factor), remainder(at, factor)
                if atom in self._values:
                    continue
                self._values[atom] = value
                if atom.kind in ("div", "mod"):
                    key = atom.args[0], Substitution(self._values).poly(atom.args[1])
                    if halves.get(key, {}) is None:
                        return None
                    halves.setdefault(key, {})[atom.kind] = value
        free = {atom for atom in atoms if _is_free(atom)} | {program(i).atom for i in range(3)}
        free |= {axis(i) for i in range(len(self._shape))}
        return {atom: self._values.get(atom, poly(0)) for atom in free}

    def _left(self, atoms) -> set:
        return {atom for atom in atoms if _is_free(atom) and atom not in self._values}


def _digits(part: Poly) -> tuple | None:
    """(what is constant, [(factor, what is to be found)] from the largest factor to the smallest, whether
    what they count is taken from what is constant)."""
    constant, by_atom, signs = poly(0), {}, set()
    for atoms, n in part.parts.items():
        free = [atom for atom in atoms if _is_open(atom)]
        if not free:
            constant = constant + Poly({atoms: n})
        elif len(free) == 1:
            signs.add(n < 0)
            factor = Poly({_without(atoms, (free[0],)): abs(n)})
            by_atom[free[0]] = by_atom.get(free[0], poly(0)) + factor
        else:
            return None
    if len(signs) > 1:
        return None
    digits = [(factor, atom) for atom, factor in by_atom.items()]
    digits.sort(key=lambda pair: (-_degree(pair[0]), -max(pair[0].parts.values())))
    return constant, digits, True in signs


def _is_open(atom: Atom) -> bool:
    """Whether an atom is free or made of what is free."""
    return any(_is_free(one) for one in atoms_of(atom))
