"""Makes domains out of calls: dimensions and numbers that were equal in every call are one size.

Properties that may depend on something that the calls do not show stay as they were: dimensions of 1, which
broadcast; offsets, whose contents say where things lie; integers that could be indices stay below the
smallest dimension that was above all of them, and all different where they were (a scatter by a permutation
is no race)."""

from __future__ import annotations

import dataclasses
import math

import numpy

from triton_runner.verbs.verify.shapes.calls import SeenCall, SeenTensor
from triton_runner.verbs.verify.shapes.domain import (
    Domain,
    Kept,
    Longest,
    Number,
    Several,
    Size,
    Stride,
    Tensor,
    Values,
)

_LETTERS = "MNKLPQRSTUVW"
_FLOATS, _INTEGERS = ("f32", "f16", "bf16"), ("i64", "i32")
_RATIOS = range(2, 65)


def domains(calls: list[SeenCall], is_checked: bool) -> list[Domain]:
    """The domains of calls, one for each form that they have, the most frequent first. is_checked: a
    reference refuses what lies outside of them, so that sizes need not be multiples of others as they
    were."""
    forms: dict[str, list[SeenCall]] = {}
    for call in calls:
        forms.setdefault(repr({name: _form(value) for name, value in call.arguments.items()}), []).append(
            call
        )
    ordered = sorted(forms.values(), key=len, reverse=True)
    return [_Generalising(those, is_checked).domain() for those in ordered]


def _form(value):
    """Returns what calls of one form have in common."""
    if isinstance(value, SeenTensor):
        return len(value.shape), value.device, value.library, [n == 1 for n in value.shape]
    if type(value) in (list, tuple):
        return type(value).__name__, [_form(item) for item in value]
    if type(value) is int:
        return "int"
    return "float" if type(value) is float else repr(value)


class _Generalising:
    def __init__(self, calls: list[SeenCall], is_checked: bool):
        self._calls, self._is_checked = calls, is_checked
        self._names: dict[tuple, str] = {}  # of sizes, by what they were in each call
        self._sizes: dict[str, Size] = {}
        self._tensors = {
            path: [at[path] for at in map(_by_path, calls)]
            for path, value in _by_path(calls[0]).items()
            if isinstance(value, SeenTensor)
        }
        self._dims = {
            (path, dim): tuple(one.shape[dim] for one in seen)
            for path, seen in self._tensors.items()
            for dim in range(len(seen[0].shape))
        }

    def domain(self) -> Domain:
        first = self._calls[0]
        self._name_numbers()
        arguments = {name: self._argument(name, value) for name, value in first.arguments.items()}
        frozen = any(self._order(path) == "offsets" for path in self._tensors)
        return Domain(arguments, self._sizes, first.starred, first.keywords, frozen)

    def _order(self, path: str) -> str:
        """The order that a tensor's integers had in every call."""
        orders = {one.order for one in self._tensors[path]}
        if orders == {"counting", "offsets"}:
            return "offsets"
        if orders <= {"counting", "distinct", "distinct in rows"} and len(orders) > 1:
            return "distinct in rows" if "distinct in rows" in orders else "distinct"
        return orders.pop() if len(orders) == 1 else ""

    def _name_numbers(self) -> None:
        """Sizes that are arguments too have the argument's name."""
        for path in _by_path(self._calls[0]):
            values = self._numbers(path)
            is_name = path.isidentifier() and not path.isupper() and "stride" not in path
            is_size = values and min(values) > 1 and values in self._dims.values()
            if is_name and is_size and values not in self._names:
                self._names[values] = path
                self._sizes[path] = Size(path, values[0])

    def _numbers(self, path: str) -> tuple:
        """Returns what an integer argument was in each call; () of other arguments."""
        values = tuple(_by_path(call)[path] for call in self._calls)
        return values if all(type(value) is int for value in values) else ()

    def _argument(self, path: str, value):
        if isinstance(value, SeenTensor):
            return self._tensor(path)
        if type(value) in (list, tuple):
            items = tuple(self._argument(f"{path}[{i}]", item) for i, item in enumerate(value))
            return Several(type(value), items)
        numbers = self._numbers(path) if type(value) is int else ()
        if numbers and min(numbers) > 1 and not path.isupper():
            if "stride" not in path and numbers in self._names:
                return Number(self._names[numbers])
            if (longest := self._longest(numbers)) is not None:
                return longest
            if (stride := self._stride(numbers)) is not None:
                return stride
        return Kept(value)

    def _longest(self, numbers: tuple) -> Longest | None:
        """The longest part of offsets, where a number was that in every call."""
        for path, seen in self._tensors.items():
            is_kept = self._order(path) == "offsets"  # their data is: the order was seen in it
            if is_kept and tuple(int(numpy.diff(one.data).max()) for one in seen) == numbers:
                return Longest(path)
        return None

    def _stride(self, numbers: tuple) -> Stride | None:
        for path, seen in self._tensors.items():
            for dim in range(len(seen[0].shape)):
                if tuple(one.strides[dim] for one in seen) == numbers:
                    return Stride(path, dim)
        return None

    def _tensor(self, path: str) -> Tensor:
        seen = self._tensors[path]
        dims = tuple(self._size(self._dims[path, dim]) for dim in range(len(seen[0].shape)))
        types = tuple(dict.fromkeys(one.dtype for one in seen))
        family = next((family for family in (_FLOATS, _INTEGERS) if types[0] in family), ())
        order, spread = _memory(seen[0])
        return Tensor(
            dims, (*types, *(kind for kind in family if kind not in types)), group=types[0],
            values=self._values(path), order=order, spread=spread, device=seen[0].device,
            library=seen[0].library, grad=seen[0].grad,
        )  # fmt: skip

    def _size(self, values: tuple) -> str:
        if max(values) <= 1:
            return str(values[0])
        if values not in self._names:
            multiple = None if self._is_checked else self._multiple(values)
            if multiple is not None:
                return multiple
            name = next(name for name in _names() if name not in self._sizes)
            self._names[values] = name
            self._sizes[name] = Size(name, values[0])
        return self._names[values]

    def _multiple(self, values: tuple) -> str | None:
        """The size of which another is a multiple in each call."""
        for known, name in self._names.items():
            for ratio in _RATIOS:
                if all(value == ratio * other for value, other in zip(values, known, strict=True)):
                    return f"{ratio} * {name}"
        return None

    def _values(self, path: str) -> Values:
        seen = self._tensors[path]
        low, high = min(one.low for one in seen), max(one.high for one in seen)
        order = self._order(path)
        if order == "offsets":
            ends = tuple(int(one.high) for one in seen)
            end = self._size(ends) if ends in self._dims.values() else str(ends[0])
            return Values("0", f"{end} + 1", order=order, kept=seen[0].data)
        if seen[0].dtype in ("f64", *_FLOATS) or not seen[0].dtype.startswith(("i", "u")):
            largest = _power(max(abs(low), abs(high)))
            if low >= 0 and high > 0:
                least = 0.5 * low if low == high else low  # of ones, say
                return Values(repr(_power(least, math.floor) if 8 * least > high else 0.0), repr(largest))
            return Values(scale=1.0 if 2**-6 < largest < 2**6 else largest / 4)
        limits = self._above(path, high)
        text = limits[0] if len(limits) == 1 else f"min({', '.join(limits)})" if limits else ""
        others = {one.other for one in seen} - {None}
        if order == "distinct" and all(len(one.shape) == 1 and one.high == one.shape[0] - 1 for one in seen):
            return Values("0", self._size(self._dims[path, 0]), order=order)  # a permutation
        most = self._size(self._dims[path, 0]) if order == "counting" else str(int(high) + 1)
        return Values(
            str(int(low)), text if low >= 0 and text else most,
            other=others.pop() if len(others) == 1 else None, order=order,
        )  # fmt: skip

    def _above(self, path: str, high: float) -> list[str]:
        """The dimensions of other tensors that an index up to `high` may be of."""
        found = {}
        for (other, _), values in self._dims.items():
            if other != path and all(value > high for value in values) and max(values) > 1:
                found[self._size(values)] = values
        smallest = min((min(values) for values in found.values()), default=0)
        return [name for name, values in found.items() if min(values) < 4 * smallest]


