"""Finds partial results: numbers that a kernel leaves to torch to add up, whose order belongs to no result.

    block_sums[(8,)](x, partials, n, B=128)     # each program stores what a reduction gives
    assert torch.allclose(partials.sum(), x.sum())

A check of their sum is a check of the launch. The same check of other outputs sees no elements that are
swapped. They are told apart by what the program does with them: it must reduce them to one number and use
no element of them otherwise; it must reduce no other tensor of as many elements, which it could compare
instead; and either they cannot be one for each row of an input, or another function than the one that
reduces them has the check."""

from __future__ import annotations

import math

from triton_runner._code.carried import CARRYING, carried_to
from triton_runner._code.walk import reached
from triton_runner.verbs.verify import idle_checks

_REDUCE = {"sum", "mean", "prod", "logsumexp"}  # these give the same for elements in any order
_READS = {"numpy", "tolist", "__array__"}  # what Python computes of a tensor is not seen
_VIEWS = {
    "view", "reshape", "flatten", "ravel", "squeeze", "unsqueeze", "detach", "__getitem__", "view_as",
    "contiguous", "to", "float", "double", "clone", "cpu", "cuda",
}  # fmt: skip
_METADATA = {
    "__get__", "size", "numel", "dim", "stride", "element_size", "data_ptr", "is_contiguous", "nelement",
    "is_floating_point", "get_device", "storage_offset", "requires_grad_", "__len__", "untyped_storage",
}  # fmt: skip


class Partial:
    """Follows the outputs of launches whose elements are partial results."""

    def __init__(self):
        # (elements as idle_checks has them, whether they are alive) of such outputs, of each equal launch
        self._places: dict[tuple[int, str], list[tuple]] = {}
        self._counts: dict[tuple[int, str], int] = {}  # how many they are
        self._rows: set[tuple[int, str]] = set()  # those which may be one for each row of an input
        self._used: set[tuple[int, str]] = set()  # those of which the program uses single elements
        self._reduced: dict[tuple[int, str], set] = {}  # the functions of the program that reduce them
        self._checked: dict[int, set] = {}  # the functions with checks that depend on a launch
        self._references: set[int] = set()  # how many elements the program reduces that no launch wrote

    def wrote(self, number: int, values: dict, names, taken, memory_of) -> None:
        """A launch has written these values by name; each number in those of these names comes of a
        reduction. taken: all that it was passed; memory_of(value): (address, whether it is alive)."""
        found = [idle_checks.elements(value) for value in taken]
        for one, places in self._alive().items():
            if one[0] != number and any(_touches(each, places) for each in found):
                self._used.add(one)
        shapes = [tuple(value.shape) for value in taken if hasattr(value, "shape")]
        for name in names:
            place, memory = idle_checks.elements(values.get(name)), memory_of(values.get(name))
            if place is None or memory is None:
                continue
            self._places.setdefault((number, name), []).append((place, memory[1]))
            self._counts[number, name] = count = math.prod(place[1])
            if any(len(shape) > 1 and count in shape for shape in shapes):
                self._rows.add((number, name))

    def _alive(self) -> dict:
        """The elements of each output that are still there."""
        self._places = {
            one: [each for each in places if each[1]()] for one, places in self._places.items()
        }  # fmt: skip
        return {one: [place for place, _ in places] for one, places in self._places.items()}

    def of_reference(self, name: str, args) -> None:
        """The program calls a function of torch with what depends on no launch."""
        if name in _REDUCE or name in _READS:
            self._references.add(_count(args[0] if args else None))

    def called(self, name: str, args, result, numbers, origin, function) -> None:
        """The program calls a function of torch with what depends on these launches. origin(value): the
        elements that a tensor has, or is a copy of; function: the code of the program that calls it."""
        outputs = {one: places for one, places in self._alive().items() if one[0] in numbers}
        tensors = [(value, origin(value)) for value in _tensors(args)]
        tensors = [one for one in tensors if one[1] is not None]
        every = [place for places in outputs.values() for place in places]
        if name in _REDUCE and not any(_touches(found, every) for _, found in tensors):
            self._references.add(_count(args[0] if args else None))
        if name in _METADATA:
            return
        for one, places in outputs.items():
            mine = [value for value, found in tensors if _touches(found, places)]
            if not mine:
                continue
            if name in _REDUCE and mine[0] is args[0] and _count(result) == 1:
                self._reduced.setdefault(one, set()).add(function)
            elif not (name in _VIEWS and _touches(origin(result), places)):
                self._used.add(one)

    def checked(self, numbers, function) -> None:
        """The program came to a check, in the code of this function."""
        for number in numbers:
            self._checked.setdefault(number, set()).add(function)

    def orderless(self, number: int) -> frozenset[str]:
        """The arguments of a launch that are partial results."""
        found = []
        for one, functions in self._reduced.items():
            is_apart = not functions & self._checked.get(number, set())
            if one[0] == number and one not in self._used and self._counts[one] not in self._references:
                found += [one[1]] * (is_apart or one not in self._rows)
        return frozenset(found)


def reduces(store) -> bool:
    """Returns whether a store writes only what reductions give, or single numbers that are made with one."""
    value = store.operands[1]
    is_single = "tensor" not in str(value.type)
    is_reduced = False

    def before(value):
        if value.op is None or value.op.name in CARRYING:
            return [*carried_to(value)]
        return [] if value.op.name == "tt.reduce" or value.op.does("loads") else value.op.operands

    for one in reached([value], before):
        name = one.op.name if one.op is not None else ""
        is_reduced |= name == "tt.reduce"
        if one.op is not None and one.op.does("loads") and not is_single:
            return False
    return is_reduced


def _tensors(values, depth: int = 3):
    for value in values:
        if isinstance(value, (list, tuple)) and depth:
            yield from _tensors(value, depth - 1)
        else:
            yield value


def _count(value) -> int:
    try:
        return value.numel()
    except (AttributeError, RuntimeError, NotImplementedError, TypeError):
        return -1


def _touches(found: tuple | None, places: list) -> bool:
    return found is not None and any(idle_checks.overlap(found, place) for place in places)
