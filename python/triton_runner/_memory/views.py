"""Finds the pieces of memory that a view has elements in. Under check="view" they are all that a launch may
touch: what lies beside them in the storage is memory of the program's, and not of the argument.

A view's elements are those that its shape and strides reach, with repeated ones (expand), in any order
(transpose), overlapping (as_strided) or backwards. The core asks for them
(python/bindings/arguments.cpp)."""

from __future__ import annotations

import numpy

from triton_runner._memory.arguments import strides_of
from triton_runner._memory.arrays import ArrayArgument

_MOST_ELEMENTS = 1 << 28  # of a storage: a byte is kept for each while its pieces are found
_MOST_PIECES = 1 << 18


def pieces(value) -> tuple[str, list[tuple[int, int]]] | None:
    """(what it is, [(address, bytes), ...]) of a tensor or an array; None where its elements are not known.
    Of a view with very many pieces it is one piece, from its lowest to its highest element."""
    while hasattr(value, "base") and not isinstance(value, (ArrayArgument, numpy.ndarray)):
        value = value.base  # seen as another type of the same size (triton.reinterpret)
    size = getattr(value, "itemsize", None) or getattr(getattr(value, "dtype", None), "itemsize", None)
    if size is None or not hasattr(value, "shape"):
        return None
    if not hasattr(value, "untyped_storage") and not hasattr(value, "__array_interface__"):
        return None  # a wrapper: its shape and strides may not be those of its memory
    shape = tuple(int(n) for n in value.shape)
    strides = strides_of(value, shape)
    address = value.data_ptr() if hasattr(value, "data_ptr") else value.__array_interface__["data"][0]
    text = str(value.dtype).removeprefix("torch.")
    text += f"[{', '.join(map(str, shape))}], strides [{', '.join(map(str, strides))}]"
    if 0 in shape:
        return text, [(address, 0)]
    return text, [(address + at * size, count * size) for at, count in _runs(shape, strides)]


def _runs(shape: tuple, strides: tuple) -> list[tuple[int, int]]:
    """(first, count) of the runs of elements that a view has, by offset from its first element."""
    reach = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    low, high = sum(min(one, 0) for one in reach), sum(max(one, 0) for one in reach) + 1
    if high - low > _MOST_ELEMENTS:
        return [(low, high - low)]
    marks = numpy.zeros(high - low + 2, numpy.int8)  # one more at either end, where none is
    numpy.lib.stride_tricks.as_strided(marks[1 - low :], shape, strides)[...] = 1
    edges = numpy.flatnonzero(numpy.diff(marks))
    if edges.size > 2 * _MOST_PIECES:
        return [(low, high - low)]
    return [(low + int(a), int(b - a)) for a, b in edges.reshape(-1, 2)]
