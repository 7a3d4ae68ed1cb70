"""Lists the levels of a kernel's compilation, a row each. Whatever asks what a level is, which levels a
target has or which level comes next asks here."""

from __future__ import annotations

import dataclasses
import os
import re

from triton_runner._base.errors import fail


@dataclasses.dataclass(frozen=True)
class Level:
    """One level of compilation.

    backends: the backends of Triton whose kernels pass through it.
    engine: what runs it on the CPU: "tile" or "simt".
    lowered: whether the engine is given what the text becomes: the next text of its target (executed()).
    when_named: whether the CPU runs it only where somebody asks for it by name.
    pattern: what stands in a text of this level and in none of a level above it; "" of a binary level.
    """

    name: str
    backends: tuple[str, ...] = ("cuda", "hip")
    engine: str = "tile"
    lowered: bool = False
    when_named: bool = False
    pattern: str = ""

    @property
    def is_text(self) -> bool:
        """Returns whether it is a text, and not bytes."""
        return bool(self.pattern)


# In the order of compilation: the next level of a target is the next row that has its backend.
_ROWS = (
    Level("ttir", engine="tile", pattern=r"tt\.func"),
    Level("ttgir", engine="tile", pattern=r'"(?:ttg|triton_gpu)\.'),
    Level("llir", engine="simt", lowered=True, pattern=r"^; ModuleID|^target triple"),
    Level("ptx", ("cuda",), engine="simt", pattern=r'^[^"\n]*(?<!\S)\.entry\s'),
    Level("amdgcn", ("hip",), engine="simt", pattern=r"^\s*\.amdgcn_target"),
    Level("cubin", ("cuda",), engine="simt", when_named=True),
    Level("hsaco", ("hip",), engine="simt", when_named=True),
)
LEVELS = {level.name: level for level in _ROWS}
# Gluon's IR, before Gluon's passes: a stage of Triton since 3.9, whose text is TTGIR to whoever reads it.
GLIR = "glir"
ENDINGS = (*LEVELS, GLIR)  # of the names of files that hold a level
HOLDERS = ("fatbin", "so", "o")  # of those of files that hold cubins
ON_CPU = tuple(LEVELS)
EXECUTED = tuple(level.name for level in _ROWS if not (level.lowered or level.when_named))
MLIR = tuple(level.name for level in _ROWS if level.engine == "tile")


def level_of_name(path) -> str:
    """The level that the end of a file's name says, or "". That of *.glir is TTGIR."""
    ending = os.path.splitext(os.fspath(path))[1][1:]
    return "ttgir" if ending == GLIR else ending if ending in LEVELS else ""


def stage_of(level: str, text, path: str = "") -> str:
    """The stage that made a text of a level. GLIR where Gluon's passes have not run yet: *.glir, the .source
    of a Gluon kernel, and what has a layout that they are to choose."""
    if level != "ttgir":
        return level
    return GLIR if path.endswith((".glir", ".source")) or "#gluon." in text else level


def levels_of(target: str) -> tuple[str, ...]:
    """The levels of a target ("cuda:90") or backend ("cuda"), from the first to the binary."""
    backend = target.split(":")[0]
    return tuple(level.name for level in _ROWS if backend in level.backends)


def levels_below(target: str, level: str) -> tuple[str, ...]:
    """The levels that compilation for a target reaches from `level`."""
    levels = levels_of(target)
    return levels[levels.index(level) + 1 :] if level in levels else ()


def executed(level: str, target: str) -> str:
    """The level that the CPU is given for a level of a target: for LLIR the PTX or the AMDGCN."""
    if level not in LEVELS or not LEVELS[level].lowered:
        return level
    return next(below for below in levels_below(target, level) if LEVELS[below].is_text)


def binary_level(target: str) -> str:
    """The level that a GPU loads: "cubin" or "hsaco"."""
    return levels_of(target)[-1]


def level_of_binary(content: bytes) -> str:
    """The level of machine code by the machine that its ELF header names: "hsaco" of AMD's, else "cubin"."""
    return "hsaco" if content[18:20] == b"\xe0\x00" else "cubin"


def is_above(level: str, other: str) -> bool:
    """Returns whether compilation passes `level` before `other`."""
    return [*LEVELS].index(level) < [*LEVELS].index(other)


def level_of_text(text: str) -> str:
    """The level of a text by what stands in it."""
    for level in reversed(_ROWS):
        if level.pattern and re.search(level.pattern, text, re.M):
            return level.name
    raise fail("the text is not TTIR, TTGIR, LLIR, PTX or AMDGCN", "give a file whose name ends in its level")
