"""Tells the shapes of what torch makes of tensors, as terms: of views, parts, sums, products and joined
tensors. Any other result has a shape of its own."""

from __future__ import annotations

import math

import torch

from triton_runner.verbs.prove.sizes import note, term_of
from triton_runner.verbs.prove.terms import Poly, equal, le, poly, quotient, remainder

_REDUCED = {
    "sum", "mean", "amax", "amin", "prod", "logsumexp", "norm", "std", "var", "argmax", "argmin", "all",
    "any", "max", "min", "median",
}  # fmt: skip
_PRODUCTS = {"matmul", "mm", "bmm", "__matmul__"}


def derived(name: str, args, kwargs, result, terms) -> list[Poly] | None:
    """The shape of a result; None: it is not followed. terms: gives the shape of a tensor."""
    if not args:
        return None
    first = args[0]
    if name in ("cat", "concat", "stack"):
        return _joined(name, args, kwargs, terms)
    if not isinstance(first, torch.Tensor):
        return None
    shape, given = terms(first), _Given(args[1:], kwargs)
    if name in _REDUCED:
        return _reduced(shape, given)
    if name in _PRODUCTS and isinstance(other := given.of("other", 0, given.of("mat2", 0)), torch.Tensor):
        return _product(first, other, terms)
    if name == "__rmatmul__" and isinstance(args[1], torch.Tensor):
        return _product(args[1], first, terms)
    if name == "linear":
        return [*shape[:-1], *terms(given.of("weight", 0))[:-1]]
    if name == "embedding" and isinstance(table := given.of("weight", 0), torch.Tensor):
        return [*shape, terms(table)[-1]]
    if name in ("view_as_real", "view_as_complex"):
        return [*shape, poly(2)] if name == "view_as_real" else shape[:-1]
    make = {
        "unsqueeze": _unsqueezed, "squeeze": _squeezed, "flatten": _flattened, "expand": _expanded,
        "__getitem__": _part, "select": _selected, "narrow": _narrowed, "chunk": _chunk, "split": _split,
        "unbind": _selected,
    }.get(name)  # fmt: skip
    return make(shape, given, first, result) if make else None


class _Given:
    """The arguments of a function of torch, by name or place."""

    def __init__(self, args, kwargs):
        self.args, self._kwargs = args, kwargs

    def of(self, name: str, place: int, default=None):
        return self._kwargs.get(name, self.args[place] if len(self.args) > place else default)


def _reduced(shape, given: _Given) -> list:
    dims = given.of("dim", 0, given.of("axis", 0))
    keeps = given.of("keepdim", 1, False)
    if dims is None:
        return [poly(1)] * len(shape) if keeps else []
    dims = [int(one) % len(shape) for one in (dims if isinstance(dims, (tuple, list)) else (dims,))]
    return [poly(1) if i in dims else one for i, one in enumerate(shape) if keeps or i not in dims]


def _product(a, b, terms) -> list | None:
    if a.dim() < 2 or b.dim() < 2:
        return None
    batch = a if a.dim() >= b.dim() else b
    return [*terms(batch)[:-2], terms(a)[-2], terms(b)[-1]]


def _joined(name: str, args, kwargs, terms) -> list | None:
    parts = [one for one in args[0] if isinstance(one, torch.Tensor)]
    if not parts:
        return None
    given = _Given(args[1:], kwargs)
    dim, shape = int(given.of("dim", 0, 0)), list(terms(parts[0]))
    if name == "stack":
        shape.insert(dim % (len(shape) + 1), poly(len(parts)))
        return shape
    dim %= len(shape)
    shape[dim] = sum((terms(one)[dim] for one in parts), start=poly(0))
    return shape


def _unsqueezed(shape, given, first, result) -> list:
    at = int(given.of("dim", 0)) % (len(shape) + 1)
    return [*shape[:at], poly(1), *shape[at:]]


def _squeezed(shape, given, first, result) -> list:
    dims = given.of("dim", 0)
    dims = range(len(shape)) if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    gone = {int(one) % len(shape) for one in dims}
    gone = {i for i in gone if int(first.shape[i]) == 1}
    for i in gone:
        note(equal(shape[i], 1), 6)
    return [one for i, one in enumerate(shape) if i not in gone]


def _flattened(shape, given, first, result) -> list:
    start, end = (int(given.of(*one)) % len(shape) for one in (("start_dim", 0, 0), ("end_dim", 1, -1)))
    return [*shape[:start], math.prod(shape[start : end + 1], start=poly(1)), *shape[end + 1 :]]


def _expanded(shape, given, first, result) -> list:
    extents = given.args[0] if given.args and isinstance(given.args[0], (tuple, list)) else given.args
    extents = [*extents]
    own = [poly(1)] * (len(extents) - len(shape)) + list(shape)
    return [one if int(extent) == -1 else term_of(extent) for one, extent in zip(own, extents, strict=True)]


def _selected(shape, given, first, result) -> list:
    dim = int(given.of("dim", 0, 0)) % len(shape)
    return [one for i, one in enumerate(shape) if i != dim]


def _narrowed(shape, given, first, result) -> list:
    dim = int(given.of("dim", 0)) % len(shape)
    return [*shape[:dim], term_of(given.of("length", 2)), *shape[dim + 1 :]]


def _chunk(shape, given, first, result) -> list | None:
    dim, count = int(given.of("dim", 1, 0)) % len(shape), int(given.of("chunks", 0))
    if int(first.shape[dim]) % count:
        return None
    note(equal(remainder(shape[dim], count), 0), 6)
    return [*shape[:dim], quotient(shape[dim], count), *shape[dim + 1 :]]


def _split(shape, given, first, result) -> list | None:
    dim, size = int(given.of("dim", 1, 0)) % len(shape), given.of("split_size_or_sections", 0)
    if not isinstance(size, int) or int(result.shape[dim]) != int(size):
        return None
    return [*shape[:dim], term_of(size), *shape[dim + 1 :]]


def _part(shape, given, first, result) -> list | None:
    """x[...] with whole numbers, slices, None and an ellipsis."""
    index = given.args[0] if isinstance(given.args[0], tuple) else given.args[:1]
    if not all(one is None or one is ... or isinstance(one, (int, slice)) for one in index):
        return None
    if any(isinstance(one, bool) for one in index):
        return None
    taken = sum(one is not None and one is not ... for one in index)
    left = [slice(None)] * (len(shape) - taken)
    at = index.index(...) if ... in index else len(index)
    index = [*index[:at], *left, *index[at + 1 :]]
    found, place = [], 0
    for one in index:
        if one is None:
            found.append(poly(1))
            continue
        if isinstance(one, slice):
            found.append(_length(one, shape[place], int(first.shape[place])))
        place += 1
    return None if None in found else found


def _length(one: slice, term: Poly, extent: int) -> Poly | None:
    """The length of a slice: its ends are where they are in this launch, before the end or at it."""
    if one.step not in (None, 1):
        return None
    start, stop = 0 if one.start is None else one.start, extent if one.stop is None else one.stop
    if not isinstance(start, int) or not isinstance(stop, int):
        return None
    first = term_of(start) if start >= 0 else term + term_of(start)
    if one.stop is None or int(stop) == extent:
        return term - first
    if int(stop) > extent:
        note(le(term, term_of(stop)), 7)
        return term - first
    last = term_of(stop) if stop >= 0 else term + term_of(stop)
    note(le(last, term), 7)
    return last - first
