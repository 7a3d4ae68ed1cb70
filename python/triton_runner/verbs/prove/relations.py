"""Tells how the sizes of a launch belong together: which argument is which dimension or stride of which
tensor, and how many programs there are for them.

A program's own arithmetic says so (sizes.py). A number that comes from no tensor's size stays as it is, and
so do sizes of which the program makes nothing. Each is an assumption.
"""

from __future__ import annotations

import itertools
import math
import re

from triton_runner.verbs.prove.assumptions import Assumption
from triton_runner.verbs.prove.subject import Strange, Subject
from triton_runner.verbs.prove.terms import TRUE, Poly, Substitution, atoms_of, both, equal, ge, poly

CHECKED = ", as the program checks"


def of_values(subject: Subject, values: dict, grid, place: str) -> None:
    """From the values of a launch alone, which a case holds."""
    relate(subject, values, {}, {}, {}, {}, grid, [], place, why="as a case holds one launch")


def relate(
    subject: Subject, values: dict, terms: dict, shapes: dict, strides: dict, numels: dict, grid, noted,
    place: str = "its launch", dense=(), others=(), why: str = "the program makes it of no tensor's size",
) -> None:  # fmt: skip
    """values: the launch's arguments; terms: what is known of its numbers, by name; shapes, strides, numels:
    of its tensors, by name; grid: numbers, or terms; noted: (condition, place) that the program checked;
    dense: the names of tensors that are contiguous whatever their sizes are; others: {a size of a tensor that
    is not an argument: its number}; why: the words for why a number stays as it is."""
    values = {**values, **described(subject, values)}
    told = frozenset(atoms_of(*terms.values(), *(one for one in grid if isinstance(one, Poly))))
    free = {*told}
    for _ in noted:
        for cond, _ in noted:
            parts = cond.args[0].parts if cond.op == "eq0" else {}
            if cond.op == "eq0" and len(parts) == 2 and cond.args[0].atoms() & free:
                free |= cond.args[0].atoms()  # the program says that it is equal to a size that it asks for
    asked = atoms_of(*(cond for cond, _ in noted))
    for name in shapes:  # the shape and the number of elements of a tensor are asked for together
        own, whole = atoms_of(*shapes[name]), atoms_of(numels[name])
        if (own & free and whole & asked) or (whole & free and own & asked):
            free |= own | whole
    same = _Same(shapes, numels, values, free | asked)
    tensors = {
        name: tensor for name, tensor in subject.tensors.items()
        if hasattr(values.get(name), "shape") and name not in subject.described
    }  # fmt: skip
    fixed = _fixed(tensors, values, shapes, strides, numels, free)
    change = Substitution(fixed)
    made_for = _made_for(subject, tensors, values, shapes, free)
    for name, tensor in tensors.items():
        shape, numel, why = same.of(name)
        stays = any(fixed[atom].const not in made_for for atom in atoms_of(*(shape or ())) & fixed.keys())
        shape, steps = ([change.poly(one) for one in these or ()] for these in (shape, strides.get(name)))
        own = _Own(tensor, values[name], shape, steps, numel and change.poly(numel), free)
        tensor.is_guessed |= stays or (same.is_guess and bool(why))
        subject.assumptions.append(Assumption(own.describe() + why, place, own.cond, "shape", (name,)))
    compiled = {one for one in subject.constants.values() if one > 1}
    found, ties = _alike(tensors, values, compiled, told, place)
    subject.alike += found
    subject.ties += ties
    for name in dense:
        tensor = subject.tensors[name]
        if tensor.strides is not None and (cond := _contiguous(tensor)) is not TRUE:
            subject.alike.append(Assumption(f"{name} is contiguous, as torch makes it", place, cond))
    stay = [name for name, tensor in tensors.items() if tensor.is_guessed and values[name].shape]
    for atom in told & dict(others).keys() if stay else ():
        given = ", ".join(f"{name}.numel == ..." for name in stay)
        text = (
            f"{atom.args[0]}, a size of a tensor that is not an argument, with which {', '.join(stay)} may "
        )
        subject.strange.setdefault(atom, Strange(f"{text}grow: --given '{given}'", tuple(stay)))
    for name, symbol in subject.integers.items():
        _number(subject, name, symbol, values.get(name), terms, place, why)
    sizes = [*_sizes_of(tensors, values, shapes, strides, numels)]
    plain = {name: int(values.get(name) or 0) for name in subject.integers if name not in terms}
    subject.ties += _of_numbers(sizes, plain, free, place)
    subject.ties += _of_others(sizes, dict(others), told, change, place)
    wide = [name for name in subject.integers if name in terms and subject.arguments[name].bits == 32]
    if wide:
        text = f"{', '.join(wide)}: at most 2**31 - 1; for a larger number Triton compiles another kernel"
        subject.assumptions.append(Assumption(text, place, both()))
    _memory(subject, values, place)
    _without_overlapping_descriptors(subject, values)
    for cond, where in noted:
        if (cond := change.cond(cond)) is not TRUE:
            subject.assumptions.append(Assumption(f"{spelled(cond)}{CHECKED}", where, cond))
    extents = [one if isinstance(one, Poly) else poly(int(one)) for one in grid]
    extents += [poly(1)] * (3 - len(extents))
    words = ", ".join(map(_spell, extents))
    subject.set_grid(extents, place, words)
    if all(extent.const is not None for extent in extents) and any(extent.const > 1 for extent in extents):
        subject.grid_stays = words


