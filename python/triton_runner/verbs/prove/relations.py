"""How the sizes of a launch belong together: which argument is which dimension or stride of which tensor, and
how many programs there are for them.

A program's own arithmetic says so (sizes.py). Where a number comes from nowhere that was seen, it is taken for
the dimensions and strides that have its value; where there are none it is fixed. Each is an assumption.
"""

from __future__ import annotations

import math

from triton_runner.verbs.prove.assumptions import Assumption
from triton_runner.verbs.prove.subject import Subject
from triton_runner.verbs.prove.terms import Poly, atoms_of, both, equal, ge, poly, quotient


def of_values(subject: Subject, values: dict, grid, place: str) -> None:
    """From the values of a launch alone."""
    relate(subject, values, {}, {}, {}, {}, grid, [], place)


def relate(
    subject: Subject, values: dict, terms: dict, shapes: dict, strides: dict, numels: dict, grid, noted,
    place: str = "its launch",
) -> None:  # fmt: skip
    """values: the launch's arguments; terms: what is known of its numbers, by name; shapes, strides, numels:
    of its tensors, by name; grid: numbers, or terms; noted: (condition, place) that the program checked."""
    numbers: dict = {}  # polynomials by value
    used = atoms_of(*terms.values(), *(one for one in grid if isinstance(one, Poly)))
    used |= atoms_of(*(cond for cond, _ in noted))
    same = _Same(shapes, numels, values, used)
    for name, tensor in subject.tensors.items():
        value = values.get(name)
        if value is None or not hasattr(value, "shape"):
            continue
        shape, numel, why = same.of(name)
        own = _Own(tensor, value, shape, strides.get(name), numel, used, bool(numels))
        text, where = own.describe()
        subject.assumptions.append(Assumption(text + why, where, own.cond))
        for term, number in own.sizes():
            known = numbers.setdefault(number, [])
            if poly(term).const is None and term not in known and len(known) < 8:
                known.append(term)
    for name, symbol in subject.integers.items():
        _number(subject, name, symbol, int(values.get(name) or 0), terms, numbers, place)
    _memory(subject, values)
    for cond, where in noted:
        subject.assumptions.append(Assumption(f"{spelled(cond)}, as the program checks", where, cond))
    extents = [one if isinstance(one, Poly) else _extent(int(one), subject, values) for one in grid]
    extents += [poly(1)] * (3 - len(extents))
    subject.set_grid(extents, place, ", ".join(map(_spell, extents)))


def _number(subject, name: str, symbol: Poly, value: int, terms: dict, numbers: dict, place: str) -> None:
    """What a number of the launch is."""
    if name in terms:
        text = f"{name} == {_spell(terms[name])}"
        subject.assumptions.append(Assumption(text, place, equal(symbol, terms[name])))
        return
    same = _alike(name, numbers.get(value, [])) if value > 1 else []
    for term in same:
        text = f"{name} == {_spell(term)}: both are {value}"
        subject.assumptions.append(Assumption(text, place, equal(symbol, term)))
    if not same:
        text = f"{name} = {value}: it comes from no size of a tensor"
        subject.assumptions.append(Assumption(text, place, equal(symbol, value)))


