"""Tells launches that compute from those that only move, scale or set numbers, and finds a result that torch
had without any launch: a softmax of torch's that a kernel doubles after it was halved is still torch's."""

from __future__ import annotations

import numpy

from triton_runner._memory.difference import tolerance
from triton_runner._memory.files import kind_of

_FEW = 8  # elements below which a line through the numbers says nothing
_TERMS, _ROWS = 6, 4096  # of a sum: how many, and by how many elements its factors are found
_MOST = 64  # results of torch that are looked at closely
_MOST_KEPT = 4096  # and those of which three numbers are
_PARTS = 1 << 18  # elements beyond which a number has a like one among them by chance
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
# Those that select numbers, so that what they give is a part of what they are given.
_SELECTING = _ORDERING | {
    "max", "min", "amax", "amin", "aminmax", "median", "nanmedian", "mode", "cummax", "cummin", "maximum",
    "minimum", "fmax", "fmin", "max_pool1d", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
    "max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d", "masked_select", "unique",
    "_unique2",
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


def is_selecting(names: set[str]) -> bool:
    """Whether a kernel that only selects numbers does one of these operators."""
    return bool(names & _SELECTING)


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
        found |= {"copied" for one in inputs if _is_right(array, one)}
    else:
        same = [one[where] for one in inputs if one.shape == array.shape]
        same += [one for one in inputs if one.size == changed.size]
        found = {likeness(array[where], one) for one in same}
        found |= {"copied" for one in same if _is_right(array[where], one.reshape(-1))}
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
        self._names: dict = {}  # of the operators of those, by the tensor's id()
        self._kernels: set = set()  # memory that holds what a launch has computed, by address

    def launched(self, tensor, kind: str) -> None:
        """A launch of that kind has written to a tensor."""
        if hasattr(tensor, "untyped_storage"):
            at = address(tensor)
            self._made = [one for one in self._made if address(one) != at]
            if kind == "computed":
                self._kernels.add(at)

    def computed(self, name: str, given: list, made: list, is_move: bool) -> None:
        """An operator of that name."""
        theirs = {address(tensor) for tensor in given}
        if theirs & self._kernels:
            self._kernels.update(map(address, made))
        elif not is_move:
            self._made += made
            self._names |= {id(one): name for one in made}
        else:
            self._moved += [one for one in made if theirs and address(one) not in theirs]

    def share(self, results: list) -> tuple[float, float, float, dict[str, float]]:
        """Which part of the elements of results torch had: as they are, as they are or scaled, somewhere
        among others, and in pieces of a result, by the operator that gave them."""
        count = sum(one.numel() for one in results)
        exact = near = among = 0
        pieces: dict[str, int] = {}
        for result in results:
            made = [one for one in self._made if one.numel() >= result.numel() and not one.is_complex()]
            is_float = result.is_floating_point()
            if result.is_complex() or (not is_float and result.numel() < 4 * _FEW):
                continue  # few integers agree by chance
            name = str(result.dtype).removeprefix("torch.")
            array = elements(result)
            same = [elements(one) for one in made[-_MOST_KEPT:] if one.numel() == result.numel()]
            more = [elements(one) for one in made[-_MOST:] if one.numel() > result.numel()]
            those = _likeliest(array, same)
            found = {likeness(array, one, name) for one in those}
            found |= {"copied" for one in those if _is_right(array, one, name)}
            found |= {"copied" for one in more if _is_part(array, one, name)}
            exact += result.numel() * ("copied" in found)
            near += result.numel() * bool(found - {None})
            among += result.numel() * any(_is_among(array, one, name) for one in more)
            for one in [one for one in self._made if is_float and one.numel() < result.numel()][-_MOST:]:
                piece = elements(one)
                if piece.dtype.kind == "f" and not _is_even(piece) and _is_part(piece, array, name):
                    of = self._names[id(one)]
                    pieces[of] = pieces.get(of, 0) + piece.size
        if not count:
            return 0.0, 0.0, 0.0, {}
        return exact / count, near / count, among / count, {of: n / count for of, n in pieces.items()}

    def has_moved(self, results: list, inputs: list) -> bool:
        """Whether torch has put the elements of inputs into the order in memory that the results have."""
        orders = [_in_order(one) for one in inputs]
        moved = [_in_order(one) for one in self._moved[-_MOST:]]
        results = [_in_order(one) for one in results if one.numel() > 1]
        return bool(results) and all(
            any(_equal(result, one) for one in moved) and not any(_equal(result, one) for one in orders)
            for result in results
        )


def _is_right(array, one, name: str = "") -> bool:
    """Whether a comparison would take one array for the other: noise below what it allows does not make a
    result of torch's a kernel's. Of narrow types too much is below it."""
    name = name or str(array.dtype)
    if name not in ("float32", "float64") or array.shape != one.shape or array.size < _FEW:
        return False
    if not numpy.array_equal(numpy.isfinite(array), numpy.isfinite(one)) or one.dtype.kind != "f":
        return False
    return _near(array, one, _allowed(one, name))


def _allowed(one, name: str) -> float:
    """How far a comparison lets an element be from that of an array; of narrow types, not at all."""
    largest = float(numpy.abs(one[numpy.isfinite(one)]).max(initial=0.0))
    return tolerance(kind_of(name)) * largest if name in ("float32", "float64") else 0.0


def _likeliest(array, those: list) -> list:
    """The arrays of one size that are like another one by the place of their mean between their ends, which
    neither another order nor a factor changes."""
    if len(those) <= _MOST:
        return those
    want = _place(array)
    far = [min(abs(_place(one) - want), abs(1 - _place(one) - want)) for one in those]
    return [those[i] for i in numpy.argsort(far, kind="stable")[:_MOST]]


def _place(array) -> float:
    finite = array[numpy.isfinite(array)].astype(numpy.float64)
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    return (float(finite.mean()) - low) / (high - low) if high > low else 0.0


def _is_even(array) -> bool:
    """Whether most numbers of an array stand in it more than once, as zeros do."""
    return numpy.unique(array).size < array.size // 2


def _is_part(array, one, name: str) -> bool:
    """Whether an array is a slice of another one, as far as a comparison sees."""
    if array.size < 4 * _FEW:
        return False
    array, one = (each.astype(numpy.float64) for each in (array, one))
    if array.ndim != one.ndim or any(n > m for n, m in zip(array.shape, one.shape, strict=True)):
        array, one = array.reshape(-1), one.reshape(-1)
    allowed, first, last = _allowed(one, name), array.reshape(-1)[0], array.reshape(-1)[-1]
    starts = one[tuple(slice(m - n + 1) for n, m in zip(array.shape, one.shape, strict=True))]
    ends = one[tuple(slice(n - 1, None) for n in array.shape)]
    where = (numpy.abs(starts - first) <= allowed) & (numpy.abs(ends - last) <= allowed)
    for at in numpy.argwhere(where)[:_MOST]:
        if _near(one[tuple(slice(i, i + n) for i, n in zip(at, array.shape, strict=True))], array, allowed):
            return True
    return False


def _is_among(array, one, name: str) -> bool:
    """Whether all elements of an array are among those of another one, in whatever order. Where there are
    many of them, or few that differ, they are by chance."""
    if name not in ("float32", "float64") or one.size > _PARTS or array.size < 4 * _FEW:
        return False
    numbers, those = _numbers(array), _numbers(one)
    if not (numpy.isfinite(numbers).all() and numpy.isfinite(those).all()):
        return False
    if _is_even(numbers):
        return False
    at = numpy.searchsorted(those, numbers).clip(1, those.size - 1)
    far = numpy.minimum(numpy.abs(those[at] - numbers), numpy.abs(those[at - 1] - numbers))
    return bool((far <= _ROUNDING[name] * float(numpy.abs(numbers).max())).all())


def address(tensor) -> int:
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
