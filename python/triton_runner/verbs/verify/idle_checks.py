"""Finds comparisons of a program that hold whatever a launch wrote: of elements with themselves, of no
elements, with a tolerance that takes anything, and of NaNs by their order. Knows those that see each
element."""

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
# The results of these have the shape and the type of their first argument, and none of its elements.
_LIKE = {
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like",
    "new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided",
}  # fmt: skip
_PLAIN = {"equal", "allclose"}  # these give one truth value
_EACH = {"isclose", "eq", "__eq__"}  # these give one for each element
_DIFFERENCES = {"sub", "subtract", "rsub", "__sub__", "__rsub__"}
_NEAR = 0.05  # of the largest element: what is nearer is compared, and not computed with
_FILLS = {"copy_", "zero_", "fill_", "normal_", "uniform_", "random_"}


def elements(value) -> tuple | None:
    """Says which elements a tensor has: two with equal answers have the same."""
    if not hasattr(value, "data_ptr") or not hasattr(value, "stride"):
        return None
    try:
        return value.data_ptr(), tuple(value.shape), tuple(value.stride()), value.element_size()
    except (RuntimeError, NotImplementedError, TypeError):  # of a tensor that has no memory
        return None


def leaves(values) -> list:
    """The tensors whose gradients backward() of these computes."""
    found, seen, left = [], set(), []
    for value in values:
        left += value if isinstance(value, (list, tuple)) else [value]
    found += [value for value in left if getattr(value, "is_leaf", False)]
    left = [getattr(value, "grad_fn", None) for value in left]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if (variable := getattr(node, "variable", None)) is not None:
            found.append(variable)
        left += [before for before, _ in node.next_functions]
    return found


def pairs(name: str, args, options: dict) -> tuple | None:
    """The two tensors that a function of torch sets against each other."""
    if name not in _PAIRS:
        return None
    found = [one for one in (*args, *options.values()) if elements(one) is not None]
    return tuple(found[:2]) if len(found) >= 2 else None


def takes_shape(name: str) -> bool:
    """Returns whether a function takes of its first argument the shape alone."""
    return name in _LIKE


def copies(name: str, args, result) -> bool:
    """Returns whether a function has copied the elements of its first argument to other memory."""
    mine, other = elements(args[0]) if args else None, elements(result)
    if name not in _COPIES or None in (mine, other) or mine[0] == other[0] or mine[1] != other[1]:
        return False
    return (
        args[0].is_floating_point() == result.is_floating_point()
        and result.dtype.itemsize > 0
        and (str(result.dtype) != "torch.bool" or args[0].dtype == result.dtype)
    )


def sees_each(name: str, result) -> bool:
    """Returns whether what a function of torch gave depends on each element of the two tensors that it sets
    against each other: it says for each whether they are equal, or that all are."""
    return name in _EACH or (name in _PLAIN and result is True)


def holds(one: tuple, other: tuple) -> bool:
    """Returns whether elements, as elements() has them, have all those of another tensor among them."""
    if one == other:
        return True
    mine, theirs = _span(one), _span(other)
    return None not in (mine, theirs) and mine[0] <= theirs[0] and theirs[1] <= mine[1]


def overlap(one: tuple, other: tuple) -> bool:
    """Returns whether the memory of two tensors may have bytes in common."""
    mine, theirs = (_span(each) or (each[0], math.inf) for each in (one, other))
    return mine[0] < theirs[1] and theirs[0] < mine[1]


def _span(found: tuple) -> tuple | None:
    """The first address and that after the last element; None where there are gaps between the elements."""
    address, shape, strides, size = found
    count = math.prod(shape)
    step = 1
    for stride, length in sorted(zip(strides, shape, strict=True)):
        if length > 1:
            if stride != step:
                return None
            step *= length
    return address, address + count * size


def computes(name: str, pair: tuple) -> bool:
    """Returns whether two tensors are far from each other whose difference is taken: the program goes on with
    it, and does not ask whether they are equal."""
    if name not in _DIFFERENCES:
        return False
    try:
        one, other = (each.detach().double() for each in pair)
        return float((one - other).abs().max()) > _NEAR * float(one.abs().max())
    except (RuntimeError, NotImplementedError, TypeError):
        return True


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
        return _is_wide(name, args, options) or _is_of_nans(args, options)
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


def _is_of_nans(args, options: dict) -> bool:
    """Returns whether a NaN is taken for equal to a NaN, and nothing else is wanted."""
    other = options.get("other", args[1] if len(args) > 1 else None)
    equal_nan = options.get("equal_nan", args[4] if len(args) > 4 else False)
    try:
        return bool(equal_nan) and other.numel() > 0 and bool(other.isnan().all())
    except (RuntimeError, NotImplementedError, TypeError, AttributeError):
        return False


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
