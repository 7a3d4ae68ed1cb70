"""Marks holds which bytes of a block of memory nobody has written: a bit for each.

The bit of the byte at an address is bit address % 8 of a byte of its own, as launches clear them
(exec::Allocation::undefined). Elements are looked at in parts, so that nothing takes the room of the block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy

from triton_runner._memory.contents import parts_of


class Place(NamedTuple):
    """A view of a block: steps (in bytes) and offset of its elements."""

    shape: tuple
    steps: tuple
    itemsize: int
    offset: int = 0

    @property
    def type(self) -> numpy.dtype:
        return numpy.dtype(f"V{self.itemsize}")


class Marks:
    """The marks of a block at an address. is_written: what all bytes are at first."""

    def __init__(self, address: int, nbytes: int, is_written: bool = False):
        self.nbytes, self._skip = nbytes, address % 8
        self._bits = numpy.full((self._skip + nbytes + 7) // 8, 0 if is_written else 0xFF, numpy.uint8)
        if nbytes:  # what lies around the block does not belong to it
            self._bits[0] &= 0xFF << self._skip & 0xFF
            self._bits[-1] &= 0xFF >> -(self._skip + nbytes) % 8

    @property
    def address(self) -> int:
        return self._bits.ctypes.data

    def copy(self) -> numpy.ndarray:
        return self._bits.copy()

    def put_back(self, bits: numpy.ndarray) -> None:
        """Makes them as they were when copy() gave these."""
        self._bits[:] = bits

    def count(self) -> int:
        """Returns how many bytes nobody has written."""
        return int.from_bytes(self._bits.tobytes(), "little").bit_count()

    def any(self, low: int, high: int) -> bool:
        """Returns whether one of these bytes is, or one that shares a byte of bits with them."""
        return bool(self._bits[(self._skip + low) // 8 : (self._skip + high + 7) // 8].any())

    def flags(self, low: int, high: int) -> numpy.ndarray:
        """Returns the flag of each of these bytes."""
        first, last = self._skip + low, self._skip + high
        bits = numpy.unpackbits(self._bits[first // 8 : (last + 7) // 8], bitorder="little")
        return bits[first % 8 : first % 8 + high - low].view(bool)

    def set_flags(self, low: int, flags: numpy.ndarray) -> None:
        """Makes them these for the bytes from `low` on."""
        first, last = self._skip + low, self._skip + low + flags.size
        bits = numpy.unpackbits(self._bits[first // 8 : (last + 7) // 8], bitorder="little")
        bits[first % 8 : first % 8 + flags.size] = flags
        self._bits[first // 8 : (last + 7) // 8] = numpy.packbits(bits, bitorder="little")

    def parts(self, place: Place):
        """(part, of each of its elements whether it has bytes that nobody wrote), where some have."""
        for part in parts_of(place):
            if self.any(part.low, part.high):
                yield part, _of_elements(self.flags(part.low, part.high), part, place)

    def elements(self, place: Place) -> numpy.ndarray:
        """Returns the flag of each element of a view."""
        out = numpy.zeros(place.shape, bool)
        for part, flags in self.parts(place):
            out[part.index] = flags
        return out

    def set(self, place: Place, flags) -> None:
        """Makes the elements of a view what flags say."""
        flags = numpy.broadcast_to(numpy.asarray(flags, bool), place.shape)
        for part in parts_of(place):
            own = self.flags(part.low, part.high)
            _by_element(own, part, place)[...] = flags[part.index][..., None]
            self.set_flags(part.low, own)


def _by_element(flags: numpy.ndarray, part, place: Place) -> numpy.ndarray:
    """The flags of a part's bytes, by element and byte of it."""
    shape, steps = (*part.shape, place.itemsize), (*place.steps, 1)
    return numpy.ndarray(shape, bool, flags, part.offset - part.low, steps)


def _of_elements(flags: numpy.ndarray, part, place: Place) -> numpy.ndarray:
    """Returns whether any of an element's bytes has its flag."""
    if place.itemsize > 8:
        return _by_element(flags, part, place).any(-1)
    number = f"u{place.itemsize}"  # of which the flags are the bytes
    return numpy.ndarray(part.shape, number, flags, part.offset - part.low, place.steps) != 0
