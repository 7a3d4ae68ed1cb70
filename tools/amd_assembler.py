"""Texts of AMD's instructions that a row of encodings.def stands for, and what LLVM's assembler makes of them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import struct
import subprocess
import sys

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")

_CHILD = r"""
import json, sys
from triton._C.libtriton import amd, llvm

llvm.init_targets()
text = "\t.text\n" + "".join(f"I{i}:\n\t{line}\n" for i, line in json.load(sys.stdin)) + "Iend:\n\ts_endpgm\n"
sys.stdout.buffer.write(amd.assemble_amdgcn(text, "amdgcn-amd-amdhsa", sys.argv[1], ""))
"""


@dataclasses.dataclass(frozen=True)
class Row:
    """numbers: the opcode's number by target; words: its operands, as the head of encodings.def says."""

    format: str
    name: str
    numbers: dict[str, int]
    words: tuple[str, ...]


def read_rows(path: pathlib.Path) -> list[Row]:
    out = []
    for found in re.finditer(r'^CODE\((\w+), (\w+), ([^"]+), "([^"]*)"\)', path.read_text(), re.M):
        numbers = dict(zip(TARGETS, found[3].split(", "), strict=True))
        out.append(Row(found[1], found[2], {t: int(n) for t, n in numbers.items() if n != "_"}, tuple(found[4].split())))
    return out


def _symbols(code: bytes) -> tuple[bytes, dict[str, int]]:
    """The bytes of .text, and the places of its labels."""
    table, count, names_at = struct.unpack_from("<Q", code, 40)[0], *struct.unpack_from("<2H", code, 60)
    sections = [struct.unpack_from("<2I4Q2I2Q", code, table + 64 * k) for k in range(count)]
    names = sections[names_at]

    def name_of(section, offset):
        start = section[4] + offset
        return code[start : code.index(b"\0", start)].decode()

    text, places = b"", {}
    for s in sections:
        if name_of(names, s[0]) == ".text":
            text = code[s[4] : s[4] + s[5]]
        if s[1] == 2:
            for k in range(s[5] // 24):
                name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", code, s[4] + 24 * k)
                places[name_of(sections[s[6]], name)] = value
    return text, places


def assemble(target: str, lines: list[str]) -> list[bytes | None]:
    """The bytes of each line, or None where LLVM does not take it."""
    alive = dict(enumerate(lines))
    for _ in range(60):
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, target], input=json.dumps([*alive.items()]).encode(), capture_output=True
        )
        if done.stdout:
            text, places = _symbols(done.stdout)
            order = [*alive]
            ends = [*[places[f"I{k}"] for k in order[1:]], places["Iend"]]
            out: list[bytes | None] = [None] * len(lines)
            for k, end in zip(order, ends, strict=True):
                out[k] = text[places[f"I{k}"] : end]
            return out
        wrong = {line.strip() for line in re.findall(r"error: [^\n]*\n([^\n]*)\n", done.stderr.decode())}
        left = {k: line for k, line in alive.items() if line.strip() not in wrong}
        if len(left) == len(alive):
            raise RuntimeError(done.stderr.decode()[-2000:])
        alive = left
    raise RuntimeError("the assembler goes on refusing lines")


def opcode_of(fmt: str, code: bytes, target: str) -> int:
    """The number of the opcode in an instruction's bytes."""
    low = struct.unpack_from("<I", code)[0]
    gfx9, gfx12 = not target.startswith("gfx1"), target == "gfx1201"
    first, last = {
        "SOP1": (8, 15), "SOP2": (23, 29), "SOPC": (16, 22), "SOPK": (23, 27), "SOPP": (16, 22),
        "SMEM": (18, 25) if not gfx12 else (13, 18), "VOP1": (9, 16), "VOP2": (25, 30), "VOPC": (17, 24),
        "VOP3": (16, 25), "VOP3SD": (16, 25), "VOP3P": (16, 22), "VOP3PX": (16, 22), "VINTERP": (16, 22), "VOPD": (22, 25),
        "DS": (17, 24) if gfx9 else (18, 25),
        "FLAT": (14, 21) if gfx12 else (18, 24), "MUBUF": (14, 21) if gfx12 else (18, 24) if gfx9 else (18, 25),
    }[{"GLOBAL": "FLAT", "SCRATCH": "FLAT"}.get(fmt, fmt)]  # fmt: skip
    number = (low >> first) & ((1 << (last - first + 1)) - 1)
    if fmt == "VOPD" and number == 8 and (low >> 17) & 31 != 8:  # a move, and what stands second
        return (low >> 17) & 31
    if fmt == "VOP3PX":
        low = struct.unpack_from("<I", code, 8)[0]
    return (low >> first) & ((1 << (last - first + 1)) - 1)