class _Same:
    """The shapes of a launch's tensors. A tensor whose sizes the program does not ask for has those that are
    equal to its own there: that of a whole tensor, or sizes that the program asks for."""

    def __init__(self, shapes: dict, numels: dict, values: dict, used: set):
        self._shapes, self._numels, self._used = shapes, numels, used
        self._extents = {name: tuple(int(one) for one in values[name].shape) for name in shapes}
        asked = [name for name in shapes if self._is_asked(name)]
        self._order = [*asked, *(name for name in shapes if name not in asked)]

    def _is_asked(self, name: str) -> bool:
        return bool(atoms_of(*self._shapes[name], self._numels[name]) & self._used)

    def of(self, name: str) -> tuple:
        """(shape, elements, the words for why)."""
        if name not in self._shapes:
            return None, None, ""
        shape, numel, extents = self._shapes[name], self._numels[name], self._extents[name]
        before = self._order[: self._order.index(name)]
        if self._is_asked(name) or not extents:
            return shape, numel, ""
        if any(atoms_of(*shape, numel) & atoms_of(*self._shapes[one], self._numels[one]) for one in before):
            return shape, numel, ""
        for one in before:
            if self._extents[one] == extents:
                shape, numel, _ = self.of(one)
                return shape, numel, f", as {one} has"
        terms = {}
        for one in self._order:
            for term, extent in zip(self._shapes[one], self._extents[one], strict=True):
                if atoms_of(term) & self._used and extent > 1:
                    terms.setdefault(extent, term)
            if atoms_of(self._numels[one]) & self._used:
                terms.setdefault(math.prod(self._extents[one]), self._numels[one])
        found = [terms.get(extent, term) for extent, term in zip(extents, shape, strict=True)]
        if found == shape:
            return shape, numel, ""
        return found, math.prod(found, start=poly(1)), ", sizes that are equal in its launch"


class _Own:
    """A tensor of a launch, as terms: its number of elements alone where nothing asks for more."""

    def __init__(self, tensor, value, shape, strides, numel, used: set, is_followed: bool):
        self._tensor = tensor
        self._extents = [int(one) for one in value.shape]
        self._steps = _steps(value, self._extents)
        dense = zip(self._extents, self._steps, _dense(self._extents), strict=True)
        is_dense = all(extent == 1 or a == b for extent, a, b in dense)
        self._shape = shape if shape is not None else [tensor.dimension(i) for i in range(len(self._extents))]
        self.cond, self._is_flat = both(), False
        asks = atoms_of(*self._shape, *(strides or ())) & used
        if is_dense and is_followed and not asks and numel is not None:
            self._is_flat = True
            tensor.numel, tensor.is_known = numel, True
        elif is_dense and not (strides and atoms_of(*strides) & used):
            tensor.set_shape(self._shape)
        else:
            self._set_strides(strides or [tensor.stride(i) for i in range(len(self._extents))])
        if not self._is_flat and numel is not None and is_dense and numel != tensor.numel:
            self.cond = both(self.cond, equal(numel, tensor.numel))

    def _set_strides(self, strides) -> None:
        """Strides are any under which elements do not overlap; those of 1 stay so."""
        steps = self._steps
        known = [poly(step) if step in (0, 1) else one for one, step in zip(strides, steps, strict=True)]
        self._tensor.set_shape(self._shape)
        self._tensor.set_strides(known)
        order = [i for i in sorted(range(len(steps)), key=lambda i: -steps[i]) if steps[i]]
        conds = [ge(known[a], known[b] * self._shape[b]) for a, b in zip(order, order[1:], strict=False)]
        self.cond = both(*conds, *(ge(known[i], 1) for i in order))

    def describe(self) -> tuple[str, str]:
        tensor = self._tensor
        if self._is_flat:
            return f"{tensor.name} is contiguous, with {_spell(tensor.numel)} elements", "its launch"
        text = f"{tensor.name} has the shape ({', '.join(map(_spell, self._shape))})"
        if tensor.strides is None:
            return f"{text} and is contiguous", "its launch"
        words = ", ".join(map(_spell, tensor.strides))
        return f"{text} and the strides ({words}), with which elements do not overlap", "its launch"

    def sizes(self) -> list:
        """(term, number) of its sizes."""
        if self._is_flat:
            return [(self._tensor.numel, math.prod(self._extents)), *zip(self._shape, self._extents, strict=True)]
        strides = self._tensor.strides or _products(self._shape)
        numel = math.prod(self._shape, start=poly(1))
        return list(zip([*self._shape, *strides, numel],
                        [*self._extents, *self._steps, math.prod(self._extents)], strict=True))


def _products(extents) -> list[Poly]:
    return [math.prod(extents[i + 1 :], start=poly(1)) for i in range(len(extents))]


