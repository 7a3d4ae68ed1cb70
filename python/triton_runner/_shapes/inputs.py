"""The arguments of a case, made anew each time: same seed, same elements, whatever else the case varies.

Memory between the elements of a tensor with strides of its own holds NaN, so that a function that takes it
for contiguous gives something visibly wrong.
"""

from __future__ import annotations

import dataclasses
import zlib

import numpy

from triton_runner._memory.files import DTYPES, dtype_named
from triton_runner._shapes.cases import Case
from triton_runner._shapes.domain import Domain, Kept, Number, Several, Stride, Tensor, expression

_GAP = 3  # elements after each row of a padded tensor
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
    if argument.values.kept is not None:
        return numpy.asarray(argument.values.kept).reshape(shape).astype(dtype)
    chance = numpy.random.default_rng([seed, again, zlib.crc32(path.encode())])
    low, high = argument.values.low, argument.values.high
    low = None if low is None else expression(low).value(case.sizes)
    high = None if high is None else expression(high).value(case.sizes)
    if dtype.kind in "iub":
        if dtype.kind == "b":
            return chance.integers(0, 2, shape).astype(dtype)
        low, high = int(low), int(high)
        drawn = chance.integers(low, max(high, low + 1), shape)
        return (numpy.full(shape, low) if case.values == "all equal" else drawn).astype(dtype)
    with numpy.errstate(over="ignore"):
        return _floats(argument, case, chance, shape, low, high).astype(dtype)


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
            return expression(argument.text).value(self._case.sizes)
        return argument.value if isinstance(argument, Kept) else argument

    def settle(self, values: dict) -> None:
        """Numbers that are strides of tensors."""
        for name, value in values.items():
            if isinstance(value, Stride):
                values[name] = self.tensors[value.of].stride(value.dim)

    def _tensor(self, path: str, argument: Tensor):
        layout = self._case.layouts.get(path, "")
        shape = argument.shape(self._case.sizes)
        if self._case.huge:
            return _ghost(shape, self._case.dtype(argument))
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


def laid_out(argument: Tensor, shape: tuple, layout: str, itemsize: int) -> tuple[tuple, int]:
    """(strides, first element) of a tensor in memory of its own."""
    order = list(argument.order) or [dim for dim in range(len(shape)) if dim not in argument.spread]
    if layout == "transposed":
        order = order[::-1] if len(order) != 2 or not argument.order else sorted(order)
    spread = set(argument.spread)
    if layout == "expanded":
        spread.add(order.pop(next((i for i, dim in enumerate(order) if shape[dim] > 1), 0)))
    step = 2 if layout == "strided" else 1
    strides = [0] * len(shape)
    for number, dim in enumerate(reversed(order)):
        strides[dim] = step
        step *= max(shape[dim], 1)
        if number == 0 and layout == "padded":
            step += _GAP
    offset = max(4 // itemsize, 1) if layout == "misaligned" else 0
    return tuple(strides[dim] if dim not in spread else 0 for dim in range(len(shape))), offset


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


def _ghost(shape: tuple, kind: str):
    # Functions of which nobody asks for sizes as large do without.
    from triton_runner._memory.ghost import ghost

    return ghost(shape, kind)