def _register(letter: str, first: int, count: int) -> str:
    if count == 1:
        return f"{letter}{first}"
    return f"{letter}[{first}:{first + count - 1}]"


_FIRST = {"d": 8, "a": 16, "b": 32, "c": 48, "t": 64, "u": 96, "v": 112, "y": 120, "z": 121}


def text(row: Row, target: str, kind: int) -> str:
    """An instruction of the row as LLVM prints it. kind: 0 is the plainest; others vary operands and modifiers."""
    wave64 = not target.startswith("gfx1")
    gfx12 = target == "gfx1201"
    vcc = "vcc" if wave64 else "vcc_lo"
    operands, modifiers = [], []
    scalar = row.format.startswith("S") and row.format != "SCRATCH"
    for word in row.words:
        if row.name.startswith("s_waitcnt_") and word == "d1":
            operands.append("null")
            continue
        if "writelane" in row.name and word[0] == "b":  # the bus of constants carries one register
            operands.append("m0")
            continue
        if row.name.startswith("s_barrier_signal"):
            operands.append("-1")
            continue
        letter, rest = word[0], word[1:]
        mark = rest[0] if rest[:1] in ("x", "g") else ""
        size = rest[len(mark) :]
        if letter == "v" and size == "m":
            operands.append(vcc)
        elif size == "m":
            first = {"d": 10, "s": 12, "c": 14}[letter]
            operands.append(_register("s", first, 2 if wave64 else 1))
        elif letter in "dabctuyz" or (letter == "v" and row.format == "DS"):
            first = _FIRST[letter]
            half = size == "h"
            count = 1 if half else int(size)
            file = "s" if scalar or mark == "g" else "a" if mark == "x" else "v"
            if scalar and letter == "c":
                first = 52
            operands.append(_register(file, first, count) + (".l" if half else ""))
        elif letter == "v":
            operands.append(_register("v", 112, int(size)))
        elif letter == "o":
            operands.append("0x40")
        elif letter == "k":
            operands.append("0x1234")
        elif letter == "l":
            operands.append("0x1234")
        elif letter == "n":
            operands.append("1")
        elif letter == "r":
            operands.append("hwreg(HW_REG_MODE, 2, 3)")
        elif letter == "j":
            operands.append("Iend")
        elif letter == "i":
            operands.append("vmcnt(1)")
        elif letter == "p":
            operands.append("depctr_va_vdst(3)" if not gfx12 else "depctr_va_vdst(3)")
        elif letter == "e":
            operands.append("instid0(VALU_DEP_1)")
        elif letter == "q":
            operands.append("sendmsg(MSG_INTERRUPT)" if "rtn" not in row.name else "sendmsg(MSG_RTN_GET_DOORBELL)")
    if row.format in ("GLOBAL", "SCRATCH") and row.words:
        operands.append("off")
    if row.format == "GLOBAL" and "atomic" in row.name and row.words[:1] and row.words[0][0] == "d":
        modifiers.append("sc0" if target in ("gfx942", "gfx950") else "glc" if not gfx12 else "th:TH_ATOMIC_RETURN")
    if row.format == "FLAT" and "atomic" in row.name and row.words[:1] and row.words[0][0] == "d":
        modifiers.append("sc0" if target in ("gfx942", "gfx950") else "glc" if not gfx12 else "th:TH_ATOMIC_RETURN")
    if row.format == "MUBUF" and row.words:
        operands += ["off", "s[4:7]", "s20"]
    if row.format == "VOPD":  # the second of two may be what the first may not
        low, other = row.name.endswith(("add_nc_u32", "lshlrev_b32", "and_b32")), "v_dual_mov_b32 v9, v17"
        if low:
            return f"v_dual_mov_b32 v9, v17 :: {row.name} {', '.join(operands)}"
        return f"{row.name} {', '.join(operands)} :: {other}"
    return row.name + (" " + ", ".join(operands) if operands else "") + "".join(" " + m for m in modifiers)
