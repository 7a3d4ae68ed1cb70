"""GhostTensor is a ghost as a torch tensor: its views are ghosts, and an operator that would touch all of it
raises."""

from __future__ import annotations

import itertools

import numpy
import torch

from triton_runner._base.errors import fail
from triton_runner._memory.files import DTYPES, dtype_named, kind_of
from triton_runner._memory.ghost_memory import Ghost, ghost_at

_aten = torch.ops.aten
_VIEWS = {
    getattr(_aten, name)
    for name in (
        "view", "_unsafe_view", "reshape", "_reshape_alias", "as_strided", "slice", "select", "narrow", "t",
        "transpose", "permute", "expand", "unsqueeze", "squeeze", "detach", "alias", "split",
        "split_with_sizes", "chunk", "unbind", "unfold", "diagonal", "movedim", "view_as", "lift_fresh",
    )
    if hasattr(_aten, name)
}  # fmt: skip
_seeds = itertools.count()


def _drawn(kind: str, *parameters):
    """A function of the index that gives the same random numbers each time."""
    seed = next(_seeds)
    return lambda index: getattr(numpy.random.default_rng(seed), kind)(*parameters, index.size)


# These fill all of a ghost, and by what: a number, or a function of the index.
_FILLING = {
    _aten.zero_: lambda: 0,
    _aten.fill_: lambda value: value,
    _aten.normal_: lambda mean=0.0, std=1.0: _drawn("normal", mean, std),
    _aten.uniform_: lambda low=0.0, high=1.0: _drawn("uniform", low, high),
    _aten.random_: lambda low=1 << 24, high=None: _drawn("integers", low if high else 0, high or low),
}
_EMPTY = {_aten.empty_like, _aten.new_empty, _aten.zeros_like, _aten.new_zeros}
_SMALL = 1 << 24  # elements: a view of at most so many is filled like any tensor


class GhostTensor(torch.Tensor):
    """A tensor whose memory is a Ghost's."""

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        packet = function.overloadpacket
        with torch._C._DisableTorchDispatch():
            if packet in _VIEWS:
                return _as_ghosts(function(*args, **kwargs))
            if packet in _FILLING and args[0].numel() > _SMALL:
                return _filled(args[0], _FILLING[packet](*args[1:]))
            if all(ghost.numel() <= _SMALL for ghost in _ghosts([args, kwargs])):
                return function(*args, **kwargs)  # the elements of a part
        if packet in _EMPTY:
            return _made(packet, args, kwargs)
        ghost = max(_ghosts([args, kwargs]), key=torch.Tensor.numel)
        raise fail(
            f"torch.{packet.__name__} of a ghost of shape {tuple(ghost.shape)}: it would touch all of its "
            f"{ghost.numel() * ghost.element_size() / 2**30:,.1f} GiB",
            "a ghost takes views, fill_, zero_ and empty_like, and a part of at most 16 Mi elements takes "
            "every operator of torch; for a result of its size, make another ghost of that shape",
        )

    def __repr__(self, **_):
        return f"ghost(shape={tuple(self.shape)}, dtype={self.dtype})"

    def __deepcopy__(self, memo):
        raise fail("a ghost cannot be copied", "make another one of the same shape and fill")


def _ghosts(value) -> list:
    """The ghosts among arguments."""
    if isinstance(value, GhostTensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [ghost for part in parts for ghost in _ghosts(part)]


def _as_ghosts(value):
    if isinstance(value, torch.Tensor):
        return value if isinstance(value, GhostTensor) else value.as_subclass(GhostTensor)
    return type(value)(_as_ghosts(item) for item in value)


def _filled(tensor, number):
    memory = ghost_at(tensor.untyped_storage().data_ptr())
    if memory is None or tensor.numel() != memory.count or not tensor.is_contiguous():
        raise fail(
            f"a part of a ghost with {tensor.numel():,} elements cannot be filled",
            "all of it can, and parts of at most 16 Mi elements",
        )
    memory.refill(number.item() if isinstance(number, torch.Tensor) else number)
    return tensor


def _made(packet, args, kwargs):
    """empty_like and its like: another ghost."""
    like = args[0]
    shape = args[1] if packet in (_aten.new_empty, _aten.new_zeros) else like.shape
    return _new(shape, kwargs.get("dtype") or like.dtype, 0)


# torch's functions that make tensors fill a ghost with these, by their names.
_CONTENTS = {
    "empty": lambda *_, **__: 0,
    "zeros": lambda *_, **__: 0,
    "ones": lambda *_, **__: 1,
    "full": lambda size, fill_value, **_: fill_value,
    "randn": lambda *_, **__: _drawn("normal", 0.0, 1.0),
    "rand": lambda *_, **__: _drawn("uniform", 0.0, 1.0),
    "randint": lambda *bounds, **_: _drawn("integers", *([0, bounds[0]] if len(bounds) == 2 else bounds[:2])),
}
_CONTENTS |= {f"{name}_like": _CONTENTS[name] for name in ("empty", "zeros", "ones", "randn", "rand")}


def made_by(function, args, kwargs, at_least: int) -> GhostTensor | None:
    """Returns what a function that makes a tensor would make, as a ghost; None: it has fewer bytes than
    `at_least`."""
    fill = _CONTENTS.get(function.__name__)
    if fill is None or any(isinstance(value, GhostTensor) for value in args):
        return None
    like = function(*args, **{**kwargs, "device": "meta"})
    if like.numel() * like.element_size() < at_least or not like.is_contiguous() or like.dtype.is_complex:
        return None
    return _new(like.shape, like.dtype, fill(*args, **kwargs))


def _new(shape, dtype: torch.dtype, fill) -> GhostTensor:
    name = str(dtype).removeprefix("torch.")
    return tensor_of(Ghost(tuple(shape), dtype_named(name), fill), name)


def tensor_of(memory, name: str) -> GhostTensor:
    whole = torch.frombuffer(memory.array.base if memory.count else bytearray(1), dtype=torch.uint8)
    dtype = getattr(torch, DTYPES[kind_of(name)][0])
    return whole[: memory.count * dtype.itemsize].view(dtype).view(memory.shape).as_subclass(GhostTensor)
