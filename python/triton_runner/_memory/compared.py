"""Compares what an answer gives with what its task wants, from bytes: exact for integers and booleans; for
floats as far as rounding in the task's own type moves the result from the one in f64.

The allowance of an element is the tolerance of its type (_memory/difference.py) times its size, and for what
cancels 64 times the largest error that the reference itself has, but no more than that tolerance of the
largest element, which bounds what the answer's own roundings explain (perturb=), too. Zeros in
the place of small numbers, or f16 in the place of f32, are outside of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import ml_dtypes
import numpy

from triton_runner._memory.difference import magnitude, plain, tolerance
from triton_runner._memory.files import kind_of, numpy_named

_OWN_ERRORS = 64  # errors of the reference that another order of its sums may have
_ENOUGH, _COARSER = 256, 1.3  # elements by which errors are compared, and what is more than another order
_TF32 = 2e-3  # products whose operands are rounded to 11 bits
MALFORMED = (ValueError, KeyError, IndexError, TypeError, AttributeError)  # of a malformed packed value
_FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # that NumPy itself does not have


@dataclasses.dataclass
class Wrong:
    """The first thing that differs. element: of the tensor `path`; far: how many allowances it is away;
    elements: how many differ, `of` how many."""

    message: str
    path: str = ""
    element: list[int] | None = None
    far: float = float("inf")
    is_own_rule: bool = False
    elements: int = 0
    of: int = 0
    got: float | int | bool | None = None
    want: float | int | bool | None = None


@dataclasses.dataclass
class Rule:
    """own: (rtol, atol) of the task, or None; is_tf32: the answer's products are of tf32; spread: how far
    rounding moves the answer's own result; kinds: the type whose rounding a result has, where that is not its
    own."""

    own: tuple | None = None
    is_tf32: bool = False
    spread: dict = dataclasses.field(default_factory=dict)
    kinds: dict = dataclasses.field(default_factory=dict)


def arrays(text: dict | None, parts: list, path: str = "result") -> dict[str, object]:
    """The arrays and numbers of a packed value, by where they stand. Raises one of MALFORMED."""
    leaves = _leaves(text, path)
    return {place: array(of, parts) if kind == "tensor" else of for place, kind, of in leaves}


def devices(text: dict | None, path: str = "result") -> dict[str, str]:
    """The devices of the tensors of a packed value, by where they stand. Raises one of MALFORMED."""
    return {place: str(of.get("device")) for place, kind, of in _leaves(text, path) if kind == "tensor"}


def _leaves(text: dict | None, path: str) -> Iterator[tuple]:
    """(where it stands, kind, content) of each tensor and number of a packed value."""
    if text is None:
        return
    ((kind, of),) = text.items()
    if kind in ("list", "tuple"):
        for i, item in enumerate(of):
            yield from _leaves(item, f"{path}[{i}]")
    elif kind == "dict":
        for key, value in of:
            key = key if isinstance(key, str) else next(iter(key.values()), None)
            yield from _leaves(value, f"{path}[{key!r}]")
    else:
        yield path, kind, of


def array(text: dict, parts: list) -> numpy.ndarray:
    """The elements of a tensor. Raises ValueError where its strides lead out of its bytes."""
    dtype, data = numpy_named(text["dtype"]), parts[text["part"]]
    steps = [step * dtype.itemsize for step in text["strides"]]
    if 0 in text["shape"]:
        return numpy.zeros(text["shape"], dtype)
    return numpy.ndarray(text["shape"], dtype, data, text["offset"] * dtype.itemsize, steps)


def same(a: dict, b: dict) -> bool:
    """Whether two results hold the same bytes."""
    return a.keys() == b.keys() and all(same_bytes(a[key], b[key]) for key in a)


def same_bytes(x, y) -> bool:
    if isinstance(x, numpy.ndarray) and isinstance(y, numpy.ndarray):
        return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()
    return type(x) is type(y) and x == y


def has_form(got: dict, wanted: dict) -> bool:
    """Whether a result has the parts and the shapes of another one."""
    return got.keys() == wanted.keys() and all(
        getattr(got[key], "shape", None) == getattr(wanted[key], "shape", None) for key in got
    )


def differing(a: dict, b: dict) -> int:
    """How many elements of two results of one form have other bytes."""
    count = 0
    for key in a.keys() & b.keys():
        x, y = a[key], b[key]
        if isinstance(x, numpy.ndarray) and x.shape == y.shape:
            bits = f"V{x.dtype.itemsize}"
            left, right = (numpy.ascontiguousarray(one).view(bits) for one in (x, y))
            count += int((left != right).sum())
    return count


def compare(got: dict, own: dict, exact: dict, rule: Rule) -> Wrong | None:
    """Returns what is wrong with a result. own: the reference's in the task's types; exact: in f64, or {}."""
    if [*got] != [*own]:
        return Wrong(f"it gives {_form(got)} where {_form(own)} is wanted")
    worst = None
    for path, want in own.items():
        one = _compare(path, got[path], want, exact.get(path), rule)
        if one is not None and (worst is None or one.far > worst.far):
            worst = one
    return worst


def _form(values: dict) -> str:
    return "one result" if [*values] == ["result"] else ", ".join(values)


def _compare(path: str, got, own, exact, rule: Rule) -> Wrong | None:
    if not isinstance(own, numpy.ndarray):
        if isinstance(own, float) and isinstance(got, (int, float)):
            got, own = (numpy.array(one, numpy.float32) for one in (got, own))  # as most tasks have numbers
            exact = None if exact is None else numpy.array(float(exact))
        elif isinstance(got, numpy.ndarray) and got.size == 1 and isinstance(own, (int, bool)):
            return (
                None
                if plain(got.reshape(-1)[0]) == own
                else Wrong(f"{path} is {got}, and should be {own}", path)
            )
        else:
            return None if got == own else Wrong(f"{path} is {got!r}, and should be {own!r}", path)
    if not isinstance(got, numpy.ndarray):
        return Wrong(f"{path} is {got!r}, and should be a tensor", path)
    if got.shape != own.shape:
        return Wrong(f"{path} has the shape {list(got.shape)}, and should have {list(own.shape)}", path)
    if got.dtype != own.dtype:
        return Wrong(f"{path} is of {got.dtype}, and should be of {own.dtype}", path)
    if own.dtype.kind != "f" and str(own.dtype) not in _FLOATS:
        where = got.astype(numpy.int64, copy=False) != own.astype(numpy.int64, copy=False)
        if own.dtype.kind == "c":
            where = ~numpy.isclose(got, own, rtol=1e-4, atol=1e-6, equal_nan=True)
        return _wrong(path, got, own, where, numpy.where(where, numpy.inf, 0.0)) if where.any() else None
    with numpy.errstate(all="ignore"):
        return _floats(path, got, own, exact, rule)


def _floats(path: str, got, own, exact, rule: Rule) -> Wrong | None:
    x, y = got.astype(numpy.float64), own.astype(numpy.float64)
    want = precise = (
        y if not isinstance(exact, numpy.ndarray) or exact.shape != y.shape else exact.astype(numpy.float64)
    )
    want = numpy.where(numpy.isfinite(y) & numpy.isfinite(want), want, y)
    if rule.own is not None:
        relative, absolute = rule.own
        fails = ~numpy.isclose(x, y, rtol=relative, atol=absolute, equal_nan=True)
        if fails.any():
            return _wrong(
                path, got, own, fails, numpy.abs(x - y) / (absolute + relative * numpy.abs(y)), True
            )
    kind = rule.kinds.get(path) or kind_of(str(own.dtype))
    relative = max(tolerance(kind), _TF32 if rule.is_tf32 and kind == "f32" else 0.0)
    largest = magnitude(want)
    noise = numpy.abs(y - want)
    own_error = float(numpy.max(noise, initial=0.0, where=numpy.isfinite(noise)))
    is_known = want is not y and not rule.is_tf32
    floor = min(relative * largest, _OWN_ERRORS * own_error) if is_known else relative * largest
    if is_known and (wider := rule.spread.get(path)) is not None:
        floor = floor + min(4 * wider, tolerance(kind) * largest)
    allowed = relative * numpy.abs(want) + floor + 2 * float(ml_dtypes.finfo(own.dtype).smallest_subnormal)
    error = numpy.abs(x - want)
    is_near = numpy.isfinite(want) & (error <= allowed)  # an allowance of an infinity would be infinite
    # A wider type may compute what overflows in the task's own.
    is_near |= numpy.isfinite(precise) & (numpy.abs(x - precise) <= relative * numpy.abs(precise) + floor)
    fine = (x == want) | (numpy.isnan(x) & numpy.isnan(want)) | is_near
    return _wrong(path, got, want, ~fine, error / allowed) if not fine.all() else None


def coarser(got: dict, own: dict, exact: dict) -> dict[str, float]:
    """How far a result is from the one in f64, by how far the reference is, where it is further: of 16 and 8
    bits, whose last rounding is most of the reference's error. By where they stand."""
    found = {}
    for path, one in own.items():
        x, want = got.get(path), exact.get(path)
        if not all(isinstance(each, numpy.ndarray) and each.shape == one.shape for each in (x, want)):
            continue
        if one.dtype.itemsize > 2 or (one.dtype.kind != "f" and str(one.dtype) not in _FLOATS):
            continue
        with numpy.errstate(all="ignore"):
            errors = [each.astype(numpy.float64) - want for each in (x, one)]
        fine = numpy.isfinite(errors[0]) & numpy.isfinite(errors[1])
        if fine.sum() < _ENOUGH:
            continue
        theirs, its = (float(numpy.sqrt(numpy.mean(error[fine] ** 2))) for error in errors)
        if its and theirs > _COARSER * its:
            found[path] = theirs / its
    return found


