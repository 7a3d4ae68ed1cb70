"""Finds comparisons of a program that hold whatever a launch wrote: of elements with themselves, of no
elements, with a tolerance that takes anything, and of NaNs by their order."""

from __future__ import annotations

import math
import numbers

_PAIRS = {
    "equal", "allclose", "isclose", "eq", "ne", "sub", "subtract", "rsub", "__eq__", "__ne__", "__sub__",
    "__rsub__", "dist", "mse_loss", "l1_loss",
}  # fmt: skip
_CLOSE = {"allclose": (1e-5, 1e-8), "isclose": (1e-5, 1e-8)}  # relative and absolute tolerance
_ORDERED = {"gt", "lt", "ge", "le", "greater", "less", "__gt__", "__lt__", "__ge__", "__le__"}
_COPIES = {"clone", "contiguous", "to", "cpu", "cuda", "float", "double", "half", "bfloat16", "type"}
_FILLS = {"copy_", "zero_", "fill_", "normal_", "uniform_", "random_"}


def elements(value) -> tuple | None:
    """Says which elements a tensor has: two with equal answers have the same."""
    if not hasattr(value, "data_ptr") or not hasattr(value, "stride"):
        return None
    try:
        return value.data_ptr(), tuple(value.shape), tuple(value.stride())
    except (RuntimeError, NotImplementedError, TypeError):  # of a tensor that has no memory
        return None


def pairs(name: str, args, options: dict) -> tuple | None:
    """The two tensors that a function of torch sets against each other."""
    if name not in _PAIRS:
        return None
    found = [one for one in (*args, *options.values()) if elements(one) is not None]
    return tuple(found[:2]) if len(found) >= 2 else None


def copies(name: str, args, result) -> bool:
    """Returns whether a function has copied the elements of its first argument to other memory."""
    mine, other = elements(args[0]) if args else None, elements(result)
    return name in _COPIES and None not in (mine, other) and mine[0] != other[0] and mine[1] == other[1]


def fills(name: str, args) -> bool:
    """Returns whether a function gives another value to all the memory that its first argument lies in."""
    if name not in _FILLS or not args or not hasattr(args[0], "untyped_storage"):
        return False
    tensor = args[0]
    try:
        return tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
    except (RuntimeError, NotImplementedError, TypeError):
        return False


def takes_anything(name: str, args, options: dict, result) -> bool:
    """Returns whether what a function of torch, or Python's reading of a number, gave holds for any value."""
    if name in _CLOSE:
        return _is_wide(name, args, options)
    if name in _ORDERED:
        return any(_has_nan(one) for one in args)
    return isinstance(result, float) and math.isnan(result)


def _is_wide(name: str, args, options: dict) -> bool:
    """A relative tolerance of 1 takes zeros for every value, and an absolute one zeros for all values below
    it."""
    rtol, atol = (
        options.get(key, args[at] if len(args) > at else least)
        for key, at, least in zip(("rtol", "atol"), (2, 3), _CLOSE[name], strict=True)
    )
    if not all(isinstance(one, numbers.Real) for one in (rtol, atol)):
        return False
    return rtol >= 1 or (atol > 1 and atol > _largest(options.get("other", args[1] if len(args) > 1 else 0)))


def _largest(tensor) -> float:
    """The largest magnitude of a tensor; infinity where that cannot be told."""
    try:
        return max(abs(float(tensor.max())), abs(float(tensor.min())))
    except (RuntimeError, NotImplementedError, TypeError, AttributeError):
        return math.inf


def _has_nan(value) -> bool:
    if not hasattr(value, "is_floating_point") or not value.is_floating_point() or not value.numel():
        return False
    try:
        return math.isnan(float(value.max()))
    except (RuntimeError, NotImplementedError, TypeError):
        return False
