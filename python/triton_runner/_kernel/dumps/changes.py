"""Finds what stores in a kernel change, for each dump: its outputs, shared memory, registers and waits,
beside those of the plain kernel."""

from __future__ import annotations

import collections
import functools
import re

from triton_runner import _core
from triton_runner._artifact.compiled_kernel import Compiled
from triton_runner._base.errors import fail
from triton_runner._memory.arguments import Arguments, has_memory

_COMPARED = 1 << 30  # bytes of arguments that are copied to compare outputs
_WAITS = {
    "ptx": r"bar\.(?:warp\.)?sync|barrier\.(?:cta\.)?sync|barrier\.cluster\.wait"
    r"|cp\.async\.wait_(?:group|all)|cp\.async\.bulk\.wait_group|wgmma\.wait_group|mbarrier\.(?:try|test)_wait|tcgen05\.wait",
    "amdgcn": r"s_waitcnt\w*|s_wait_\w+|s_barrier\w*",
}


class Copies:
    """A launch's arguments, and copies of them, of which the plain kernel makes what it does."""

    def __init__(self, named: list):
        self.own = Arguments([pair for pair in named if has_memory(pair[1])])
        self.taken = 0 < self.own.nbytes <= _COMPARED
        self._copies = self.own.copied() if self.taken else self.own
        self.named = dict(named) | dict(self._copies.named)

    def differing(self) -> list:
        """(name, bytes that differ, bytes) of the arrays that are not what the plain kernel made of them."""
        mine, theirs = self.own.live(), self._copies.live()
        wrong = [int((a != b).sum()) for a, b in zip(mine, theirs, strict=True)]
        views = self.own.views.items()
        return [(name, wrong[v.block], mine[v.block].size) for name, v in views if wrong[v.block]]


class Before:
    """The facts that are known of the plain kernel."""

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
    limit = _core.max_shared_bytes(made.target)
    if after > limit:
        raise fail(
            f"kernel '{name}' with the stores of this dump needs {after} bytes of shared memory, the device "
            f"has {limit} (without them it needs {before.shared})",
            "dump fewer values, or a value of the TTGIR, which is stored where it lies",
        )


def changes_of(before: Before, made: Compiled, copies: Copies | None) -> list[str]:
    """Returns what the stores changed, a sentence each."""
    sentences = []
    if copies is not None and copies.taken:
        differing = copies.differing()
        sentences += [
            f"outputs: {wrong} of {size} bytes of '{name}' differ from those of the plain kernel"
            for name, wrong, size in differing
        ]
        if not differing:
            sentences.append("outputs: the same as the plain kernel's")
    elif copies is not None and copies.own.views:
        sentences.append(f"outputs: not compared, as the arguments have more than {_COMPARED} bytes")
    after = made.shared()
    if before.shared is not None and after is not None:
        sentences.append(_compared("shared memory", before.shared, after, " bytes"))
    registers, now = before.registers, made.registers()
    if registers and now:
        sentences.append(_compared("registers", registers, now, " a thread"))
    pattern = re.compile(_WAITS[before.text_level])
    old, new = (
        collections.Counter(pattern.findall(text)) for text in (before.text, made.asm[before.text_level])
    )
    line = _compared(
        "waits and barriers", sum(old.values()), sum(new.values()), f" in the {before.text_level}"
    )
    changed = [f"{name} {old[name]} -> {new[name]}" for name in sorted(old | new) if old[name] != new[name]]
    return [*sentences, line + (f" ({', '.join(changed)})" if changed else "")]


def _compared(what: str, before: int, after: int, unit: str) -> str:
    return f"{what}: {before}{unit}, unchanged" if before == after else f"{what}: {before} -> {after}{unit}"
