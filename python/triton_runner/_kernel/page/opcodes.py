"""Gives what the page says of an opcode: a sentence (assets/opcodes.txt, sass_opcodes.txt), and for PTX its
section of the PTX ISA."""

from __future__ import annotations

import functools
from pathlib import Path

from triton_runner import _core

ISA = "8.8"  # the version of the PTX ISA whose sections the table of opcodes names


@functools.cache
def sentences(level: str = "ptx") -> dict[str, str]:
    """{opcode, or opcode with its first modifiers: sentence}."""
    name = {"ptx": "opcodes.txt", "sass": "sass_opcodes.txt"}[level]
    lines = (Path(__file__).parent / "assets" / name).read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines)


@functools.cache
def _sections() -> dict[str, str]:
    return {row["opcode"]: row["section"] for row in _core.ptx.opcode_table()}


def of(name: str, level) -> dict[str, str]:
    """{opcode: what the page says of it}, for each that occurs in a level's rows. None: it is missing."""
    out = {}
    known = sentences(name)
    for op in {row.op for row in level.rows.values()} if level else ():
        key = op
        while key and key not in known:
            key = key.rpartition(".")[0]
        if key:
            out[op] = f"{key}: {known[key]}"
            if name == "ptx":
                out[op] += f" PTX ISA {ISA}, section {_sections()[key.partition('.')[0]]}."
    return dict(sorted(out.items()))