def described(subject: Subject, values: dict) -> dict:
    """The shapes and strides of the descriptors that a launch gets, by the names of its parameters."""
    found = {}
    for name in subject.described:
        for field, attribute in (("shape", "shape"), ("stride", "strides")):
            numbers = getattr(values.get(name), attribute, None) or ()
            found |= {f"{name}.{field}.{i}": number for i, number in enumerate(numbers)}
    return found


def _without_overlapping_descriptors(subject: Subject, values: dict) -> None:
    """Forgets that the elements of a descriptor do not overlap, where they do in the launch."""
    for name in subject.described:
        shape, strides = (
            [values[f"{name}.{field}.{i}"] for i in range(8) if values.get(f"{name}.{field}.{i}") is not None]
            for field in ("shape", "stride")
        )
        rows = zip(strides, strides[1:], shape[1:], strict=False)
        if any(int(a) < int(b) * int(extent) for a, b, extent in rows):
            kept = [one for one in subject.assumptions if one.kind != "apart" or one.names != (name,)]
            subject.assumptions = kept


def _made_for(subject: Subject, tensors: dict, values: dict, shapes: dict, free: set) -> set:
    """The sizes that the kernel is compiled for; those of this launch alone, which others are too, left
    out."""
    others = {
        int(extent)
        for name in tensors
        for term, extent in zip(shapes.get(name, ()), values[name].shape, strict=False)
        if atoms_of(term) & free
    }
    return {number for number in subject.constants.values() if number > 1} - others


