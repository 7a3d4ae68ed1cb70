"""Records the calls of a function that a program makes while it runs: what each argument was.

Python tells a profiler of each function that is entered, so that a call is seen whoever makes it, under
whatever name, and nothing is put in the function's place."""

from __future__ import annotations

import dataclasses
import os
import sys
import threading

import numpy

from triton_runner._memory.files import kind_of

MOST = 32  # different calls that are kept
_LOOKED_AT = 1 << 22  # elements of a tensor
_KEPT = 1 << 16  # elements of integers that are kept as they were


@dataclasses.dataclass(frozen=True)
class SeenTensor:
    """A tensor argument. low, high: of its elements; data: the integers; order: what these are, by the words
    of `Values`, "" where they are in no order that a function may rest on; other: the one negative integer
    among others that are not, None if there is none or several."""

    shape: tuple
    strides: tuple
    dtype: str
    device: str
    library: str
    grad: bool
    low: float = dataclasses.field(repr=False)
    high: float = dataclasses.field(repr=False)
    order: str = ""
    other: int | None = None
    data: object = dataclasses.field(default=None, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class SeenCall:
    """A call: the arguments by name, those of *args and **kwargs by these names."""

    arguments: dict
    starred: str
    keywords: tuple


class Recorder:
    """Context manager: keeps the calls of a function of a file. `calls`: those that differ; `namespace`: the
    globals of the file, once it has begun to run."""

    def __init__(self, file: str, name: str):
        self.calls: list[SeenCall] = []
        self.namespace: dict | None = None
        self.count = 0
        self._file, self._name = os.path.realpath(file), name
        self._is_file: dict[str, bool] = {}
        self._known: set[str] = set()

    def __enter__(self) -> Recorder:
        self._before = sys.getprofile()
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        return self

    def __exit__(self, *error) -> None:
        before = self._before if callable(self._before) else None  # cProfile's cannot be put back
        sys.setprofile(before)
        threading.setprofile(before)

    def _see(self, frame, event: str, argument) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = getattr(code, "co_qualname", self._name)  # Python 3.10 keeps none
        is_asked = name == self._name and code.co_name == self._name.rpartition(".")[2]
        if not is_asked and code.co_name != "<module>":
            return
        if code.co_filename not in self._is_file:
            self._is_file[code.co_filename] = os.path.realpath(code.co_filename) == self._file
        if not self._is_file[code.co_filename]:
            return
        self.namespace = frame.f_globals
        if code.co_name != "<module>":
            self.count += 1
            if len(self.calls) < MOST:
                self._keep(_call(code, frame.f_locals))

    def _keep(self, call: SeenCall) -> None:
        key = repr(call)
        if key not in self._known:
            self._known.add(key)
            self.calls.append(call)


_VARIABLE, _KEYWORDS = 4, 8  # of a code's flags


def _call(code, given: dict) -> SeenCall:
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    arguments = {name: _seen(given[name]) for name in names if name in given}
    starred, extra, keywords = "", count, ()
    if code.co_flags & _VARIABLE:
        starred = code.co_varnames[extra]
        arguments[starred] = _seen(given[starred])
        extra += 1
    if code.co_flags & _KEYWORDS:
        more = given[code.co_varnames[extra]]
        keywords = tuple(more)
        arguments |= {name: _seen(value) for name, value in more.items()}
    only = code.co_varnames[code.co_argcount : count]
    return SeenCall(arguments, starred, (*only, *keywords))


def _seen(value):
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _seen_tensor(value)
    if isinstance(value, numpy.ndarray):
        strides = tuple(step // value.itemsize for step in value.strides)
        return _described(value, value.shape, strides, kind_of(value.dtype), "cpu", "numpy", False)
    if type(value) in (list, tuple):
        return type(value)(_seen(item) for item in value)
    return value


def _seen_tensor(value):
    import torch

    dtype, device = kind_of(value.dtype), value.device.type
    shape, strides = tuple(value.shape), tuple(value.stride())
    flat = value.detach()
    if flat.numel() > _LOOKED_AT:
        return SeenTensor(shape, strides, dtype, device, "torch", value.requires_grad, -1.0, 1.0)
    if flat.dtype.is_floating_point:
        flat = flat.to(torch.float64)
    array = flat.cpu().numpy() if not flat.dtype.is_complex else numpy.zeros(0)
    return _described(array, shape, strides, dtype, device, "torch", value.requires_grad)


def _described(array, shape, strides, dtype, device, library, grad) -> SeenTensor:
    is_whole = array.dtype.kind in "iu"
    some = array[numpy.isfinite(array)] if array.dtype.kind == "f" else array
    other = _other(array) if is_whole else None
    some = some[some != other] if other is not None else some
    low, high = (
        (float(some.min()), float(some.max())) if some.size and array.dtype.kind != "b" else (0.0, 1.0)
    )
    data = array.copy() if is_whole and array.size <= _KEPT else None
    order = _order(data, other) if data is not None else ""
    return SeenTensor(tuple(shape), strides, dtype, device, library, grad, low, high, order, other, data)


def _other(array) -> int | None:
    """The one negative integer, where all others are not negative."""
    below = numpy.unique(array[array < 0]) if array.size else array
    return int(below[0]) if below.size == 1 and bool((array >= 0).any()) else None


def _order(array, other: int | None) -> str:
    if array.ndim == 0 or array.size < 2:
        return ""
    if array.ndim == 1 and array[0] == 0 and other is None:
        steps = numpy.diff(array)
        if (steps == 1).all():
            return "counting"
        if (steps >= 0).all():
            return "offsets"
    counted = array if other is None else array[array != other]
    if numpy.unique(counted).size == counted.size > 1:
        return "distinct"
    rows = numpy.sort(array.reshape(-1, array.shape[-1]), 1)
    is_distinct = array.shape[-1] > 1 and bool((numpy.diff(rows, axis=1) != 0).all())
    return "distinct in rows" if is_distinct and other is None else ""
