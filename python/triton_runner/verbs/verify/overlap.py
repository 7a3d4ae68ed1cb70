"""Tells two launches of a kernel apart beside their grid: by their arguments as a kernel sees them."""

from __future__ import annotations

import itertools

from triton_runner._memory.arguments import is_array, is_descriptor

_ALIGNED = 16  # bytes: what compilers look at


def key(named) -> tuple:
    """(shapes, overlaps, numbers) of the arguments of a launch, (name, value): shapes with types, strides and
    how far the memory is from an aligned address; which arguments overlap, and by how much; values."""
    arrays, spans, numbers = [], {}, []
    for name, value in named:
        array = value.base if is_descriptor(value) else value
        if not is_array(array):
            numbers.append((name, str(value)))
            continue
        shape, strides = tuple(getattr(array, "shape", ())), _strides(array)
        spans[name] = _span(array, shape, strides)
        kind, offset = str(getattr(array, "dtype", "")), spans[name][0] % _ALIGNED
        arrays.append((name, shape, strides, kind, offset))
    overlaps = tuple(
        (a, b, spans[b][0] - spans[a][0])
        for a, b in itertools.combinations(spans, 2)
        if shared(spans[a], spans[b])
    )
    return tuple(arrays), overlaps, tuple(numbers)


def shared(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Returns whether two spans of memory, from an address to before another, have a byte in common."""
    return max(a[0], b[0]) < min(a[1], b[1])


def _strides(array) -> tuple:
    """In elements, or of NumPy in bytes."""
    return tuple(array.stride()) if hasattr(array, "stride") else tuple(getattr(array, "strides", None) or ())


def _span(array, shape: tuple, strides: tuple) -> tuple[int, int]:
    """Returns the address of the first element and that after the last one."""
    size = array.element_size() if hasattr(array, "element_size") else array.itemsize
    unit = size if hasattr(array, "stride") else 1
    if 0 in shape:
        size = 0
    steps = [(n - 1) * step * unit for n, step in zip(shape, strides, strict=False) if n]
    first = array.data_ptr() if hasattr(array, "data_ptr") else array.__array_interface__["data"][0]
    return first + sum(step for step in steps if step < 0), first + sum(s for s in steps if s > 0) + size
