"""Tests numbers in PTX, one by one, against what ptxas makes of them (tests/golden/ptx-constants.txt; how
that was written: tests/tools/ptx_constants.py)."""

import re
from pathlib import Path

import numpy as np
import pytest
import triton_runner
from triton_runner import ptx

ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    line.split("\t")
    for line in (ROOT / "tests/golden/ptx-constants.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
HEAD = """.version 8.5
.target sm_90
.address_size 64
.global .align 8 .b8 bytes[64];
"""
ENTRY = """.visible .entry k(.param .u64 p)
.reqntid 32
{
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b16 %h<9>; .reg .pred %p<9>;
ld.param.u64 %rd1, [p];
"""
REGISTERS = {"f32": "%f2", "f64": "%d2"}


def bits(kind: str) -> int:
    return int(kind[1:])


def moved(kind: str, text: str, at: int) -> str:
    register = REGISTERS.get(kind) or {16: "%h2", 32: "%r2", 64: "%rd2"}[bits(kind)]
    return f"mov.{kind} {register}, {text};\nst.global.b{bits(kind)} [%rd1+{at}], {register};\n"


def test_values():
    """Every number that ptxas takes has its value."""
    rows = [(kind, text, value) for kind, text, value in ROWS if not value.startswith("refused")]
    rows = [row for row in rows if re.fullmatch(r"[busf]\d+", row[0])]
    assert len(rows) > 200
    body = "".join(moved(kind, text, 8 * i) for i, (kind, text, _) in enumerate(rows))
    out = np.zeros(len(rows), np.uint64)
    triton_runner.load(f"{HEAD}{ENTRY}{body}ret;\n}}\n", device="cpu")[(1,)](out)
    wrong = [
        (kind, text, value, f"{int(x):0{bits(kind) // 4}x}")
        for (kind, text, value), x in zip(rows, out, strict=True)
        if int(x) != int(value, 16)
    ]
    assert not wrong


@pytest.mark.parametrize(
    "kind", sorted({row[0] for row in ROWS if row[2].startswith("refused")} | {"body", "module"})
)
def test_refused(kind):
    """Our parser refuses what ptxas refuses, and takes what it takes around numbers."""
    rows = [row for row in ROWS if row[0] == kind]
    wrong = []
    for _, text, value in rows:
        text = text.replace("\\n", "\n")
        if kind == "module":
            whole = f"{HEAD}{text}\n{ENTRY}ret;\n}}\n"
        else:
            whole = f"{HEAD}{ENTRY}{text if kind == 'body' else moved(kind, text, 0)}\nret;\n}}\n"
        try:
            if kind in ("body", "module"):
                ptx.parse(whole)
            else:
                triton_runner.load(whole, device="cpu")[(1,)](np.zeros(1, np.uint64))
            taken = True
        except triton_runner.DiagnosticError:
            taken = False
        if taken != (not value.startswith("refused")):
            wrong.append((text, value))
    assert not wrong
