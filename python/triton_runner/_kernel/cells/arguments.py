"""Encodes the arguments of a launch for another process or machine, and gives the types that Triton's JIT
would give them."""

from __future__ import annotations

import hashlib

import numpy

from triton_runner._base.errors import fail
from triton_runner._memory.arguments import aligned, host, packed
from triton_runner._memory.files import numpy_named
from triton_runner._worker import elements


def encoded(name: str, value):
    """A number, or {"dtype", "shape", "bytes"} of an array or tensor, {"dtype", "value"} of a typed
    number."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, numpy.generic):
        return {"dtype": _typed(name, str(value.dtype)), "value": value.item()}
    is_tensor = hasattr(value, "detach") and hasattr(value, "data_ptr")  # of PyTorch
    if is_tensor and not value.is_contiguous():
        raise fail(f"argument '{name}' is a tensor that is not contiguous", "pass its .contiguous()")
    if not is_tensor and not isinstance(value, numpy.ndarray):
        raise fail(
            f"argument '{name}' is a {type(value).__name__}, which compare does not carry to its processes",
            "arrays of NumPy, tensors of PyTorch and numbers can be compared",
        )
    _typed(name, str(value.dtype).removeprefix("torch."))
    dtype, shape, data = packed(host(value))
    return {"dtype": dtype, "shape": shape, "bytes": data}


def _typed(name: str, dtype: str) -> str:
    if not (row := elements.find(dtype)) or not row.triton:
        names = ", ".join(row.numpy for row in elements.ROWS if row.triton)
        raise fail(f"argument '{name}' has elements of type {dtype}", f"known: {names}")
    return dtype


def is_array(value) -> bool:
    return isinstance(value, dict) and "bytes" in value


def decoded(value):
    """The argument again: arrays begin at multiples of 64 bytes, as those of PyTorch do."""
    if not isinstance(value, dict):
        return value
    dtype = numpy_named(value["dtype"])
    if "bytes" not in value:
        return dtype.type(value["value"])
    return aligned(value["bytes"], 64).view(dtype).reshape(value["shape"])


def digest(value):
    """Returns what a cell's key has of an argument."""
    if not is_array(value):
        return value
    return {**value, "bytes": hashlib.sha256(value["bytes"]).hexdigest()}


def kind(value) -> str | None:
    """The type of an argument as compile() takes it, specialised as the JIT does; None: it is a constant."""
    if value is None:
        return None
    if is_array(value):
        return f"*{elements.find(value['dtype']).triton}:16"
    if isinstance(value, dict):
        element, value = elements.find(value["dtype"]).triton, value["value"]
    elif isinstance(value, bool):
        return "i1"
    elif isinstance(value, float):
        return "fp32"
    else:
        element = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
    if element[0] not in "iu" or element == "i1":
        return element
    return element + (":1" if value == 1 else ":16" if value % 16 == 0 else "")
