"""Makes large random tensors quickly under --quick: numbers for a whole benchmark's memory take longer than
what it measures.

A large tensor of torch.rand or torch.randn has one block of random numbers mapped again and again, copied
page by page where it is written: gigabytes that cost the memory and the time of the block. A launch on
gigabytes of them only measures, so that it runs its first programs, wherever it stands in the program."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import weakref

import torch

from triton_runner import _settings
from triton_runner._launch import launchers
from triton_runner._settings import quick_mode

_LARGE = 1 << 25  # elements
_BLOCK = 4096 * 4099  # whole pages whatever the type, and no multiple of a matrix' rows
_HUGE = 1 << 30  # bytes
_READ_WRITE = 1 | 2
_PRIVATE, _FIXED, _ANONYMOUS, _NORESERVE = 2, 16, 32, 0x4000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

_huge: set[int] = set()  # addresses


def _map(address, size, flags, file):
    mapped = _libc.mmap(address, size, _READ_WRITE, _PRIVATE | _NORESERVE | flags, file, 0)
    if mapped == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), f"mapping {size} bytes of a random tensor")
    return mapped


def _unmap(address, size):
    _huge.discard(address)
    _libc.munmap(address, size)


def repeated(block: torch.Tensor, elements: int) -> torch.Tensor:
    """A tensor of so many elements, those of the block again and again."""
    period, size = block.numel() * block.element_size(), elements * block.element_size()
    file = os.memfd_create("random")
    try:
        os.ftruncate(file, period)
        os.pwrite(file, (ctypes.c_byte * period).from_address(block.data_ptr()), 0)
        address = _map(None, size, _ANONYMOUS, -1)
        for offset in range(0, size, period):
            _map(address + offset, min(period, size - offset), _FIXED, file)
    finally:
        os.close(file)
    memory = (ctypes.c_byte * size).from_address(address)
    weakref.finalize(memory, _unmap, address, size)
    if size > _HUGE:
        _huge.add(address)
    return torch.frombuffer(memory, dtype=block.dtype)


def _like_block(make, shape, options):
    """A large tensor of the shape; None where it is small, or not plain memory of the CPU."""
    if math.prod(shape) <= _LARGE or options.get("out") is not None or options.get("layout") is not None:
        return None
    block = make(_BLOCK, **{**options, "requires_grad": False})
    if block.untyped_storage().device.type != "cpu":
        return None
    quick_mode.say(f"random tensors of more than {_LARGE} elements repeat their first {_BLOCK}")
    return repeated(block, math.prod(shape)).view(shape).requires_grad_(options.get("requires_grad", False))


def _sized(own):
    @functools.wraps(own)
    def random(*size, **options):
        shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        tensor = None
        if shape and all(isinstance(extent, int) for extent in shape):
            tensor = _like_block(own, tuple(shape), options)
        return own(*size, **options) if tensor is None else tensor

    return random


def _like(own, make):
    @functools.wraps(own)
    def random_like(tensor, **options):
        made = None
        if tensor.is_contiguous():
            plain = {"dtype": tensor.dtype, "device": tensor.device, **options}
            plain.pop("memory_format", None)
            made = _like_block(make, tuple(tensor.shape), plain)
        return own(tensor, **options) if made is None else made

    return random_like


def _is_huge(value) -> bool:
    value = getattr(value, "base", value)  # of a descriptor
    return isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() in _huge


def _short_on_huge(launch: launchers.Call, go) -> None:
    """Runs the first programs only of a launch that such memory is passed to."""
    if not _huge or _settings.current().programs or not any(_is_huge(value) for _, value in launch.named):
        return go()
    quick_mode.say("launches elsewhere on random tensors of more than 1 GiB run their first programs, too")
    quick_mode.shortened(go)


def install() -> None:
    """Puts them in torch's place, on systems that can map a file's memory twice."""
    if not hasattr(os, "memfd_create"):
        return
    torch.rand_like, torch.randn_like = (
        _like(torch.rand_like, torch.rand),
        _like(torch.randn_like, torch.randn),
    )
    torch.rand, torch.randn = _sized(torch.rand), _sized(torch.randn)
    launchers.observe(_short_on_huge)
