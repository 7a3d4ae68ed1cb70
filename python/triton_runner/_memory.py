"""Memory that a kernel reaches through pointers which it found in memory: live tensors, and blocks that were
registered."""

from __future__ import annotations

import bisect
import gc
import sys

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


def resolve(address: int):
    """(start, bytes, label, writable) of the live tensor or registered block that holds `address`, or
    None."""
    torch = sys.modules.get("torch")
    if torch is not None:
        with torch._C.DisableTorchFunction():
            for candidate in gc.get_objects():
                if issubclass(type(candidate), torch.Tensor) and candidate.device.type == "cpu":
                    try:
                        storage = candidate.untyped_storage()
                        start, size = storage.data_ptr(), storage.nbytes()
                    except (RuntimeError, NotImplementedError):
                        continue  # tensors without storage: fake, sparse
                    if start <= address < start + size:
                        return start, size, f"a live tensor ({candidate.dtype}{list(candidate.shape)})", True
    i = bisect.bisect_right(_addresses, address) - 1
    if i >= 0:
        start = _addresses[i]
        size, label = _sizes[start]
        if address < start + size:
            return start, size, label, True
    return None
