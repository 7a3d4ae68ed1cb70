"""Explains an encoding of Triton's IR: who holds which element of a tensor, where it lies in shared or tensor
memory, and which banks a warp touches. All of it comes from the core's tables; here they get names."""

from __future__ import annotations

import functools
import re

import numpy

from triton_runner._base.errors import fail
from triton_runner._core import layout as _core_layout
from triton_runner._worker import elements
from triton_runner._worker.spelling import option

BANKS = 32


class Layout:
    """An encoding applied to a shape.

    - kind: "blocked", "nvidia_mma", "swizzled_shared", "tensor_memory_encoding", ...
    - memory: where it places elements: "registers", "shared" or "tensor".
    - bases: {input dimension: the image of each of its bits}, as in Triton's linear layouts.
    - places: {name: an array of the shape}: register, lane, warp, block for registers; byte, bank, block for
      shared memory; row, col, block for tensor memory. Where several places hold an element, the array has
      the first.
    - copies: an array of the shape: how many places hold each element.
    """

    def __init__(self, core, text: str, shape: tuple, element: str, aliases: str):
        self._core, self.text, self.shape, self.element = core, text, shape, element
        self._aliases = aliases
        self.kind = core.kind
        self.element_bits = core.element_bits
        self.bases = core.bases
        self.memory = "registers" if core.is_distributed else "shared" if core.is_shared else "tensor"

    @functools.cached_property
    def _tables(self) -> dict:
        return self._core.places()

    @property
    def copies(self) -> numpy.ndarray:
        return self._tables["copies"]

    @functools.cached_property
    def places(self) -> dict[str, numpy.ndarray]:
        tables = {name: table for name, table in self._tables.items() if name != "copies"}
        if self.memory == "shared":
            return {"byte": tables["byte"], "bank": tables["byte"] // 4 % BANKS, **tables}
        return tables

    def size(self, name: str) -> int:
        """Returns the number of registers, lanes, warps, blocks, ..."""
        return 1 << len(self.bases.get(name, ()))

    @property
    def thread(self) -> numpy.ndarray:
        """For registers: the thread in its block that holds each element."""
        return self.places["warp"] * self.size("lane") + self.places["lane"]

    @property
    def shared_bytes(self) -> int:
        """For shared memory: the bytes that a buffer occupies, including padding."""
        return self._core.shared_bytes

    def holders(self, *index: int) -> list[dict]:
        """For registers: returns all places that hold one element, as {"register", "lane", "warp",
        "block"}."""
        if len(index) != len(self.shape) or any(
            not 0 <= i < n for i, n in zip(index, self.shape, strict=True)
        ):
            raise fail(f"element {list(index)} is not in {'x'.join(map(str, self.shape))}")
        names = ("register", "lane", "warp", "block")
        return [dict(zip(names, holder, strict=True)) for holder in self._core.holders(index)]

    def banks(self, registers: str, warp: int = 0, most_bytes: int = 16) -> Banks:
        """For shared memory: returns the banks that a warp accesses when it stores or loads a tensor whose
        encoding is `registers`, with at most `most_bytes` per lane and instruction."""
        held = _core_layout.read(registers, self.shape, self.element, self._aliases)
        return Banks(registers, self._core.banks(held, warp, most_bytes))

    def usual_banks(self) -> dict[str, Banks]:
        """For shared memory: returns the banks that a warp accesses whose lanes are adjacent along a
        dimension, once with one element per lane and once with 16 contiguous bytes per lane."""
        together = next((d for d, step in enumerate(self.bases["offset"][0]) if step), 0)
        counts = {}
        for dim in reversed(range(len(self.shape))):
            for wide in (1, min(max(1, 128 // self.element_bits), self.shape[together])):
                size = wide * self.element_bits // 8
                counts[f"lanes along dimension {dim}, {size} bytes each"] = self.banks(
                    _warp_along(self.shape, dim, together, wide), most_bytes=size
                )
        return counts

    def as_dict(self) -> dict:
        """Returns everything, for JSON."""
        found = {
            "encoding": self.text,
            **_fields(self, "kind", "memory"),
            "shape": list(self.shape),
            **_fields(self, "element", "bases"),
            "places": {name: table.tolist() for name, table in self.places.items()},
            "copies": self.copies.tolist(),
        }
        if self.memory == "shared":
            found["bytes"] = self.shared_bytes
        return found

    def __repr__(self):
        return f"<layout {self.text} on {'x'.join(map(str, self.shape))} of {self.element}>"


class Banks:
    """The instructions that a warp needs to move a tensor between registers and shared memory (ld.shared,
    st.shared). There are 32 banks of 4 bytes; 8 bytes per lane take two turns, 16 bytes four.

    - registers: the tensor's encoding; vector_bytes: how many bytes a lane moves per instruction.
    - accesses: one object per instruction, with registers (those of a lane), bytes (the address offset of
      each lane), turns, fewest (the turns without conflicts) and conflicts.
    """

    def __init__(self, registers: str, core):
        self.registers = registers
        self.vector_bytes = core.vector_bytes
        self.accesses = core.accesses

    @property
    def conflicts(self) -> int:
        """The turns that bank conflicts cost, summed over all accesses."""
        return sum(access.conflicts for access in self.accesses)

    @property
    def turns(self) -> int:
        return sum(access.turns for access in self.accesses)

    def table(self, access: int = 0) -> list[list[int]]:
        """Returns the banks that each lane accesses in one access."""
        words = max(1, self.vector_bytes // 4)
        return [[(byte // 4 + i) % BANKS for i in range(words)] for byte in self.accesses[access].bytes]

    def as_dict(self) -> dict:
        return {
            **_fields(self, "registers", "vector_bytes", "turns", "conflicts"),
            "accesses": [
                _fields(access, "registers", "bytes", "turns", "conflicts") for access in self.accesses
            ],
        }


def _fields(of, *names: str) -> dict:
    return {name: getattr(of, name) for name in names}


def layout(encoding: str, shape, element: str = "f16", aliases: str = "") -> Layout:
    """Evaluates an encoding for a tensor or buffer of `shape`.

    - encoding: its text, "#ttg.blocked<{...}>" of any release, or a name of `aliases`, "#blocked".
    - shape: a tuple, or "64x64"; powers of two.
    - element: the type of an element: f16, f32, i8, ...
    - aliases: the text of a module (TTGIR) whose names of encodings may be used.
    """
    sizes = parse_shape(shape) if isinstance(shape, str) else tuple(int(size) for size in shape)
    if (row := elements.find(element)) is None:
        raise fail(f"there is no element type {element!r}", elements.KNOWN)
    element = row.name
    if not encoding.lstrip().startswith("#"):
        raise fail(f"{encoding!r} is not an encoding", 'as in "#ttg.blocked<{...}>", or "#blocked" of a file')
    if re.fullmatch(r"#\w+", encoding.strip()) and not aliases:
        raise fail(f"{encoding} is a name that a module defines", f"give its TTGIR: {option('aliases')}")
    return Layout(_core_layout.read(encoding, sizes, element, aliases), encoding, sizes, element, aliases)


def parse_shape(text: str) -> tuple[int, ...]:
    """(64, 64) of "64x64"."""
    try:
        return tuple(int(part) for part in text.replace(",", "x").split("x"))
    except ValueError:
        raise fail(f"{text!r} is not a shape", "as in 64x64, or 128") from None


def _warp_along(shape, dim: int, together: int, wide: int) -> str:
    """The blocked encoding of one warp whose lanes stand side by side along a dimension, each with `wide`
    elements along the dimension `together`."""
    rank = len(shape)
    size, lanes = [1] * rank, [1] * rank
    size[together] = wide
    across = shape[dim] // size[dim]
    lanes[dim] = min(32, max(1, across)) if rank > 1 else 32
    if lanes[dim] < 32:  # the rest of the warp goes along a neighbour
        lanes[dim - 1 if dim else 1] = 32 // lanes[dim]
    order = [dim, *(d for d in reversed(range(rank)) if d != dim)]
    return (
        f"#ttg.blocked<{{sizePerThread = {size}, threadsPerWarp = {lanes}, warpsPerCTA = {[1] * rank}, "
        f"order = {order}}}>"
    )
