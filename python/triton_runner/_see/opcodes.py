"""What the page says of a PTX opcode: a sentence (assets/opcodes.txt) and its section of the PTX ISA."""

from __future__ import annotations

import functools
from pathlib import Path

from triton_runner import _core

ISA = "8.8"  # the version of the PTX ISA whose sections the table of opcodes names


@functools.cache
def sentences() -> dict[str, str]:
    """{opcode, or opcode with its first modifiers: sentence}."""
    lines = (Path(__file__).parent / "assets" / "opcodes.txt").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines)


@functools.cache
def _sections() -> dict[str, str]:
    return {row["opcode"]: row["section"] for row in _core.ptx.opcode_table()}


def of(level) -> dict[str, str]:
    """{opcode: what the page says of it}, for each that occurs in a level's rows. None: there is no PTX."""
    out = {}
    for op in {row.op for row in level.rows.values()} if level else ():
        key = op
        while key and key not in sentences():
            key = key.rpartition(".")[0]
        if key:
            section = _sections()[key.partition(".")[0]]
            out[op] = f"{key}: {sentences()[key]} PTX ISA {ISA}, section {section}."
    return dict(sorted(out.items()))
