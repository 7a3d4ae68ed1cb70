"""Lays a tensor out in memory: the layouts that are tried, by the words of a case
(doc/reference/shapes.md), and what each makes.

    offset              its storage begins 64 elements before its first one
    misaligned          its address is no multiple of 16
    strided             every second element: y[..., ::2]
    padded(1)           a part of a tensor with a longer dimension 1: y[:, :n]
    transposed(0, 1)    y.transpose(0, 1) of a tensor in order
    expanded(0)         one element for all of dimension 0: y.expand(n, -1)

The shape of a tensor says which of them it may have, in the order in which they are tried: each word once,
as WORDS has them, then the other dimensions."""

from __future__ import annotations

import itertools
import re

from triton_runner.verbs.verify.shapes.domain import Tensor

WORDS = ("strided", "padded", "transposed", "offset", "expanded", "misaligned")
_GAP = 3  # elements after each of a padded dimension
_BEFORE = 64  # elements of the storage before an offset tensor, so that it is as aligned as it was
_FORM = re.compile(r"([a-z]+)(?:\((\d+)(?:, (\d+))?\))?")


def parsed(layout: str) -> tuple[str, tuple[int, ...]]:
    """(word, dimensions) of a layout: ("transposed", (0, 1)) of "transposed(0, 1)"."""
    match = _FORM.fullmatch(layout)
    return match[1], tuple(int(dim) for dim in match.groups()[1:] if dim is not None)


def layouts_of(tensor: Tensor, shape: tuple, is_written: bool) -> list[str]:
    """The layouts that differ from the usual one for a tensor of that shape. is_written: the function writes
    to it, so that its elements may not share memory."""
    if tensor.library == "numpy" or 0 in shape or not shape:
        return []
    by_word = {word: list(_of_word(word, tensor, shape)) for word in WORDS}
    if tensor.aligned:
        by_word["misaligned"] = []
    if tensor.contiguous:
        by_word |= {word: [] for word in WORDS if word not in ("offset", "misaligned")}
    if is_written or tensor.spread or tensor.values.order:  # elements that are to differ cannot be one
        by_word["expanded"] = []
    return told_first(by_word)


def told_first(by_word: dict[str, list]) -> list[str]:
    """Returns the first of each word, then the second of each, and so on."""
    rounds = itertools.zip_longest(*by_word.values())
    return [layout for those in rounds for layout in those if layout is not None]


def _of_word(word: str, tensor: Tensor, shape: tuple):
    order = usual_order(tensor, shape)
    several = [dim for dim in order if shape[dim] > 1]
    if word in ("offset", "misaligned") or (word == "strided" and several):
        yield word
    elif word == "padded":  # the innermost first; what is around it has longer steps then
        for dim in reversed(order):
            if any(shape[outer] > 1 for outer in order[: order.index(dim)]):
                yield f"padded({dim})"
    elif word == "transposed":
        pairs = itertools.combinations(sorted(several), 2)
        for one, other in sorted(pairs, key=lambda pair: (pair[1] - pair[0], -pair[1])):
            yield f"transposed({one}, {other})"
    elif word == "expanded":
        yield from (f"expanded({dim})" for dim in sorted(several))


def usual_order(tensor: Tensor, shape: tuple) -> list[int]:
    """Its dimensions from the outermost in memory to the innermost, without those of stride 0."""
    return list(tensor.order) or [dim for dim in range(len(shape)) if dim not in tensor.spread]


def laid_out(tensor: Tensor, shape: tuple, layout: str, itemsize: int) -> tuple[tuple, int]:
    """(strides, first element) of a tensor in memory of its own. layout: "" for the usual one."""
    word, dims = parsed(layout) if layout else ("", ())
    order, spread = usual_order(tensor, shape), set(tensor.spread)
    if word == "transposed":
        one, other = (order.index(dim) for dim in dims)
        order[one], order[other] = order[other], order[one]
    if word == "expanded":
        order.remove(dims[0])
        spread.add(dims[0])
    strides, step = [0] * len(shape), 2 if word == "strided" else 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1) + (_GAP if word == "padded" and dim in dims else 0)
    offset = {"misaligned": max(4 // itemsize, 1), "offset": _BEFORE}.get(word, 0)
    return tuple(stride if dim not in spread else 0 for dim, stride in enumerate(strides)), offset
