"""What stores in a kernel change, found out for each dump: its outputs, shared memory, registers and waits,
beside those of the plain kernel."""

from __future__ import annotations

import collections
import functools
import re

import numpy

from triton_runner import _arrays, _core
from triton_runner._compiled import Compiled
from triton_runner._errors import fail

_COMPARED = 1 << 30  # bytes of arguments that are copied to compare outputs
_WAITS = {
    "ptx": r"bar\.(?:warp\.)?sync|barrier\.(?:cta\.)?sync|barrier\.cluster\.wait"
    r"|cp\.async\.wait_(?:group|all)|cp\.async\.bulk\.wait_group|wgmma\.wait_group|mbarrier\.(?:try|test)_wait|tcgen05\.wait",
    "amdgcn": r"s_waitcnt\w*|s_wait_\w+|s_barrier\w*",
}


class Copies:
    """Copies of a launch's arrays; arrays that share memory share it in the copies."""

    def __init__(self, named: list):
        self.arrays = [(name, value) for name, value in named if _storage(value) is not None]
        storages = {_storage(value)[0]: _storage(value)[1] for _, value in self.arrays}
        self.taken = bool(storages) and sum(storages.values()) <= _COMPARED
        self._made: dict = {}

    def of_one(self, value):
        found = _storage(value)
        if found is None:
            return value
        if isinstance(value, _arrays.ArrayArgument):
            return _arrays.wrap("", self.of_one(value.base))
        if hasattr(value, "untyped_storage"):
            if found[0] not in self._made:
                self._made[found[0]] = value.untyped_storage().clone()
            return _arrays.same_view(value, self._made[found[0]])
        if found[0] not in self._made:
            self._made[found[0]] = value.copy()
        return self._made[found[0]]

    def of(self, values) -> tuple:
        return tuple(self.of_one(value) for value in values)

    def differing(self) -> list:
        """(name, bytes that differ, bytes) of the arrays that are not what the plain kernel made of them."""
        found = []
        for name, value in self.arrays:
            copy = self._made.get(_storage(value)[0])
            if copy is None:
                continue
            if hasattr(value, "untyped_storage"):
                differs = _arrays.bytes_of(value.untyped_storage()) != _arrays.bytes_of(copy)
                wrong, size = int(differs.sum()), copy.nbytes()
            else:
                array = value.base if isinstance(value, _arrays.ArrayArgument) else value
                wrong, size = int((_bytes(array) != _bytes(copy)).sum()), copy.nbytes
            if wrong:
                found.append((name, wrong, size))
        return found


def _bytes(array):
    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)


def _storage(value):
    """(what names an array's memory, its bytes), or None for other things."""
    if isinstance(value, _arrays.ArrayArgument):
        return _storage(value.base)
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    if isinstance(value, numpy.ndarray):
        return value.ctypes.data, value.nbytes
    return None


class Before:
    """What is known of the plain kernel."""

    def __init__(self, compiled: Compiled):
        self.compiled = compiled
        self.text_level = "ptx" if compiled.target.startswith("cuda:") else "amdgcn"

    @functools.cached_property
    def shared(self) -> int | None:
        return self.compiled.shared()

    @functools.cached_property
    def text(self) -> str:
        return self.compiled.asm[self.text_level]

    @functools.cached_property
    def registers(self) -> int | None:
        return self.compiled.registers()


def check_shared(name: str, before: Before, made: Compiled) -> None:
    """Refuses stores that need more shared memory than the device has."""
    after = made.shared() or 0
    kind, arch = made.target.split(":")
    if kind != "cuda" or not arch.isdigit():
        return
    limit = _core.max_shared_bytes(int(arch))
    if after > limit:
        raise fail(
            f"kernel '{name}' with the stores of this dump needs {after} bytes of shared memory, the device "
            f"has {limit} (without them it needs {before.shared})",
            "dump fewer values, or a value of the TTGIR, which is stored where it lies",
        )


def changes_of(before: Before, made: Compiled, copies: Copies | None) -> list[str]:
    """What the stores changed, a sentence each."""
    said = []
    if copies is not None and copies.taken:
        differing = copies.differing()
        said += [
            f"outputs: {wrong} of {size} bytes of '{name}' differ from those of the plain kernel"
            for name, wrong, size in differing
        ]
        if not differing:
            said.append("outputs: the same as the plain kernel's")
    elif copies is not None and copies.arrays:
        said.append(f"outputs: not compared, as the arguments have more than {_COMPARED} bytes")
    after = made.shared()
    if before.shared is not None and after is not None:
        said.append(_compared("shared memory", before.shared, after, " bytes"))
    registers, now = before.registers, made.registers()
    if registers and now:
        said.append(_compared("registers", registers, now, " a thread"))
    pattern = re.compile(_WAITS[before.text_level])
    old, new = (
        collections.Counter(pattern.findall(text)) for text in (before.text, made.asm[before.text_level])
    )
    line = _compared(
        "waits and barriers", sum(old.values()), sum(new.values()), f" in the {before.text_level}"
    )
    changed = [f"{name} {old[name]} -> {new[name]}" for name in sorted(old | new) if old[name] != new[name]]
    return [*said, line + (f" ({', '.join(changed)})" if changed else "")]


def _compared(what: str, before: int, after: int, unit: str) -> str:
    return f"{what}: {before}{unit}, unchanged" if before == after else f"{what}: {before} -> {after}{unit}"
