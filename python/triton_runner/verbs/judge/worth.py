"""Tells launches that compute from those that only move, scale or set numbers, and finds a result that torch
had without any launch: a softmax of torch's that a kernel doubles after it was halved is still torch's."""

from __future__ import annotations

import numpy

from triton_runner._memory.difference import tolerance
from triton_runner._memory.files import kind_of

_FEW = 8  # elements below which a line through the numbers says nothing
_TERMS, _ROWS = 6, 4096  # of a sum: how many, and by how many elements its factors are found
_MOST = 64  # results of torch that are looked at
_ROUNDING = {"float64": 1e-12, "float32": 1e-6, "float16": 1e-3}  # of a product and a sum

# Operators of a task that a kernel may well be alone with, though it only scales or sets some numbers.
_MINOR = {
    "mul", "add", "sub", "rsub", "div", "neg", "index_add", "scatter_add", "addcmul", "lerp",
}  # fmt: skip
_ORDERING = {
    "sort", "argsort", "msort", "topk", "flip", "roll", "index", "take", "gather", "embedding", "rot90",
    "where", "masked_fill", "index_put", "_index_put_impl", "index_fill", "index_copy", "scatter",
    "masked_scatter", "kthvalue", "pixel_shuffle", "im2col", "col2im", "tril", "triu",
}  # fmt: skip


def missing(wanted: list[str], theirs: list[str]) -> set[str]:
    """The operators of a task that torch does not do in an answer, or less often."""
    return {name for name in wanted if theirs.count(name) < wanted.count(name)}


def is_minor(names: set[str]) -> bool:
    """Whether a kernel that only scales, moves or sets numbers may do all of these operators."""
    return names <= _MINOR | _ORDERING


def is_ordering(names: set[str]) -> bool:
    """Whether a kernel that only moves numbers does one of these operators."""
    return bool(names & _ORDERING)


def _numbers(array: numpy.ndarray) -> numpy.ndarray:
    return numpy.sort(array.astype(numpy.float64).reshape(-1))


def _near(x, y, allowed: float) -> bool:
    with numpy.errstate(all="ignore"):
        return bool(numpy.all((x == y) | (numpy.isnan(x) & numpy.isnan(y)) | (numpy.abs(x - y) <= allowed)))


def likeness(array: numpy.ndarray, source: numpy.ndarray, type_: str = "") -> str | None:
    """How an array follows from another one, in whatever order its elements stand: "copied", "scaled" (a line
    through all of them), or not at all."""
    if array.size != source.size or not array.size or "c" in (array.dtype.kind, source.dtype.kind):
        return None
    x, y = _numbers(source), _numbers(array)
    rounding = _ROUNDING.get(type_ or str(array.dtype), 0.0 if array.dtype.kind in "iub" else 8e-3)
    finite = numpy.isfinite(y)
    if not numpy.array_equal(finite, numpy.isfinite(x)):
        return None
    x, y = x[finite], y[finite]
    largest = float(numpy.abs(y).max(initial=0.0))
    if _near(x, y, rounding * largest):
        return "copied"
    if y.size < _FEW or x[0] == x[-1] or y[0] == y[-1]:
        return None
    for ends in ((0, -1), (-1, 0)):
        slope = (y[ends[1]] - y[ends[0]]) / (x[-1] - x[0])
        line = slope * x + (y[ends[0]] - slope * x[0])
        size = max(largest, abs(slope) * float(numpy.abs(x).max()))
        if _near(numpy.sort(line), y, 2 * rounding * size):
            return "scaled"
    return None


def kind(array, before, where, inputs: list, numbers: list) -> str:
    """Tells what a launch does to an array, of which `where` has changed: "set" (to one number), "copied",
    "scaled", or "computed". inputs: arrays that it may read, as they were; numbers: what it is passed."""
    changed = array[where].astype(numpy.float64)
    if changed.size > 1 and (changed == changed[0]).all():
        return "set"
    if any(_near(changed, float(number), 1e-6 * abs(float(number))) for number in numbers):
        return "set"
    if where.all():
        found = {likeness(array, one) for one in inputs}
    else:
        same = [one[where] for one in inputs if one.shape == array.shape]
        same += [one for one in inputs if one.size == changed.size]
        found = {likeness(array[where], one) for one in same}
        found |= {likeness(array, one) for one in inputs}
    if not found - {None} and _is_sum_of(array, inputs):
        found.add("scaled")
    return "copied" if "copied" in found else "scaled" if "scaled" in found else "computed"