def _by_path(call: SeenCall) -> dict:
    """The arguments by path, those in lists too."""

    def within(path, value):
        if type(value) in (list, tuple):
            for i, item in enumerate(value):
                yield from within(f"{path}[{i}]", item)
        else:
            yield path, value

    return dict(pair for name, value in call.arguments.items() for pair in within(name, value))


def _memory(seen: SeenTensor) -> tuple[tuple, tuple]:
    """(order, spread) of a tensor, () for one whose elements lie in the order of its shape."""
    spread = tuple(
        d for d, (n, s) in enumerate(zip(seen.shape, seen.strides, strict=True)) if n > 1 and not s
    )
    real = [dim for dim in range(len(seen.shape)) if dim not in spread]
    order = tuple(sorted(real, key=lambda dim: (-seen.strides[dim], seen.shape[dim] == 1, dim)))
    return (() if list(order) == sorted(order) and not spread else order), spread


def _power(number: float, rounded=math.ceil) -> float:
    """The next power of two, so that numbers drawn at random in the program make no difference."""
    return 2.0 ** rounded(math.log2(number)) if number > 0 else 1.0


def _names():
    yield from _LETTERS
    for number in range(1000):
        yield f"D{number}"


def moderate(domain: Domain, most: int) -> Domain:
    """The same with usual sizes small enough that no tensor has more than so many elements; those that may
    not vary stay."""
    sizes = dict(domain.sizes)
    while not domain.frozen and domain.elements({name: size.usual for name, size in sizes.items()}) > most:
        name = max(sizes, key=lambda name: sizes[name].usual)
        halved = max(sizes[name].usual // 2, 1)
        if not sizes[name].takes(halved) or halved == sizes[name].usual:
            break
        sizes[name] = dataclasses.replace(sizes[name], usual=halved)
    return dataclasses.replace(domain, sizes=sizes)
