"""Follows, for uninit.py, arrays of np.empty and np.empty_like until somebody writes to them. NumPy tells
nobody what it reads and writes, so that an array counts as a whole: once its numbers have changed otherwise
than by kernels, all of it is written."""

from __future__ import annotations

import contextlib
import functools
import sys

import numpy

from triton_runner._memory import uninit, uninit_arrays


def _recorded(own):
    @functools.wraps(own)
    def make(*args, **kwargs):
        array = own(*args, **kwargs)
        by = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        is_plain = type(array) is numpy.ndarray and array.base is None and not array.dtype.hasobject
        if is_plain and array.ndim and by not in ("numpy", "torch", "triton_runner"):
            uninit.add(array, array.shape, array.strides, array.itemsize)
        return array

    return make


@contextlib.contextmanager
def followed():
    """Inside, the arrays of np.empty and np.empty_like are known, and those that np.asarray makes of a tensor
    know which elements nobody has written."""
    makers = dict.fromkeys(("empty", "empty_like"), _recorded)
    makers |= dict.fromkeys(("array", "asarray", "ascontiguousarray"), uninit_arrays.made_from)
    own = {name: getattr(numpy, name) for name in makers}
    for name, make in own.items():
        setattr(numpy, name, makers[name](make))
    try:
        yield
    finally:
        for name, make in own.items():
            setattr(numpy, name, make)
