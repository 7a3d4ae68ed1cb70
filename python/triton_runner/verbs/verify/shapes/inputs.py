"""Makes the arguments of a case, anew each time: same seed, same elements, whatever else the case varies.

Memory between the elements of a tensor with strides of its own holds NaN, so that a function that takes it
for contiguous gives something visibly wrong."""

from __future__ import annotations

import dataclasses
import math
import zlib

import numpy

from triton_runner._memory.arguments import host
from triton_runner._memory.files import DTYPES, dtype_named
from triton_runner._memory.ghost_memory import SMALLEST_PERIOD
from triton_runner.verbs.verify.shapes.cases import MOST_ELEMENTS, Case
from triton_runner.verbs.verify.shapes.domain import (
    Domain,
    Kept,
    Longest,
    Number,
    Several,
    Stride,
    Tensor,
    size_of,
)
from triton_runner.verbs.verify.shapes.layouts import laid_out

_SPECIALS = {"with NaN": (numpy.nan,), "with infinities": (numpy.inf, -numpy.inf)}


@dataclasses.dataclass
class Made:
    """Arguments: how the function is called with them, and the tensors by path."""

    positional: list
    named: dict
    tensors: dict


def made(domain: Domain, case: Case, seed: int, exact: bool = False, again: int = 0) -> Made:
    """The arguments of a case. exact: floats as f64, with the elements of the case's types; again: with
    other elements, of the call of that number."""
    making = _Making(domain, case, seed, exact, again)
    values = {name: making.value(name, argument) for name, argument in domain.arguments.items()}
    making.settle(values)
    positional, named = [], {}
    for name, value in values.items():
        if name == domain.starred:
            positional += value
        elif name in domain.keywords:
            named[name] = value
        else:
            positional.append(value)
    return Made(positional, named, making.tensors)


def numbers(argument: Tensor, case: Case, path: str, seed: int, again: int = 0) -> numpy.ndarray:
    """The elements of a tensor, of the case's type, as NumPy has them."""
    shape, kind = argument.shape(case.sizes), case.dtype(argument)
    dtype = dtype_named(kind)
    chance = numpy.random.default_rng([seed, again, zlib.crc32(path.encode())])
    if dtype.kind == "b":
        return chance.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return _integers(argument, case, chance, shape, dtype).astype(dtype)
    low, high = argument.values.low, argument.values.high
    low = None if low is None else size_of(low, case.sizes)
    high = None if high is None else size_of(high, case.sizes)
    with numpy.errstate(over="ignore", invalid="ignore"):
        return _floats(argument, case, chance, shape, low, high).astype(dtype)


def _bounds(argument: Tensor, case: Case, dtype) -> tuple[int, int]:
    """The lowest integer, and the one after the highest, that the type has too."""
    low, high = (int(size_of(text, case.sizes)) for text in (argument.values.low, argument.values.high))
    limits = numpy.iinfo(dtype)
    low = min(max(low, int(limits.min)), int(limits.max))
    return low, max(min(high, int(limits.max) + 1), low + 1)


