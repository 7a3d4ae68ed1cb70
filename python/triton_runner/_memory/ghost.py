"""Implements triton_runner.ghost(): a tensor of any size, of which only what kernels write takes memory."""

from __future__ import annotations

import sys

import numpy

from triton_runner._base.errors import fail
from triton_runner._memory.files import dtype_named
from triton_runner._memory.ghost_memory import Ghost


def ghost(shape, dtype="f32", fill=0):
    """A tensor (without torch: a NumPy array) of any size that takes memory only where it is written.
    `fill`: what is read elsewhere, a number or a function of an array of row-major indices."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    name = str(dtype).removeprefix("torch.") if not isinstance(dtype, type) else numpy.dtype(dtype).name
    if any(extent < 0 for extent in shape):
        raise fail(f"ghost of shape {shape}", "no dimension is negative")
    memory = Ghost(shape, dtype_named(name), fill)
    if "torch" not in sys.modules:
        return memory.array
    from triton_runner._memory.ghost_tensor import tensor_of  # it loads torch

    return tensor_of(memory, name)
