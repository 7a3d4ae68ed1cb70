"""Finds the tensors whose addresses a launch is given in memory or as numbers: tables of pointers, which
grouped products and optimizers of many tensors take. A kernel writes to them, and none is an argument."""

from __future__ import annotations

import sys
import weakref

from triton_runner._memory.registry import living, storage_of

_MOST = 1 << 14  # addresses in a table
_LOWEST = 1 << 16  # no smaller number is an address
_WIDE = ("torch.int64", "torch.uint64")  # torch before 2.3 has no uint64
_RECENT_MOST = 64

_recent: dict[tuple, dict] = {}  # the tensors that were found, by the addresses that were asked for


def tensors(named) -> list[tuple]:
    """(name, tensor) of the live tensors at addresses in the arguments: "*table[3]", "*number"."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    with torch._C.DisableTorchFunction():
        wanted = dict(_addresses(torch, named))
        return _found(torch, wanted) if wanted else []


def pointers(named, found: list[tuple]) -> list[tuple]:
    """(argument, number of its element, name) of each address in the arguments of one of these tensors; of an
    argument that is an address itself the number is None."""
    torch = sys.modules.get("torch")
    by_address = {tensor.data_ptr(): name for name, tensor in found}
    if torch is None or not found:
        return []
    with torch._C.DisableTorchFunction():
        every = [*_numbers(torch, named)]
    return [(name, number, by_address[value]) for name, number, value, _ in every if value in by_address]


def _addresses(torch, named):
    """(name, address) of all numbers that may be addresses."""
    for name, number, address, shape in _numbers(torch, named):
        yield f"*{name}" if number is None else f"*{name}[{_index(number, shape)}]", address


def _numbers(torch, named):
    """(argument, number of its element or None, what is there, its shape) of what may be addresses."""
    for name, value in named:
        if isinstance(value, int) and value >= _LOWEST:
            yield name, None, value, ()
        elif _is_table(torch, value):
            for number, address in enumerate(value.detach().reshape(-1).tolist()):
                if address >= _LOWEST:
                    yield name, number, address, tuple(value.shape)


def _is_table(torch, value) -> bool:
    if not isinstance(value, torch.Tensor) or str(value.dtype) not in _WIDE:
        return False
    return 0 < value.numel() <= _MOST and storage_of(value) is not None


def _index(number: int, shape: tuple) -> str:
    index: list[str] = []
    for count in reversed(shape):
        index.insert(0, str(number % count))
        number //= count
    return ", ".join(index)


def _found(torch, wanted: dict) -> list[tuple]:
    """The largest tensor that begins at each address; each once."""
    key = tuple(wanted.values())
    known = {address: tensor() for address, tensor in _recent.get(key, {}).items()}
    if not known or any(one is None or one.data_ptr() != address for address, one in known.items()):
        known = _live(torch, set(key))
        if len(_recent) >= _RECENT_MOST:
            _recent.clear()
        _recent[key] = {address: weakref.ref(one) for address, one in known.items()}
    named = {address: name for name, address in reversed(wanted.items())}
    return [(named[address], one.detach()) for address, one in known.items()]


def _live(torch, addresses: set) -> dict:
    """The tensors by address, which a walk over all that lives meets."""
    found: dict = {}
    for candidate in living(torch.Tensor):
        if storage_of(candidate) is None:
            continue
        address = candidate.data_ptr()
        if address in addresses and (address not in found or found[address].numel() < candidate.numel()):
            found[address] = candidate
    return found