def _wrong(path: str, got, want, where, far, is_own: bool = False) -> Wrong:
    at = tuple(int(i) for i in numpy.argwhere(where)[0]) if where.ndim else ()
    there, wanted = plain(got[at]), plain(want[at])
    many = f"{int(where.sum())} of {where.size} elements of {path} differ"
    how = " by the task's own rule" if is_own else ""
    place = "[" + ", ".join(map(str, at)) + "]" if at else ""
    message = f"{many}{how}; the first, {place or path}, is {there:.9g} and should be {wanted:.9g}"
    finite = numpy.where(where, numpy.nan_to_num(far, nan=numpy.inf), 0.0)
    far = float(finite.max(initial=0.0))
    return Wrong(message, path, list(at), far, is_own, int(where.sum()), where.size, there, wanted)


def spread(plain_result: dict, others: list[dict]) -> dict[str, float]:
    """How far the floats of a result are from those of runs with other roundings, by where they stand."""
    found: dict = {}
    for path, one in plain_result.items():
        if isinstance(one, numpy.ndarray) and (one.dtype.kind in "fV"):
            for other in others:
                if isinstance(other.get(path), numpy.ndarray) and other[path].shape == one.shape:
                    with numpy.errstate(all="ignore"):
                        error = numpy.abs(one.astype(numpy.float64) - other[path].astype(numpy.float64))
                    size = float(numpy.max(error, initial=0.0, where=numpy.isfinite(error)))
                    found[path] = max(found.get(path, 0.0), size)
    return found