def _alike(
    tensors: dict, values: dict, constants: set, told: frozenset, place: str
) -> tuple[list[Assumption], list]:
    """(assumptions, those of what refutes). Tensors of the same shape are taken to have the same one always,
    although the program does not say so, and so is one whose shape is the beginning of another one's. Of a
    square nobody knows which size is equal to which: sizes that both make numbers of the launch (told) may
    differ, and what refutes has all others equal, as the launch does. A size that stays as it is decides
    those of others where the kernel is compiled for it, and of what refutes."""
    first: dict = {}
    found, ties = [], []

    def add(model, tensor, extents, least: int, words: str) -> None:
        text = f"{tensor.name} has the {words} of {model.name}: they are equal in its launch"
        same = "same", (model.name, tensor.name), f"{tensor.name}.shape == ..."
        is_square = not _tells(extents, least)
        pairs = [(a, b) for a, b in zip(model.shape, tensor.shape, strict=False) if a != b]
        if is_square:
            pairs = [(a, b) for a, b in pairs if not (atoms_of(a) & told and atoms_of(b) & told)]
        stay = {1, *(one.const for pair in pairs for one in pair)} - {None} - constants
        tied = [equal(a, b) for a, b in pairs if stay & {a.const, b.const} and not atoms_of(a, b) & told]
        if conds := [equal(a, b) for a, b in pairs if not stay & {a.const, b.const}]:
            found.append(Assumption(text, place, both(*conds), *same))
            if is_square:
                by_extent: dict = {}
                for extent, one in zip(extents, model.shape, strict=False):
                    by_extent.setdefault(extent, []).append(one)
                tied += [equal(a, b) for same in by_extent.values() for a, b in itertools.pairwise(same)]
        if (cond := both(*tied)) is not TRUE:
            ties.append(Assumption(text, place, cond, *same))

    for name, tensor in tensors.items():
        extents = tuple(int(one) for one in values[name].shape)
        if tensor.shape is not None and any(extent > 1 for extent in extents):
            add(first.setdefault(extents, tensor), tensor, extents, 1, "shape")
    for extents, tensor in first.items():
        longer = [other for own, other in first.items() if own != extents and own[: len(extents)] == extents]
        if longer and sum(extent > 1 for extent in extents) > 1:
            add(longer[0], tensor, extents, 2, "first sizes")
    return found, ties


def _tells(extents, least: int) -> bool:
    """Whether so many sizes are longer than 1, and each of those is another one."""
    long = [extent for extent in extents if extent > 1]
    return len(long) >= least and len(set(long)) == len(long)


def _contiguous(tensor):
    pairs = zip(tensor.strides, _dense(tensor.shape), strict=True)
    return both(*(equal(stride, product) for stride, product in pairs))


def _fixed(tensors: dict, values: dict, shapes: dict, strides: dict, numels: dict, free: set) -> dict:
    """{a size: its number} of sizes that the program makes no number or grid of: they stay as they are."""
    fixed: dict = {}
    for name in tensors:
        extents = [int(one) for one in values[name].shape]
        shape = shapes.get(name, ())
        whole = (
            [] if atoms_of(*shape) & free else [numels.get(name, poly(0))]
        )  # else it is the product of these
        pairs = zip(
            [*shape, *strides.get(name, ()), *whole],
            [*extents, *_steps(values[name], extents), math.prod(extents)], strict=False,
        )  # fmt: skip
        for term, number in pairs:
            if term.atom is not None and term.atom not in free:
                fixed[term.atom] = poly(number)
    return fixed


def _number(subject, name: str, symbol: Poly, value, terms: dict, place: str, why: str) -> None:
    """Adds what is known of a number of the launch."""
    if value is None and name not in terms:
        return
    if name in terms:
        text, term = f"{name} == {_spell(terms[name])}", terms[name]
        if term.atom in subject.strange:  # the parameter stands for it from now on
            subject.strange[symbol.atom] = subject.strange[term.atom]
        if any(re.match(r"other\d+\.stride\[", repr(atom)) for atom in atoms_of(term)):
            text = f"{name}, the stride of a tensor that is not an argument: --given '{name} == ...'"
            subject.strange[symbol.atom] = Strange(text, (name,))
    else:
        term = int(value or 0)
        text = f"{name} = {term}{why and f': {why}'}"
    subject.assumptions.append(Assumption(text, place, equal(symbol, term)))


def _sizes_of(tensors: dict, values: dict, shapes: dict, strides: dict, numels: dict):
    """(the tensor, the words of --given, the term, the number) of the sizes and strides of tensors."""
    for name in tensors:
        extents = [int(one) for one in values[name].shape]
        words = [f"{name}.{field}[{i}]" for field in ("shape", "stride") for i in range(len(extents))]
        terms = [*shapes.get(name, ()), *strides.get(name, ()), numels.get(name, poly(0))]
        numbers = [*extents, *_steps(values[name], extents), math.prod(extents)]
        for word, term, number in zip([*words, f"{name}.numel"], terms, numbers, strict=False):
            yield name, word, term, number