def _is_sum_of(array, inputs: list) -> bool:
    """Whether an array is a sum of other ones, each times a number."""
    same = [one.astype(numpy.float64).reshape(-1) for one in inputs if one.shape == array.shape]
    same = [one for one in same if numpy.isfinite(one).all()]
    if not 2 <= len(same) <= _TERMS or array.size < _FEW * len(same) or array.dtype.kind not in "fV":
        return False
    y, terms = array.astype(numpy.float64).reshape(-1), numpy.stack([*same, numpy.ones(array.size)], 1)
    if not numpy.isfinite(y).all():
        return False
    some = numpy.linspace(0, array.size - 1, min(array.size, _ROWS)).astype(int)
    factors = numpy.linalg.lstsq(terms[some], y[some], rcond=None)[0]
    largest = float((numpy.abs(terms) * numpy.abs(factors)).max())
    return _near(terms @ factors, y, 4 * _ROUNDING.get(str(array.dtype), 8e-3) * largest)


class Torch:
    """Keeps what operators of torch have computed in a call without what launches have computed."""

    def __init__(self):
        self._made: list = []
        self._moved: list = []
        self._kernels: set = set()  # memory that holds what a launch has computed, by address

    def launched(self, tensor, kind: str) -> None:
        """A launch of that kind has written to a tensor."""
        if hasattr(tensor, "untyped_storage"):
            address = _address(tensor)
            self._made = [one for one in self._made if _address(one) != address]
            if kind == "computed":
                self._kernels.add(address)

    def computed(self, given: list, made: list, is_move: bool) -> None:
        """An operator."""
        theirs = {_address(tensor) for tensor in given}
        if theirs & self._kernels:
            self._kernels.update(map(_address, made))
        elif not is_move:
            self._made += made
        else:
            self._moved += [one for one in made if theirs and _address(one) not in theirs]

    def share(self, results: list) -> tuple[float, float]:
        """Which part of the elements of results torch had: as they are, and as they are or scaled."""
        count = sum(one.numel() for one in results)
        exact = near = 0
        for result in results:
            same = [one for one in self._made if one.numel() == result.numel()][-_MOST:]
            is_float = result.is_floating_point()
            if result.is_complex() or (not is_float and result.numel() < 4 * _FEW):
                continue  # few integers agree by chance
            name = str(result.dtype).removeprefix("torch.")
            array = elements(result)
            those = [elements(one) for one in same if not one.is_complex()]
            found = {likeness(array, one, name) for one in those}
            found |= {"copied" for one in those if _is_right(array, one, name)}
            exact += result.numel() * ("copied" in found)
            near += result.numel() * bool(found - {None})
        return (exact / count, near / count) if count else (0.0, 0.0)

    def has_moved(self, results: list, inputs: list) -> bool:
        """Whether torch has put the elements of inputs into the order in memory that the results have."""
        orders = [_in_order(one) for one in inputs]
        moved = [_in_order(one) for one in self._moved[-_MOST:]]
        results = [_in_order(one) for one in results if one.numel() > 1]
        return bool(results) and all(
            any(_equal(result, one) for one in moved) and not any(_equal(result, one) for one in orders)
            for result in results
        )


def _is_right(array, one, name: str) -> bool:
    """Whether a comparison would take one array for the other: noise below what it allows does not make a
    result of torch's a kernel's. Of narrow types too much is below it."""
    allowed = tolerance(kind_of(name))
    if name not in ("float32", "float64") or array.shape != one.shape or array.size < _FEW:
        return False
    return _near(array, one, allowed * float(numpy.abs(one[numpy.isfinite(one)]).max(initial=0.0)))


def _address(tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _in_order(tensor):
    """The elements of a tensor in the order that they have in memory."""
    tensor = tensor.detach()
    return tensor.permute(sorted(range(tensor.dim()), key=lambda d: -tensor.stride(d))).reshape(-1)


def _equal(x, y) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype and bool((x == y).all())


def elements(tensor) -> numpy.ndarray:
    """The elements of a tensor, floats in f64."""
    tensor = tensor.detach()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()
