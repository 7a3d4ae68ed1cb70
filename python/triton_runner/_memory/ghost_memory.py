"""Ghost is an array of any size that takes memory only where it is written. As a torch tensor it is in
ghost_tensor.py.

A ghost has addresses of its own, so that launches read and write it as any other argument. What was never
written is a function of the index, which repeats itself: all pages of the array are copies of the same few
ones until somebody writes to them (mmap, MAP_PRIVATE and MAP_NORESERVE)."""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import os
import weakref

import numpy

from triton_runner._base.errors import fail

SMALLEST_PERIOD = 1 << 20  # elements after which the function of the index repeats itself, at least
_MOST_MAPS = 16384  # of the 65,530 that Linux allows a process
_FLAGS = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0x4000)
_FIXED = 0x10


@functools.cache
def _libc():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


def _map(address: int, size: int, flags: int, file: int = -1) -> int:
    at = _libc().mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, _FLAGS | flags, file, 0)
    if at == ctypes.c_void_p(-1).value:
        reason = os.strerror(ctypes.get_errno())
        hint = "vm.overcommit_memory = 2 reserves memory for all of it; 0 and 1 do not"
        raise fail(f"a ghost of {size / 2**30:,.1f} GiB has no room: {reason}", hint)
    return at


class Ghost:
    """The memory of one: `array` is all of it. fill: a number, or a function that gives the elements for an
    array of indices; it is asked for the first `period` of them, and all others repeat these."""

    def __init__(self, shape, dtype: numpy.dtype, fill=0):
        self.shape, self.dtype, self.fill = tuple(shape), dtype, fill
        self.count = math.prod(self.shape)
        self.nbytes = max(self.count * dtype.itemsize, 1)
        most = -(-self.nbytes // (_MOST_MAPS * dtype.itemsize))
        self.period = 1 << max(most - 1, SMALLEST_PERIOD - 1).bit_length()
        self.address = _map(0, self.nbytes, mmap.MAP_ANONYMOUS)
        weakref.finalize(self, _libc().munmap, self.address, self.nbytes)
        if callable(fill) or fill != 0:
            self.refill(fill)
        memory = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        memory.ghost = self  # what looks at the memory keeps it
        self.array = numpy.frombuffer(memory, dtype, self.count).reshape(self.shape)
        _known[self.address] = self

    def pattern(self) -> numpy.ndarray:
        """The elements of the first period."""
        index = numpy.arange(min(self.period, max(self.count, 1)), dtype=numpy.int64)
        values = self.fill(index) if callable(self.fill) else self.fill
        return numpy.ascontiguousarray(
            numpy.broadcast_to(numpy.asarray(values).astype(self.dtype), index.shape)
        )

    def refill(self, fill) -> None:
        """Makes all elements those of another function; what was written is lost."""
        self.fill = fill
        if not callable(fill) and fill == 0:
            _map(self.address, self.nbytes, mmap.MAP_ANONYMOUS | _FIXED)
            return
        chunk = self.period * self.dtype.itemsize
        file = os.memfd_create("ghost")
        try:
            os.ftruncate(file, chunk)
            os.pwrite(file, self.pattern().tobytes(), 0)
            for at in range(0, self.nbytes, chunk):
                _map(self.address + at, min(chunk, self.nbytes - at), _FIXED, file)
        finally:
            os.close(file)

    def written(self) -> numpy.ndarray:
        """The indices, in row-major order, of the elements that are not what they were made as."""
        pattern, found = self.pattern(), []
        flat = self.array.reshape(-1)
        for first, last in self._touched():
            index = numpy.arange(
                first // self.dtype.itemsize, min(-(-last // self.dtype.itemsize), self.count)
            )
            was = pattern[index % self.period]
            differs = flat[index].view(_bits(self.dtype)) != was.view(_bits(self.dtype))
            found.append(index[differs])
        return numpy.concatenate(found) if found else numpy.zeros(0, numpy.int64)

    def _touched(self):
        """(first, last) bytes of runs of pages that are in memory: all that were written are among them."""
        size, page = 1 << 17, mmap.PAGESIZE
        pages = -(-self.nbytes // page)
        with open("/proc/self/pagemap", "rb", buffering=0) as file:
            for start in range(0, pages, size):
                file.seek((self.address // page + start) * 8)
                entries = numpy.frombuffer(file.read(8 * min(size, pages - start)), numpy.uint64)
                there = numpy.flatnonzero(entries >> numpy.uint64(62))  # in memory, or swapped out
                for run in numpy.split(there, numpy.flatnonzero(numpy.diff(there) > 1) + 1):
                    if run.size:
                        yield (start + run[0]) * page, min((start + run[-1] + 1) * page, self.nbytes)


_known: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # by address


def _bits(dtype: numpy.dtype):
    return numpy.dtype(f"u{dtype.itemsize}")


def ghost_at(address: int) -> Ghost | None:
    """The ghost whose memory begins there."""
    return _known.get(address)