def _integers(argument: Tensor, case: Case, chance, shape: tuple, dtype) -> numpy.ndarray:
    low, high = _bounds(argument, case, dtype)
    values, count = argument.values, math.prod(shape)
    if values.order == "offsets":
        return _offsets(values.kept, case, chance, count, high - 1).reshape(shape)
    if values.order == "counting":
        return numpy.broadcast_to(numpy.arange(low, low + shape[-1]), shape)
    if case.huge:
        return _from_both_ends(low, high, count)(numpy.arange(count)).reshape(shape)
    if values.order:
        per_row = count if values.order == "distinct" else max(shape[-1], 1)
        rows = [chance.choice(high - low, per_row, replace=False) for _ in range(count // max(per_row, 1))]
        drawn = low + numpy.array(rows, numpy.int64).reshape(shape)
    elif case.values == "all equal":
        return numpy.full(shape, low)
    else:
        drawn = chance.integers(low, high, shape)
        if count > 1:
            drawn.flat[0], drawn.flat[-1] = low, high - 1
    if values.other is not None and count > 2:  # the ends stay
        some = (
            chance.choice(count - 2, -(-count // 8), replace=False)
            if count > 8
            else numpy.zeros(1, numpy.int64)
        )
        drawn.flat[some + 1] = values.other
    return drawn


def _from_both_ends(low: int, high: int, count: int):
    """A function of the index: the last element is the highest integer, the one before it the lowest, then
    the next highest, and so on. The last programs of a launch see both, of ghosts too, which repeat
    themselves."""

    def fill(index):
        distance = (count - 1 - index) % SMALLEST_PERIOD
        steps = (distance // 2) % max((high - low) // 2, 1)
        return numpy.where(distance % 2 == 0, high - 1 - steps, low + steps)

    return fill


def _offsets(kept, case: Case, chance, count: int, end: int) -> numpy.ndarray:
    """Offsets with another end, or more of them; of a huge case the last part is one of the longest."""
    if kept is not None and len(kept) == count and kept[-1] == end:
        return kept
    if count < 2:
        return numpy.zeros(count, numpy.int64)
    if case.huge:
        return numpy.arange(count) * end // (count - 1)
    return numpy.array([0, *sorted(chance.integers(0, end, count - 2, endpoint=True)), end])


def _floats(argument: Tensor, case: Case, chance, shape, low, high) -> numpy.ndarray:
    usual = chance.normal(0.0, argument.values.scale, shape)
    if low is not None:
        usual = chance.uniform(low, high, shape)
    if case.values == "all positive":
        usual = usual if low is not None else chance.uniform(0.5, 1.5, shape) * argument.values.scale
    elif case.values == "all zero":
        usual = numpy.zeros(shape) if low is None or low <= 0 else usual
    elif case.values == "all equal":
        usual = numpy.full(shape, usual.flat[0] if usual.size else 0.0)
    elif case.values == "of wide range":
        usual = usual * 20 if low is None else usual
    elif case.values in _SPECIALS and usual.size:
        count = max(1, usual.size // 50)
        at = chance.choice(usual.size, min(count, usual.size), replace=False)
        usual.flat[at] = chance.choice(_SPECIALS[case.values], at.size)
        if low is None and usual.size > at.size:
            usual.flat[(at + 1) % usual.size] = -0.0
            usual.flat[at] = chance.choice(_SPECIALS[case.values], at.size)
    return usual


class _Making:
    def __init__(self, domain: Domain, case: Case, seed: int, exact: bool, again: int):
        self._case, self._seed, self._exact, self._again = case, seed, exact, again
        self.tensors: dict = {}

    def value(self, path: str, argument):
        if isinstance(argument, Tensor):
            self.tensors[path] = self._tensor(path, argument)
            return self.tensors[path]
        if isinstance(argument, Several):
            return argument.kind(self.value(f"{path}[{i}]", item) for i, item in enumerate(argument.items))
        if isinstance(argument, Number):
            return size_of(argument.text, self._case.sizes)
        return argument.value if isinstance(argument, Kept) else argument

    def settle(self, values: dict) -> None:
        """Numbers that follow from tensors: their strides, the longest part between offsets."""
        for name, value in values.items():
            if isinstance(value, Stride):
                values[name] = self.tensors[value.of].stride(value.dim)
            elif isinstance(value, Longest):
                parts = numpy.diff(host(self.tensors[value.of]))
                values[name] = int(parts.max(initial=0))

    def _tensor(self, path: str, argument: Tensor):
        layout = self._case.layouts.get(path, "")
        shape = argument.shape(self._case.sizes)
        if self._case.huge and math.prod(shape) > MOST_ELEMENTS:
            return _ghost(argument, shape, self._case)
        array = numbers(argument, self._case, path, self._seed, self._again)
        kind = self._case.dtype(argument)
        if self._exact and array.dtype.kind not in "iub":
            array, kind = array.astype(numpy.float64), "f64"
        strides, offset = laid_out(argument, shape, layout, array.dtype.itemsize)
        extent = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
        extent = offset if 0 in shape else extent
        if argument.library == "numpy":
            return _aligned(array)
        return _in_memory(array, kind, strides, offset, extent, argument)


def _aligned(array: numpy.ndarray) -> numpy.ndarray:
    room = numpy.empty(array.nbytes + 64, numpy.uint8)
    start = -room.__array_interface__["data"][0] % 64
    placed = numpy.frombuffer(memoryview(room)[start : start + array.nbytes], array.dtype)
    placed = placed.reshape(array.shape)
    placed[...] = array
    return placed


def _in_memory(array, kind, strides, offset, extent, argument: Tensor):
    import torch

    dtype = getattr(torch, DTYPES[kind][0])
    between = float("nan") if dtype.is_floating_point else 0  # what lies between the elements
    flat = torch.full((extent,), between, dtype=dtype, device=argument.device)
    view = torch.as_strided(flat, array.shape, strides, offset)
    if array.size:
        bits = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
        content = torch.from_numpy(bits).view(dtype).view(array.shape)
        if argument.device != "cpu":
            content = content.to(argument.device)
        for dim, stride in enumerate(strides):  # elements that share memory are written once
            if stride == 0 and array.shape[dim] > 1:
                view, content = view.narrow(dim, 0, 1), content.narrow(dim, 0, 1)
        view.copy_(content)
        view = torch.as_strided(flat, array.shape, strides, offset)
    return view.detach().requires_grad_(argument.grad)


def _ghost(argument: Tensor, shape: tuple, case: Case):
    # Functions of which nobody asks for sizes as large do without.
    from triton_runner._memory.ghost import ghost

    kind = case.dtype(argument)
    dtype = dtype_named(kind)
    if dtype.kind not in "iu" or argument.values.order == "offsets":
        return ghost(shape, kind)
    return ghost(shape, kind, _from_both_ends(*_bounds(argument, case, dtype), math.prod(shape)))
