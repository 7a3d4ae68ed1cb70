"""Reports hazards: control words of machine code that let an instruction read what is not there yet, or
overwrite what was not read yet. Nothing is executed: the core follows every path from a kernel's entry."""

from __future__ import annotations

import dataclasses

from triton_runner import _core
from triton_runner._base import tools
from triton_runner._kernel.lockstep import where


@dataclasses.dataclass(frozen=True)
class Instruction:
    """An instruction of machine code; ptx_line: of the PTX that it was made from, 0: not known; program:
    where in the program, "": not known."""

    address: int
    text: str
    ptx_line: int = 0
    program: str = ""


@dataclasses.dataclass(frozen=True)
class Hazard:
    """at: where it goes wrong; cause: whose result, operand or cache entry it is; register: "R4", "SB2"."""

    message: str
    register: str
    at: Instruction
    cause: Instruction


@dataclasses.dataclass(frozen=True)
class KernelHazards:
    """instructions: that a path reaches; unjudged: of these, whose registers or times are not known."""

    kernel: str
    instructions: int
    unjudged: int
    hazards: list[Hazard]


def of_listing(listing: str, filename: str = "") -> list[KernelHazards]:
    """Finds the hazards in what `nvdisasm -c -hex` prints. Raises DiagnosticError."""
    result = []
    for function in _core.sass.parse(listing, filename):
        hazards, reached, unjudged = function.hazards()
        found = [Hazard(text, reg, _instruction(at), _instruction(by)) for text, reg, at, by in hazards]
        result.append(KernelHazards(function.name, reached, unjudged, found))
    return result


def of_cubin(cubin: bytes, filename: str = "") -> list[KernelHazards]:
    """Finds the hazards of each kernel of a cubin. Raises DiagnosticError: no nvdisasm that reads it."""
    return of_listing(tools.listing(cubin), filename)


def _instruction(one: _core.sass.Instruction) -> Instruction:
    return Instruction(one.address, str(one), one.ptx_line, one.program)


def lines(hazard: Hazard, ptx: str = "") -> list[str]:
    """A hazard in words. ptx: the text that the machine code was made from, where it is at hand."""
    return [f"hazard: {hazard.message}", *_place("at", hazard.at, ptx), *_place("after", hazard.cause, ptx)]


def _place(word: str, instruction: Instruction, ptx: str) -> list[str]:
    result = [f"  {word} {instruction.address:#06x}: {instruction.text}"]
    if instruction.ptx_line:
        of_ptx = where.line_of(ptx, instruction.ptx_line)
        result[0] += f" (line {instruction.ptx_line} of the PTX{': ' + of_ptx if of_ptx else ''})"
    if instruction.program:
        result[0] += f", {instruction.program}"
    return result
