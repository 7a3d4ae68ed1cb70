"""Follows, for uninit.py, what tensor.numpy() gives: a view of a tensor some of whose elements nobody has
written knows these elements, and so do its own views and what NumPy computes of it.

    a = y.numpy()          # 20 of 120 elements were never written
    a[:100].sum()          # uses what is written
    (a * inside)[:100]     # run again with other numbers, as torch's operators: which elements depend on them
    a.sum(), a[110], ...   # a number depends on them: a use

tolist() gives numbers of Python; those of such elements say when they are used."""

from __future__ import annotations

import contextlib
import functools

import numpy

from triton_runner._memory import uninit
from triton_runner._memory.marks import Place

_TRIED_MOST = 1 << 24  # elements of a call that is run again: what larger ones give counts as written
# Methods in C, which call nothing that a subclass sees.
_METHODS = """argmax argmin argpartition argsort astype choose compress conj cumprod cumsum diagonal dot
flatten item nonzero repeat round searchsorted take tobytes trace"""
# The result depends on the elements even where other numbers give the same.
_COMPARE = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isclose", "allclose", "isnan",
    "isinf", "isfinite", "array_equal",
}  # fmt: skip
_OF_MEMORY = {"may_share_memory", "shares_memory"}  # they read no elements


class Array(numpy.ndarray):
    """A view of a tensor, or what NumPy made of one, some of whose elements nobody has written."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        return _call(getattr(ufunc, method), name, inputs, options)

    def __array_function__(self, function, types, args, options):
        return _call(function, function.__name__, args, options)

    def __getitem__(self, index):
        plain = _plain(self)
        found = plain[index]
        if isinstance(found, numpy.ndarray) and found.ndim:
            is_view = numpy.may_share_memory(found, plain)
            return view_of(found) if is_view else _marked(found, undefined(self)[index], self)
        numbers = index if isinstance(index, tuple) else (index,)
        if all(isinstance(at, (int, numpy.integer)) for at in numbers) and len(numbers) == self.ndim:
            plain = plain[tuple(slice(at, at + 1 or None) for at in numbers)]  # one element of it
            is_used = _undefined(plain).any()
        else:
            is_used = numpy.any(undefined(self)[index])
        if is_used:
            _use(self, "NumPy")
        return found

    def __iter__(self):
        return iter([self[at] for at in range(len(self))]) if self.ndim else iter(_plain(self))

    def tolist(self):
        return numbers(_plain(self).tolist(), undefined(self), lambda: _use(self, "tolist()"))

    def __reduce__(self):
        return _plain(self).__reduce__()

    def __deepcopy__(self, memo):
        return self.copy()


def _shown(name: str):
    own = getattr(numpy.ndarray, name)

    @functools.wraps(own)
    def show(self, *args):
        if _is_shown(undefined(self)):
            _use(self, "print")
        return own(_plain(self), *args)

    return show


def _method(name: str):
    own = getattr(numpy.ndarray, name)

    @functools.wraps(own)
    def method(self, *args, **options):
        return _call(own, name, (self, *args), options)

    return method


for _name in _METHODS.split():
    setattr(Array, _name, _method(_name))
for _name in ("__float__", "__int__", "__bool__", "__complex__", "__index__", "__contains__"):
    setattr(Array, _name, _method(_name))
for _name in ("__repr__", "__str__", "__format__"):
    setattr(Array, _name, _shown(_name))


def view_of(array: numpy.ndarray) -> numpy.ndarray:
    """The array, as one that knows what nobody has written, if some of its elements are such."""
    return array.view(Array) if type(array) is numpy.ndarray and _undefined(array).any() else array


def made_from(own):
    """A function of NumPy that makes a plain array of whatever it is given."""

    @functools.wraps(own)
    def make(value, *args, **options):
        source = value.__array__() if uninit.is_known() and hasattr(value, "untyped_storage") else value
        if not isinstance(source, Array):
            return own(value, *args, **options)
        result = own(source, *args, **options)
        if numpy.may_share_memory(result, source):
            return view_of(result)
        return _call(own, own.__name__, (source, *args), options)

    return make


def undefined(array: numpy.ndarray) -> numpy.ndarray:
    """Returns which elements of an array nobody has written."""
    return numpy.broadcast_to(_undefined(_plain(array)), array.shape)


def _plain(value):
    return value.view(numpy.ndarray) if isinstance(value, Array) else value


def _block(array: numpy.ndarray):
    block = uninit.find(_plain(array).ctypes.data) if array.size and uninit.is_known() else None
    return block and uninit.settled(block)


def _undefined(array: numpy.ndarray) -> numpy.ndarray:
    block = _block(array)
    if block is None:
        return numpy.zeros((1,) * array.ndim, bool)
    offset = array.ctypes.data - block.address
    return block.marks.elements(Place(array.shape, array.strides, array.itemsize, offset))


def _use(array, how: str) -> None:
    if (block := _block(array)) is not None:
        uninit.use(block, how)


def _is_shown(flags: numpy.ndarray) -> bool:
    """Returns whether printing shows an element that was never written: of a large array those at its
    ends."""
    options = numpy.get_printoptions()
    if flags.size > options["threshold"]:
        for axis, size in enumerate(flags.shape):
            if size > 2 * (edge := options["edgeitems"]):
                flags = numpy.take(flags, [*range(edge), *range(size - edge, size)], axis)
    return bool(flags.any())


# --- calls


def _call(function, name: str, args, options):
    """Calls a function of NumPy, and again with other numbers where nobody has written."""
    found = [one for one in _arrays((args, options)) if isinstance(one, Array) and undefined(one).any()]
    plain_args, plain_options = _with((args, options), _plain)
    if not found or name in _OF_MEMORY or sum(one.size for one in _arrays((args, options))) > _TRIED_MOST:
        return function(*plain_args, **plain_options)
    others = []
    with contextlib.suppress(RuntimeError, IndexError, TypeError, ValueError), numpy.errstate(all="ignore"):
        for number in range(3):
            changed_args, changed_options = _with((args, options), functools.partial(_other, number))
            others.append(function(*changed_args, **changed_options))
    result = function(*plain_args, **plain_options)
    if len(others) == 3:
        touched = found if name in _COMPARE else ()
        return _followed(result, others, found[0], touched, f"NumPy's {name}")
    return result


def _followed(result, others: list, source: Array, touched, how: str):
    """The result, with its elements marked that came out otherwise. touched: arrays that were compared, on
    whose undefined elements the result depends even where it comes out the same."""
    if isinstance(result, (list, tuple)):
        parts = [_followed(one, [other[n] for other in others], source, touched, how)
                 for n, one in enumerate(result)]  # fmt: skip
        return type(result)(parts) if type(result) in (list, tuple) else result
    if result is None or _block(source) is None:  # it has written to the tensor itself
        return result
    if any(numpy.shape(other) != numpy.shape(result) for other in others):
        _use(source, how)
        return result
    flags = numpy.zeros(numpy.shape(result), bool)
    for other in others:
        flags = flags | _differs(other, result)
    for one in touched:
        with contextlib.suppress(ValueError):
            flags = flags | (numpy.broadcast_to(undefined(one), flags.shape) if flags.shape else True)
    if isinstance(result, numpy.ndarray) and result.ndim:
        return _marked(result, flags, source)
    if numpy.any(flags):
        _use(source, how)
    return result


def _differs(one, other):
    if isinstance(one, str):
        return one != other
    is_nan = numpy.logical_and(numpy.not_equal(one, one), numpy.not_equal(other, other))
    return ~(numpy.equal(one, other) | is_nan)


def _marked(result: numpy.ndarray, flags, source: Array) -> numpy.ndarray:
    """An array of its own memory, of which some elements depend on what nobody has written."""
    block = _block(source)
    if _undefined(result).any():  # a view of what is known
        return view_of(result)
    if block is None or not numpy.any(flags) or result.dtype.hasobject:
        return result
    result = result if result.base is None else result.copy()
    copied = uninit.add_copied(result, block)
    copied.marks.set(Place(result.shape, result.strides, result.itemsize), flags)
    copied.hold()
    return result.view(Array)


def _arrays(value) -> list:
    if isinstance(value, dict):
        return _arrays([*value.values()])
    if isinstance(value, (list, tuple)):
        return [array for one in value for array in _arrays(one)]
    return [value] if isinstance(value, numpy.ndarray) else []


def _with(value, change):
    """The arguments with each array as change(array) gives it."""
    if isinstance(value, dict):
        return {name: _with(one, change) for name, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_with(one, change) for one in value)
    return change(value) if isinstance(value, numpy.ndarray) else value


def _other(number: int, array: numpy.ndarray) -> numpy.ndarray:
    """A copy with a number where nobody has written."""
    copy = _plain(array).copy()
    if isinstance(array, Array):
        copy[undefined(array)] = _numbers(copy.dtype)[number]
    return copy


def _numbers(dtype) -> tuple:
    """Returns the numbers that replace an element which nobody has written: they are far from others."""
    if dtype.kind in "iu":
        large = numpy.iinfo(dtype).max // 4
        return 0, large, -large if dtype.kind == "i" else 1
    large = 2.0**30 if dtype.itemsize > 2 else 2.0**14
    return (0, large, -large) if dtype.kind in "fc" else (0, 1, 0)


# --- numbers of Python


def numbers(values, flags, use):
    """The nested lists of tolist(), whose numbers that nobody has written call use() once they are used."""
    if isinstance(values, list):
        flags = numpy.broadcast_to(flags, (len(values), *numpy.shape(flags)[1:]))
        return [numbers(one, flag, use) if numpy.any(flag) else one
                for one, flag in zip(values, flags, strict=True)]  # fmt: skip
    if isinstance(values, (_Float, _Int)):  # under a function mode torch calls tolist() twice
        return values
    kind = {float: _Float, int: _Int}.get(type(values))
    if kind is None:  # no class can be made of bool
        use()
        return values
    number = kind(values)
    number.use = use
    return number


class _Float(float):
    """A number that nobody has written."""


class _Int(int):
    """The same of integers."""


_DUNDERS = """abs add bool ceil complex divmod eq float floor floordiv format ge gt hash index int le lshift
lt mod mul ne neg or pos pow radd rand rdivmod repr rfloordiv rlshift rmod rmul ror round rpow rrshift rshift
rsub rtruediv rxor str sub truediv trunc xor and invert"""


def _used(own):
    @functools.wraps(own)
    def operator(self, *args):
        self.use()
        return own(self, *args)

    return operator


for _class in (_Float, _Int):
    for _name in _DUNDERS.split():
        if own := getattr(_class, f"__{_name}__", None):
            setattr(_class, f"__{_name}__", _used(own))