def _of_numbers(sizes: list, plain: dict, free: set, place: str):
    """Yields assumptions about launches that refute: a size that is equal to a number of the launch, of which
    nothing says where it comes from, stays so."""
    done = set()
    for tensor, word, term, number in sizes:
        name = next((one for one, own in plain.items() if own == number > 1), None)
        if name is not None and term.atom in free and term.atom not in done:
            done.add(term.atom)
            text = f"{name} is {word}: both are {number} in its launch"
            yield Assumption(text, place, equal(term, number), "same", (tensor,), f"{name} == {word}")


def _of_others(sizes: list, others: dict, told: frozenset, change: Substitution, place: str):
    """Yields the same of sizes of tensors that are not arguments, from which numbers of the launch are
    made."""
    done = set()
    for atom in sorted(told & others.keys()):
        for tensor, word, term, number in sizes:
            term = change.poly(term)
            if number == others[atom] > 1 and atom not in atoms_of(term) and (atom, term) not in done:
                done.add((atom, term))
                size = atom.args[0]
                text = f"{size} is {word}: both are {number} in its launch"
                yield Assumption(text, place, equal(poly(atom), term), "same", (tensor,), f"{size} == {word}")


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
            self.is_guess = False
            return None, None, ""
        shape, numel, extents = self._shapes[name], self._numels[name], self._extents[name]
        self.is_guess = False  # whether another size would have done as well
        before = self._order[: self._order.index(name)]
        if self._is_asked(name) or not extents:
            return self._filled(name)
        if any(atoms_of(*shape, numel) & atoms_of(*self._shapes[one], self._numels[one]) for one in before):
            return shape, numel, ""
        is_guess = self.is_guess = any(len(self._terms().get(extent, ())) > 1 for extent in extents)
        for one in before:
            if self._extents[one] == extents:
                shape, numel, _ = self.of(one)
                self.is_guess |= is_guess
                return shape, numel, f", as {one} has"
        terms = {extent: these[0] for extent, these in self._terms().items()}
        found = [terms.get(extent, term) for extent, term in zip(extents, shape, strict=True)]
        if found == shape:
            return shape, numel, ""
        return found, math.prod(found, start=poly(1)), ", sizes that are equal in its launch"

    def _filled(self, name: str) -> tuple:
        """The shape of a tensor of which some sizes are asked for: the others are equal to sizes that are. A
        size of 1 says nothing by itself, and is that of a tensor of the same shape."""
        shape, numel, extents = self._shapes[name], self._numels[name], self._extents[name]
        terms, found = self._terms(), list(shape)
        before = self._order[: self._order.index(name)]
        twin = next((self._shapes[one] for one in before if self._extents[one] == extents), shape)
        for i, (term, extent) in enumerate(zip(shape, extents, strict=True)):
            is_open = term.atom is not None and term.atom not in self._used
            is_open &= not atoms_of(numel) & self._used
            if is_open and extent == 1 and atoms_of(twin[i]) & self._used:
                found[i] = twin[i]
            elif is_open and extent > 1 and (equals := terms.get(extent)):
                found[i] = equals[0]
                self.is_guess |= len(equals) > 1
        if found == shape:
            return shape, numel, ""
        return found, math.prod(found, start=poly(1)), ", sizes that are equal in its launch"

    def _terms(self) -> dict:
        """{a number: the sizes that the program asks for and that have it}."""
        terms: dict = {}
        for name in self._order:
            pairs = [*zip(self._shapes[name], self._extents[name], strict=True)]
            pairs.append((self._numels[name], math.prod(self._extents[name])))
            for term, extent in pairs:
                known = terms.setdefault(extent, [])
                if atoms_of(term) & self._used and extent > 1 and term not in known:
                    known.append(term)
        return {extent: these for extent, these in terms.items() if these}