def _dense(extents) -> list[int]:
    return [math.prod(extents[i + 1 :]) for i in range(len(extents))]


def _steps(value, extents) -> list[int]:
    """The strides of a tensor or an array, in elements."""
    if hasattr(value, "stride") and callable(value.stride):
        return [int(one) for one in value.stride()]
    if hasattr(value, "strides") and hasattr(value, "itemsize"):
        return [int(one) // value.itemsize for one in value.strides]
    return _dense(extents)


def _alike(name: str, terms: list) -> list:
    """Of what has a number's value, what its name speaks of: strides or sizes."""
    if len(terms) < 2:
        return terms
    is_stride = "stride" in name
    chosen = [term for term in terms if ("stride" in repr(term)) == is_stride]
    return chosen or terms


def _extent(number: int, subject: Subject, values: dict) -> Poly:
    """The extent of a grid of which only the number is known: a size, or the quotient of one by a constant."""
    if number == 1:
        return poly(1)
    for name, symbol in subject.integers.items():
        value = int(values.get(name, 0))
        if value == number:
            return symbol
        for constant in subject.constants.values():
            if isinstance(constant, int) and constant > 1 and value > 1 and -(-value // constant) == number:
                return quotient(symbol + constant - 1, constant)
    for name, tensor in subject.tensors.items():
        shape = getattr(values.get(name), "shape", ())
        for extent, term in zip(shape, tensor.shape or (), strict=False):
            if int(extent) == number:
                return term
    return poly(number)


def _memory(subject: Subject, values: dict) -> None:
    """Tensors that begin in the same memory share it."""
    first: dict = {}
    for name, tensor in subject.tensors.items():
        value = values.get(name)
        if value is None:
            continue
        if hasattr(value, "untyped_storage"):
            key = value.untyped_storage().data_ptr()
        elif hasattr(value, "data_ptr"):
            key = value.data_ptr()
        else:
            key = value.__array_interface__["data"][0] if hasattr(value, "__array_interface__") else name
        tensor.memory = first.setdefault(key, name)


def _spell(term) -> str:
    """A polynomial for people."""
    term = poly(term)
    words = []
    for atoms, n in sorted(term.parts.items(), key=lambda pair: (-len(pair[0]), repr(pair[0]))):
        factors = [_word(atom) for atom in atoms]
        if abs(n) != 1 or not factors:
            factors.insert(0, str(abs(n)))
        words.append(("- " if n < 0 else "+ ") + " * ".join(factors))
    text = " ".join(words) or "0"
    return text[2:] if text.startswith("+ ") else text


def _word(atom) -> str:
    if atom.kind == "sym":
        return atom.args[0]
    if atom.kind == "div":
        a, b = atom.args
        if b.const:
            return f"cdiv({_spell(a - b + 1)}, {b.const})" if _is_ceiling(a, b) else f"({_spell(a)}) // {b.const}"
        return f"({_spell(a)}) // ({_spell(b)})"
    if atom.kind == "mod":
        return f"({_spell(atom.args[0])}) % ({_spell(atom.args[1])})"
    return "..."


def _is_ceiling(a: Poly, b: Poly) -> bool:
    return a.parts.get((), 0) == b.const - 1


def spelled(cond) -> str:
    """A condition for people."""
    if cond.op in ("and", "or"):
        return f" {cond.op} ".join(map(spelled, cond.args))
    if cond.op == "not":
        return f"not {spelled(cond.args[0])}"
    part, sign = cond.args[0], ">=" if cond.op == "ge0" else "=="
    left = Poly({atoms: n for atoms, n in part.parts.items() if n > 0 and atoms})
    right = -Poly({atoms: n for atoms, n in part.parts.items() if n < 0 and atoms})
    offset = part.parts.get((), 0)
    if not left.parts:
        left, right, sign, offset = right, poly(0), "<=" if cond.op == "ge0" else sign, -offset
    return f"{_spell(left)} {sign} {_spell(right - offset)}"
