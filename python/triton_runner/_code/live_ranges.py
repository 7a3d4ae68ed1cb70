"""Finds the live ranges of the registers of machine code: which registers hold a value that is still read, at
each instruction. What these values are is found in machine_registers.py.

nvdisasm prints them (-plr) where it is of the generation of the assembler that made the cubin; else they
follow from the instructions (`_core.sass.Function.live`). 4-byte words of the stack frame (STL, LDL) count as
registers of their own, so that what is spilled has live ranges too."""

from __future__ import annotations

import re

from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError
from triton_runner._core import sass

SLOT = sass.FRAME_WORDS  # the number of the first word of the stack frame
_FROM = {"GPR": 0, "UGPR": 256, "PRED": 512, "UPRED": 768}  # register numbers from there on: R0, UR0, P0, UP0
_ROW = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/.*?// \|(.*)\|\s*$")


def bank(register: int) -> str:
    """ "R", "UR", "P", "UP" or "slot"."""
    return "slot" if register >= SLOT else ("R", "UR", "P", "UP")[register >> 8]


def live(function: sass.Function) -> list[frozenset[int]]:
    """Returns what takes a register at each instruction, as nvdisasm counts: what is live before it, and what
    it writes."""
    return [
        frozenset([*function.live(i), *one.writes, *(one.frame if one.does("writes") else ())])
        for i, one in enumerate(function.instructions)
    ]


# --- what nvdisasm says


def of_nvdisasm(cubin: bytes, kernel: str) -> dict[int, frozenset[int]] | None:
    """{address: the registers that are live at the instruction}, by `nvdisasm -plr`; None where none of this
    machine's prints live ranges of this cubin."""
    try:
        return parse(tools.disassembly(cubin, "-plr"), kernel)
    except DiagnosticError:
        return None


def parse(text: str, kernel: str) -> dict[int, frozenset[int]] | None:
    """The live ranges in what `nvdisasm -plr -c` prints. None: there are none."""
    result, banks, heads, inside = {}, None, [], False
    for line in text.splitlines():
        if line.startswith("//----") and ".text." in line:
            inside, banks, heads = line.split()[1] == f".text.{kernel}", None, []
        if not inside or "// |" not in line:
            continue
        cells = line.partition("// |")[2].rstrip().rstrip("|").split("|")
        if (row := _ROW.match(line)) and banks:
            result[int(row[1], 16)] = frozenset(
                number
                for (first, columns), cell in zip(banks, cells, strict=True)
                for number in _marked(columns, cell, first)
            )
        elif any(cell.strip() in _FROM for cell in cells):
            heads = [cell.strip() for cell in cells]
        elif heads and "#" in line:
            banks = [(_FROM[name], cell) for name, cell in zip(heads, cells, strict=True)]
    return result or None


def _marked(head: str, cell: str, first: int):
    """The registers of a bank that are marked in a cell, under the numbers of the head."""
    for match in re.finditer(r"\d+", head):
        part = cell[match.start() : match.end()]
        if part.strip():
            yield first + int(match[0])