class _Own:
    """A tensor of a launch, as terms: its number of elements alone where nothing asks for more."""

    def __init__(self, tensor, value, shape, strides, numel, free: set):
        self._tensor = tensor
        extents = self._extents = [int(one) for one in value.shape]
        self._steps, self._is_apart = _steps(value, extents), True
        dense = zip(extents, self._steps, _dense(extents), strict=True)
        is_dense = all(extent == 1 or a == b for extent, a, b in dense)
        self._shape = shape or [poly(one) for one in extents]
        self.cond, self._is_flat = both(), False
        asks = atoms_of(*self._shape, *strides) & free
        if is_dense and not asks and numel is not None and atoms_of(numel):
            self._is_flat = True
            tensor.numel, tensor.is_known = numel, True
        elif is_dense and not atoms_of(*strides) & free:
            tensor.set_shape(self._shape)
        else:
            self._set_strides(strides or [poly(one) for one in self._steps])
        tensor.is_guessed = not atoms_of(tensor.numel)
        whole = math.prod(self._shape, start=poly(1))  # with strides the memory is longer
        if not self._is_flat and numel is not None and atoms_of(numel) & free and numel != whole:
            self.cond = both(self.cond, equal(numel, whole))

    def _set_strides(self, strides) -> None:
        """Strides are any under which elements do not overlap; those of 1 stay so."""
        steps = self._steps
        known = [poly(step) if step in (0, 1) else one for one, step in zip(strides, steps, strict=True)]
        self._tensor.set_shape(self._shape)
        self._tensor.set_strides(known)
        order = [i for i in sorted(range(len(steps)), key=lambda i: -steps[i]) if steps[i]]
        pairs = [(a, b) for a, b in itertools.pairwise(order) if steps[a] >= steps[b] * self._extents[b]]
        self._is_apart = len(pairs) == max(len(order) - 1, 0)  # or elements overlap in this launch
        conds = [ge(known[a], known[b] * self._shape[b]) for a, b in pairs]
        kept = [equal(a, b) for a, b in zip(strides, known, strict=True)]  # 0 and 1 are not any stride
        self.cond = both(*conds, *(ge(known[i], 1) for i in order), *kept)

    def describe(self) -> str:
        tensor = self._tensor
        if self._is_flat:
            return f"{tensor.name} is contiguous, with {_spell(tensor.numel)} elements"
        text = f"{tensor.name} has the shape ({', '.join(map(_spell, self._shape))})"
        if tensor.strides is None:
            return f"{text} and is contiguous"
        words = ", ".join(map(_spell, tensor.strides))
        order = " which keep their order and" if sum(one.const is None for one in tensor.strides) > 1 else ""
        apart = f",{order} with which elements do not overlap" if self._is_apart else ""
        return f"{text} and the strides ({words}){apart}"


def _dense(extents) -> list:
    """The strides of a contiguous tensor of these extents."""
    return [math.prod(extents[i + 1 :]) for i in range(len(extents))]


def _steps(value, extents) -> list[int]:
    """The strides of a tensor or an array, in elements."""
    if hasattr(value, "stride") and callable(value.stride):
        return [int(one) for one in value.stride()]
    if hasattr(value, "strides") and hasattr(value, "itemsize"):
        return [int(one) // value.itemsize for one in value.strides]
    return _dense(extents)


def _memory(subject: Subject, values: dict, place: str) -> None:
    """Tensors of the same memory share it; those that begin at the same place are one."""
    first: dict = {}
    for name, tensor in subject.tensors.items():
        value = values.get(name)
        if name in subject.described:
            value = getattr(value, "base", None)
        if value is None:
            continue
        if hasattr(value, "untyped_storage"):
            key, start = value.untyped_storage().data_ptr(), value.data_ptr()
        elif hasattr(value, "data_ptr"):
            key = start = value.data_ptr()
        else:
            key = start = (
                value.__array_interface__["data"][0] if hasattr(value, "__array_interface__") else name
            )
        tensor.memory = first.setdefault(key, name)
        tensor.same = first.setdefault((start, tensor.bytes), name)
        if tensor.same != name:
            text = f"{name} begins where {tensor.same} does"
            subject.assumptions.append(Assumption(text, place, both()))


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
            return (
                f"cdiv({_spell(a - b + 1)}, {b.const})"
                if _is_ceiling(a, b)
                else f"({_spell(a)}) // {b.const}"
            )
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
