"""Tests the checks of machine code: what they report of PTX they report of what ptxas makes of it, with the
same thread and the line of the PTX. The steps of a division or a root, and what is computed ahead of a
branch, are not findings."""

import contextlib
import pathlib
import re
import subprocess

import numpy as np
import pytest

pytest.importorskip("triton")
import triton_runner
from triton_runner.verbs.assemble import assemblers

pytestmark = pytest.mark.filterwarnings("ignore:nothing says whether")

PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
.reqntid 32
{
.reg .pred %p<3>;
.reg .b16 %h<4>;
.reg .b32 %r<8>;
.reg .b64 %d<10>;
.reg .f32 %f<4>;
.reg .f64 %g<4>;
.shared .align 4 .b8 room[256];
.loc 1 5 3
ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r7, [n];
mov.u32 %r1, %tid.x;
mul.wide.u32 %d3, %r1, 16;
add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
ld.global.v2.u32 {%r2, %r3}, [%d4];
ld.global.v2.u64 {%d7, %d8}, [%d4];
mov.b32 %f1, %r2; mov.b32 %f2, %r3; mov.b64 %g1, %d7; mov.b64 %g2, %d8;
mov.u32 %r6, 0; mov.f32 %f3, 0f00000000; mov.u64 %d9, 0;
.loc 1 7 3
BODY
.loc 1 9 3
st.global.u64 [%d5], %d9;
ret;
}
.file 1 "k.py"
"""
LINE = PTX.splitlines().index("BODY") + 1
F32 = " mov.b32 %r6, %f3; cvt.u64.u32 %d9, %r6;"
F64 = " mov.b64 %d9, %g3;"
WORD = " cvt.u64.u32 %d9, %r6;"
inf, nan = np.inf, np.nan


def f32(*values):
    return np.array([values if t == 3 else (1,) * len(values) for t in range(32)], np.float32)


def f64(*values):
    return f32(*values).astype(np.float64)


def i32(*values):
    return np.array([values if t == 3 else (1,) * len(values) for t in range(32)], np.int32)


def i64(*values):
    return i32(*values).astype(np.int64) * 2**32


def padded(values):
    """16 bytes a thread."""
    out = np.zeros((32, 16), np.uint8)
    out[:, : values[0].nbytes] = np.ascontiguousarray(values).view(np.uint8).reshape(32, -1)
    return out.view(np.int32)


def answer(tmp_path, body, check, values, level, n=3):
    path = tmp_path / "k.ptx"
    path.write_text(PTX.replace("BODY", body))
    kernel = triton_runner.load(path, device="cpu", level=level, check=check)
    given, results = padded(values), [np.zeros((32, 2), np.int64)]
    while abs(results[-1].ctypes.data - given.ctypes.data) < 4096:  # out of one is not in the other
        results.append(np.zeros((32, 2), np.int64))
    try:
        kernel[(1,)](given, results[-1], n)
    except triton_runner.KernelTrap as trap:
        return trap
    return None


def thread_of(trap):
    return re.search(r"thread \(.*?\)", str(trap))[0]


FOUND = {
    "the slow way of a division": ("div.rn.f32 %f3, %f1, %f2;" + F32, "nan", f32(0, 0)),
    "a scaled division": ("div.full.f32 %f3, %f1, %f2;" + F32, "nan", f32(0, 0)),
    "the reciprocal of a division": ("div.full.f32 %f3, %f1, %f2;" + F32, "inf", f32(1, 0)),
    "a root": ("sqrt.approx.f32 %f3, %f1;" + F32, "nan", f32(-1, 0)),
    "a logarithm": ("lg2.approx.f32 %f3, %f1;" + F32, "inf", f32(0, 0)),
    "an overflow": ("fma.rn.f32 %f3, %f1, %f2, %f1;" + F32, "inf", f32(3e38, 3e38)),
    "a difference": ("sub.f32 %f3, %f1, %f2;" + F32, "nan", f32(inf, inf)),
    "a difference of f64": ("sub.f64 %g3, %g1, %g2;" + F64, "nan", f64(inf, inf)),
    "halves": ("sub.f16x2 %r6, %r2, %r3;" + WORD, "nan", i32(0x7C000000, 0x7C000000)),
    "s32": ("div.s32 %r6, %r2, %r3;" + WORD, "zerodiv", i32(5, 0)),
    "u32": ("rem.u32 %r6, %r2, %r3;" + WORD, "zerodiv", i32(5, 0)),
    "s64": ("div.s64 %d9, %d7, %d8;", "zerodiv", i64(5, 0)),
    "u64": ("rem.u64 %d9, %d7, %d8;", "zerodiv", i64(5, 0)),
    "s16": (
        "cvt.u16.u32 %h1, %r2; cvt.u16.u32 %h2, %r3; div.s16 %h3, %h1, %h2; cvt.u32.u16 %r6, %h3;" + WORD,
        "zerodiv",
        i32(5, 0),
    ),
    "shared memory": ("ld.shared.u32 %r6, [room];" + WORD, "uninit", i32(1, 1)),
    "one store": ("st.shared.u32 [room], %r1;", "race", i32(1, 1)),
    "out of bounds": ("ld.global.u32 %r6, [%d4+600];" + WORD, "oob", i32(1, 1)),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_reported_of_ptx_is_reported_of_its_machine_code(tmp_path, name):
    body, check, values = FOUND[name]
    ptx = answer(tmp_path, body, check, values, "ptx")
    machine = answer(tmp_path, body, check, values, "cubin")
    assert machine is not None and machine.kind == ptx.kind and thread_of(machine) == thread_of(ptx)
    assert (machine.file, machine.line) == ("k.py", 7)
    assert any(f"was made from line {LINE} of the PTX" in note for note in machine.notes)


CLEAN = {
    "the slow way of a division": ("div.rn.f32 %f3, %f1, %f2;" + F32, "nan,inf", f32(1, inf)),
    "a division of denormals": ("div.rn.f32 %f3, %f1, %f2;" + F32, "nan,inf", f32(1e-40, 3e-40)),
    "a divisor of infinity": ("div.full.f32 %f3, %f1, %f2;" + F32, "nan,inf", f32(0, inf)),
    "a NaN that was there": ("div.rn.f32 %f3, %f1, %f2;" + F32, "nan,inf", f32(nan, 1)),
    "the root of 0": ("sqrt.rn.f32 %f3, %f1;" + F32, "nan,inf", f32(0, 1)),
    "the root of 0 in f64": ("sqrt.rn.f64 %g3, %g1;" + F64, "nan,inf", f64(0, 1)),
    "a denormal's logarithm": ("lg2.approx.f32 %f3, %f1;" + F32, "nan,inf", f32(1e-42, 1)),
    "a division of f64": ("div.rn.f64 %g3, %g1, %g2;" + F64, "nan,inf", f64(1e300, 3)),
    "a division that is jumped over": (
        "setp.eq.f32 %p1, %f2, 0f00000000; @%p1 bra OVER; div.full.f32 %f3, %f1, %f2; OVER:" + F32,
        "nan,inf",
        f32(0, 0),
    ),
    "a division that is turned off": (
        "setp.ne.s32 %p1, %r3, 0; @%p1 div.s32 %r6, %r2, %r3;" + WORD,
        "zerodiv",
        i32(5, 0),
    ),
    "integers": ("div.s32 %r6, %r2, %r3;" + WORD, "zerodiv", i32(0, 7)),
    "a divisor whose low half is 0": ("div.s64 %d9, %d7, %d8;", "zerodiv", i64(5, 3)),
}


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_said_of_steps(tmp_path, name):
    body, check, values = CLEAN[name]
    assert answer(tmp_path, body, check, values, "ptx") is None
    assert answer(tmp_path, body, check, values, "cubin") is None


def test_a_cubin_without_lines_cannot_tell_steps(tmp_path):
    path = tmp_path / "k.cubin"
    ptx = re.sub(r"^\.(loc|file).*\n", "", PTX.replace("BODY", "add.f32 %f3, %f1, %f2;" + F32), flags=re.M)
    (tmp_path / "k.ptx").write_text(ptx)
    subprocess.run([assemblers.default().path, "-arch=sm_90a", tmp_path / "k.ptx", "-o", path], check=True)
    for check in ("nan", "zerodiv"):
        kernel = triton_runner.load(path, device="cpu", check=check)
        with pytest.raises(triton_runner.DiagnosticError, match="-lineinfo"):
            kernel[(1,)](padded(f32(1, 1)), np.zeros((32, 2), np.int64), 3)


CASES = pathlib.Path(__file__).resolve().parents[2] / "cases" / "ptx"


@pytest.mark.parametrize("grid, is_race", [(1, False), (2, True)])
def test_scopes_of_atomics(tmp_path, grid, is_race):
    """A flag of scope cta, which machine code calls SM: the warps of one block, and of two."""
    path = tmp_path / "k.cubin"
    case = CASES / "check-race-scope-block-none.ptx"
    (tmp_path / "k.ptx").write_text(case.read_text().partition("// ---- expected")[0])
    subprocess.run([assemblers.default().path, "-arch=sm_90a", tmp_path / "k.ptx", "-o", path], check=True)
    kernel = triton_runner.load(path, device="cpu", check="race")
    with pytest.raises(triton_runner.KernelTrap, match="data race") if is_race else contextlib.nullcontext():
        kernel[(grid,)](np.zeros(4, np.int32))
