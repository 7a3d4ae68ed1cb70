"""Memory that a kernel reaches through pointers which it found in memory: live tensors, and blocks that were
registered."""

from __future__ import annotations

import bisect
import gc
import sys
import weakref

from triton_runner._errors import fail

_addresses: list[int] = []
_sizes: dict[int, tuple[int, str]] = {}


def register_memory(ptr: int, nbytes: int, label: str = "") -> None:
    """Lets kernels on the CPU touch nbytes at ptr. For pointers whose size nobody tells: an object with only
    data_ptr(),
    or an address that is stored in memory. Registering an address again replaces its size; 0 bytes removes
    it."""
    if not isinstance(ptr, int) or not isinstance(nbytes, int) or ptr <= 0 or nbytes < 0:
        raise fail(f"register_memory({ptr!r}, {nbytes!r}): expected an address and a size in bytes")
    if ptr in _sizes:
        _addresses.remove(ptr)
        del _sizes[ptr]
    if nbytes:
        bisect.insort(_addresses, ptr)
        _sizes[ptr] = (nbytes, label or f"registered memory at {ptr:#x}")


# Weak references to the tensors that the last walk over all live objects met, by id: a walk takes
# milliseconds, and a kernel that finds one pointer in memory mostly finds several.
_met: dict[int, weakref.ref] = {}


def _block(tensor, address: int):
    """What resolve() gives if the storage of `tensor` holds the address, else None."""
    if tensor.device.type != "cpu":
        return None
    try:
        storage = tensor.untyped_storage()
        start, size = storage.data_ptr(), storage.nbytes()
    except (RuntimeError, NotImplementedError):
        return None  # tensors without storage: fake, sparse
    if start <= address < start + size:
        return start, size, f"a live tensor ({tensor.dtype}{list(tensor.shape)})", True
    return None


def _live_tensor(torch, address: int):
    for reference in list(_met.values()):
        tensor = reference()
        block = None if tensor is None else _block(tensor, address)
        if block:
            return block
    _met.clear()
    answer = None
    for candidate in gc.get_objects():
        if issubclass(type(candidate), torch.Tensor):
            _met[id(candidate)] = weakref.ref(candidate)
            answer = answer or _block(candidate, address)
    return answer


def blocks() -> list[tuple]:
    """All that resolve() knows: (start, bytes, label, writable) of the live tensors and registered blocks."""
    found = [(start, size, label, True) for start, (size, label) in _sizes.items()]
    torch = sys.modules.get("torch")
    if torch is None:
        return found
    with torch._C.DisableTorchFunction():
        for candidate in gc.get_objects():
            if not issubclass(type(candidate), torch.Tensor) or candidate.device.type != "cpu":
                continue
            try:
                storage = candidate.untyped_storage()
                start, size = storage.data_ptr(), storage.nbytes()
            except (RuntimeError, NotImplementedError):
                continue
            if size:
                label = f"a live tensor ({candidate.dtype}{list(candidate.shape)})"
                found.append((start, size, label, True))
    return found


def resolve(address: int):
    """(start, bytes, label, writable) of the live tensor or registered block that holds `address`, or
    None."""
    torch = sys.modules.get("torch")
    if torch is not None:
        with torch._C.DisableTorchFunction():
            block = _live_tensor(torch, address)
        if block:
            return block
    i = bisect.bisect_right(_addresses, address) - 1
    if i >= 0:
        start = _addresses[i]
        size, label = _sizes[start]
        if address < start + size:
            return start, size, label, True
    return None
