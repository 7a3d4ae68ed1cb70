"""Wraps arrays that Triton does not know (NumPy, DLPack) as the objects that it takes, with data_ptr() and
dtype; says which argument Triton cannot take (not_taken), and gives the bytes of a storage of PyTorch as a
tensor.

It is tested through tests/python/launch/test_jit.py (test_wrong_arguments) and
tests/python/launch/test_pointer_objects.py."""

from __future__ import annotations

import re

from triton_runner._base.errors import fail


class ArrayArgument:
    """An array with the two names that Triton asks tensors for; everything else is the array's own."""

    def __init__(self, base, address: int, dtype: str):
        self.base = base
        self.dtype = dtype
        self._address = address

    def data_ptr(self) -> int:
        return self._address

    def __getattr__(self, name):
        return getattr(self.base, name)


# Types whose values need no wrapping: found out as they come, as asking a number for attributes is slow.
_plain = {int, float, bool, str, type(None)}


def are_plain(values) -> bool:
    """Returns whether wrap() would leave all the values as they are, by their types alone."""
    return _plain.issuperset(map(type, values))


def wrap_all(function, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments of a launch of a kernel in Python, each as wrap() leaves it."""
    if not are_plain(args):
        names = [*function.arg_names, *(f"#{i}" for i in range(len(function.arg_names), len(args)))]
        args = tuple(map(wrap, names, args))
    if not are_plain(kwargs.values()):
        kwargs = {name: wrap(name, value) for name, value in kwargs.items()}
    return args, kwargs


def wrap(name: str, value):
    """The value as Triton takes it. Errors: an array that is not contiguous."""
    if hasattr(value, "data_ptr") or not hasattr(value, "__array_interface__"):
        if not hasattr(value, "data_ptr") and hasattr(value, "__dlpack__"):
            import numpy

            return wrap(name, numpy.from_dlpack(value))
        if hasattr(type(value), "data_ptr"):
            _plain.add(type(value))
        return value
    import numpy

    if not isinstance(value, numpy.ndarray):
        return value  # a scalar
    if not value.flags.c_contiguous:
        raise fail(
            f"argument '{name}' is a NumPy array that is not contiguous: "
            f"shape {value.shape}, strides {value.strides} bytes",
            f"pass numpy.ascontiguousarray({name}), or a tensor of PyTorch with its strides as arguments",
        )
    return ArrayArgument(value, value.__array_interface__["data"][0], str(value.dtype))


def not_taken(kernel: str, values, reason: str):
    """The error where Triton has said of one of the values, (name, value), that it cannot be an argument."""
    for name, value in values:
        if re.search(rf"\b{re.escape(type(value).__name__)}\b", reason):
            kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
            return fail(
                f"kernel '{kernel}': argument '{name}' is of type {kind}, which is neither a number nor an "
                "array",
                "an array has data_ptr() and dtype, __array_interface__ (NumPy) or __dlpack__",
            )
    return fail(f"kernel '{kernel}': {reason}")


def bytes_of(storage):
    """A storage of PyTorch as a tensor of its bytes."""
    import torch

    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
