"""Tensors of torch.empty, until something writes to them: what check="uninit" knows about global memory."""

from __future__ import annotations

import contextlib
import ctypes
import weakref

from triton_runner import _core
from triton_runner._memory import torch_modes
from triton_runner._memory.registry import storage_of

_blocks: dict[int, _Block] = {}


class _Block:
    """A storage that torch.empty made. `undefined` has one byte a byte of it, which launches clear where they
    write."""

    def __init__(self, tensor, storage):
        self.address = storage.data_ptr()
        self.nbytes = storage.nbytes()
        self.tensor = weakref.ref(tensor)
        self.version = tensor._version
        self.undefined = None

    def unwritten(self) -> bool:
        """Whether no torch op wrote to it: they count in the version that a tensor and its views share."""
        tensor = self.tensor()
        return tensor is not None and tensor._version == self.version

    def marks(self) -> int:
        if self.undefined is None:
            self.undefined = (ctypes.c_uint8 * self.nbytes)()
            ctypes.memset(self.undefined, 1, self.nbytes)
        return ctypes.addressof(self.undefined)


def _record(tensor) -> None:
    if tensor.is_inference() or tensor.numel() == 0:
        return
    if (storage := storage_of(tensor)) is not None:
        _blocks[storage.data_ptr()] = _Block(tensor, storage)


def _forget(tensor) -> None:
    with contextlib.suppress(AttributeError, RuntimeError, NotImplementedError):
        _blocks.pop(tensor.untyped_storage().data_ptr(), None)


def blocks() -> list:
    """(address, bytes, address of the marks) of the storages that nothing wrote to yet: asked by launches."""
    import torch

    with torch._C.DisableTorchFunction():
        for address, block in list(_blocks.items()):
            if not block.unwritten():
                del _blocks[address]
    return [(block.address, block.nbytes, block.marks()) for block in _blocks.values()]


def forget(addresses) -> None:
    """A launch that does not look may have written to the storages of its arguments."""
    for address in addresses:
        for block in list(_blocks.values()):
            if block.address <= address < block.address + block.nbytes:
                del _blocks[block.address]


def snapshot() -> dict:
    """What is known now, for put_back()."""
    return {at: (block, block.undefined and bytes(block.undefined)) for at, block in _blocks.items()}


def put_back(undefined: dict) -> None:
    """Makes what was never written when the snapshot was taken so again: its launch is to be repeated."""
    _blocks.clear()
    for address, (block, marks) in undefined.items():
        _blocks[address] = block
        if block.undefined is not None:
            ctypes.memset(block.undefined, 1, block.nbytes)
            if marks is not None:
                ctypes.memmove(block.undefined, marks, block.nbytes)


def _mode():
    import torch
    from torch.overrides import TorchFunctionMode

    makes = {
        torch.empty,
        torch.empty_like,
        torch.empty_strided,
        torch.empty_permuted,
        torch.Tensor.new_empty,
        torch.Tensor.new_empty_strided,
    }
    # From here on somebody else may write, and torch does not count it.
    lets_go = {torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.__dlpack__, torch.Tensor.data.__get__}

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if function in makes:
                _record(result)
            elif function in lets_go:
                _forget(args[0])
            return result

    return Mode()


class track_empty:
    """Inside the block, launches with check="uninit" treat the memory of torch.empty, empty_like,
    empty_strided, empty_permuted and new_empty as uninitialised, byte by byte, until a kernel or a torch op
    writes it. `triton-runner run --check=uninit` does this for the whole program."""

    def __enter__(self):
        mode = _mode()
        self._left = contextlib.ExitStack()
        self._left.enter_context(mode)
        self._left.enter_context(torch_modes.hidden_from_compile(mode))
        _core.set_tracking(True)
        return self

    def __exit__(self, *error):
        self._left.close()
        return False
