"""The memory of a launch's arguments: which blocks it is, what is in them, and what each argument is of
them. Arguments that share memory share a block, so that a case has it once and runs with it shared."""

from __future__ import annotations

import ctypes
import dataclasses
import sys

import numpy

from triton_runner import _memory, _uninit
from triton_runner._arrays import ArrayArgument, bytes_of
from triton_runner._errors import fail
from triton_runner._files import DTYPES, numpy_named

_OURS = {theirs: ours for ours, (theirs, _) in DTYPES.items()}


@dataclasses.dataclass
class View:
    """What an argument is of a block: elements of a type from an offset (in bytes) on, shape and strides (in
    elements)."""

    block: int
    offset: int
    dtype: str  # as arguments name it: "f16"
    shape: tuple
    strides: tuple

    def of(self, data: numpy.ndarray) -> numpy.ndarray:
        """The elements in the bytes of the block."""
        kind = numpy_named(DTYPES[self.dtype][0])
        steps = [step * kind.itemsize for step in self.strides]
        return numpy.ndarray(self.shape, kind, data, self.offset, steps)

    def is_whole(self, nbytes: int) -> bool:
        """Whether it is all of a block of so many bytes, in order."""
        kind = numpy_named(DTYPES[self.dtype][0])
        count = int(numpy.prod(self.shape, dtype=numpy.int64))
        steps, expected = 1, []
        for extent in reversed(self.shape):
            expected.insert(0, steps)
            steps *= extent
        is_dense = all(a == b or n == 1 for a, b, n in zip(self.strides, expected, self.shape, strict=True))
        return self.offset == 0 and count * kind.itemsize == nbytes and is_dense


def is_descriptor(value) -> bool:
    """Whether a value is a host-side tensor descriptor."""
    return hasattr(value, "block_shape") and hasattr(value, "base") and hasattr(value, "strides")


def is_array(value) -> bool:
    return not is_descriptor(value) and (
        hasattr(value, "data_ptr") or (hasattr(value, "__array_interface__") and len(value.shape) > 0)
    )


class Contents:
    """The arguments of a launch (name, value) with the blocks that they lie in, as they are now; on a GPU a
    copy of them. put_back() makes them so again, taken() gives what they hold meanwhile."""

    def __init__(self, named: list):
        self.named = list(named)
        self.views: dict[str, View] = {}
        self._blocks: list[tuple] = []  # (address, bytes, whether it can be written, owner)
        for name, value in self.named:
            array = value.base if is_descriptor(value) else value
            if is_array(array):
                self.views[name] = self._view(name, array)
        self.saved, self._undefined = self.state()

    def _view(self, name: str, value) -> View:
        address, dtype = _address(value), _dtype(name, value)
        shape = tuple(int(n) for n in getattr(value, "shape", ()))
        if hasattr(value, "stride"):
            strides = tuple(int(n) for n in value.stride())
        elif getattr(value, "strides", None):
            strides = tuple(n // value.itemsize for n in value.strides)
        else:
            strides = tuple(int(numpy.prod(shape[i + 1 :])) for i in range(len(shape)))
        start, size, writable, owner = _block_of(value, address)
        for number, (known, length, *_) in enumerate(self._blocks):
            if known <= start and start + size <= known + length:
                return View(number, address - known, dtype, shape, strides)
        self._blocks.append((start, size, writable, owner))
        return View(len(self._blocks) - 1, address - start, dtype, shape, strides)

    @property
    def nbytes(self) -> int:
        return sum(size for _, size, *_ in self._blocks)

    def address(self, block: int) -> int:
        """Where a block lies."""
        return self._blocks[block][0]

    def taken(self) -> list[numpy.ndarray]:
        """The bytes of the blocks as they are now."""
        return [_read(*block) for block in self._blocks]

    def state(self) -> tuple:
        """What the blocks hold now, and what of torch.empty's memory nobody has written yet."""
        return self.taken(), _uninit.snapshot()

    def put_back(self, state: tuple | None = None) -> None:
        """Makes a state() so again; that of the first."""
        blocks, undefined = state or (self.saved, self._undefined)
        for (address, size, writable, owner), data in zip(self._blocks, blocks, strict=True):
            if _is_device(owner):
                import torch

                bytes_of(owner).copy_(torch.from_numpy(data))
            elif writable and not numpy.array_equal(here := _bytes_at(address, size), data):
                here[:] = data
        _uninit.put_back(undefined)

    def arrays(self, blocks: list[numpy.ndarray]) -> dict[str, numpy.ndarray]:
        """The arguments' elements in the bytes of the blocks, by name."""
        return {name: view.of(blocks[view.block]) for name, view in self.views.items()}


def pointer(view: View, block: numpy.ndarray) -> ArrayArgument:
    """An argument that lies in an array of bytes, as launches take it."""
    at = block.__array_interface__["data"][0] + view.offset
    made = ArrayArgument(block, at, DTYPES[view.dtype][0])
    made.shape = view.shape
    return made


def _address(value) -> int:
    return value.data_ptr() if hasattr(value, "data_ptr") else value.__array_interface__["data"][0]


def _dtype(name: str, value) -> str:
    text = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if text in _OURS:
        return _OURS[text]
    import triton.language as tl

    for ours, (theirs, _) in DTYPES.items():  # of Triton's own views: triton.reinterpret
        if text == str(getattr(tl, theirs, "")) or text == ours:
            return ours
    raise fail(f"argument '{name}' has elements of {text or 'no type'}", f"types: {', '.join(DTYPES)}")


def _is_device(owner) -> bool:
    return getattr(getattr(owner, "device", None), "type", "cpu") != "cpu"  # NumPy's is a text


def _block_of(value, address: int) -> tuple:
    """(address, bytes, writable, owner) of all the memory that an argument belongs to."""
    torch = sys.modules.get("torch")
    tensor = value
    while torch is not None and not isinstance(tensor, torch.Tensor) and hasattr(tensor, "base"):
        tensor = tensor.base  # a view of Triton's
    if torch is not None and isinstance(tensor, torch.Tensor):
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes(), True, storage
    if isinstance(value, numpy.ndarray):
        whole = value
        while isinstance(whole.base, numpy.ndarray) and whole.base.flags.c_contiguous:
            whole = whole.base
        return whole.__array_interface__["data"][0], whole.nbytes, value.flags.writeable, whole
    if isinstance(value, ArrayArgument):
        return value.base.__array_interface__["data"][0], value.base.nbytes, True, value.base
    found = _memory.around(value, address)
    if found is None:
        raise fail(
            f"an argument is memory at {address:#x} of unknown size",
            "triton_runner.register_memory(address, nbytes) tells it",
        )
    start, size, _, writable, owner = found
    return start, size, writable, owner


def _bytes_at(address: int, size: int) -> numpy.ndarray:
    return numpy.frombuffer((ctypes.c_uint8 * size).from_address(address), numpy.uint8) if size else _NONE


_NONE = numpy.zeros(0, numpy.uint8)


def _read(address: int, size: int, writable: bool, owner) -> numpy.ndarray:
    if _is_device(owner):
        return bytes_of(owner).cpu().numpy().copy()
    return _bytes_at(address, size).copy()
