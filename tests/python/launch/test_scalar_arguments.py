"""Tests numbers as arguments: each level passes the bits that Triton's launcher passes, by each way that a
launch is made."""

import math
import struct
import subprocess
import sys

import numpy as np
import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402

LEVELS = ["ttir", "ttgir", "ptx", "cubin"]
nan, inf = math.nan, math.inf


@triton_runner.jit
def floats(half, brain, single, double, h: tl.float16, b: tl.bfloat16, s: tl.float32, d: tl.float64):
    tl.store(half, h)
    tl.store(brain, b)
    tl.store(single, s)
    tl.store(double, d)


@triton_runner.jit
def integers(
    i8, i16, i32, i64, u8, u16, u32, u64, i1,
    a: tl.int8, b: tl.int16, c: tl.int32, d: tl.int64, e: tl.uint8, f: tl.uint16, g: tl.uint32, h: tl.uint64,
    yes: tl.int1,
):  # fmt: skip
    tl.store(i8, a)
    tl.store(i16, b)
    tl.store(i32, c)
    tl.store(i64, d)
    tl.store(u8, e)
    tl.store(u16, f)
    tl.store(u32, g)
    tl.store(u64, h)
    tl.store(i1, tl.where(yes, 3, 5))


def words(value: float) -> tuple[int, int, int, int]:
    """Returns what extractFP16, BF16, FP32 and FP64 of Triton's driver.c store for a Python float."""
    single = int(np.float32(value).view(np.uint32))
    half = struct.unpack("<H", struct.pack("<e", value))[0]
    return half, single >> 16, single, struct.unpack("<Q", struct.pack("<d", value))[0]


VALUES = [
    0.0, -0.0, 1.0, -0.3, 0.1, 1 / 3, 65504.0, 65519.99, 6.1e-5, 5.9e-8, 3e-8, -2.0**-24,
    2.0**-25, 1.0039, 1.00390625, inf, -inf, nan, -nan, 255.99, -1e-45,
]  # fmt: skip


def stored() -> list[torch.Tensor]:
    return [torch.zeros(1, dtype=kind) for kind in (torch.int16, torch.int16, torch.int32, torch.int64)]


def as_floats(memory):
    kinds = torch.float16, torch.bfloat16, torch.float32, torch.float64
    return [tensor.view(kind) for tensor, kind in zip(memory, kinds, strict=True)]


def bits(memory) -> tuple:
    return tuple(int(t.item()) & (1 << 8 * t.element_size()) - 1 for t in memory)


@pytest.mark.parametrize("level", LEVELS)
def test_floats(level):
    for value in VALUES:
        memory = stored()
        floats[(1,)](*as_floats(memory), value, value, value, value, level=level)
        assert bits(memory) == words(value), value


@pytest.mark.parametrize("level", LEVELS)
def test_floats_beside_checks_and_from_integers(level):
    """Checked launches take another way, and integers are floats here."""
    for value, checks in ((-0.3, "nan"), (257, ""), (-16777217, ""), (True, "")):
        if abs(value) > 65504:
            continue
        memory = stored()
        floats[(1,)](*as_floats(memory), value, value, value, value, level=level, check=checks)
        assert bits(memory) == words(float(value)), value


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("value", [65520.0, -70000.0, 1e300])
def test_a_float_that_is_too_large_for_f16_is_refused_as_triton_refuses_it(level, value):
    with pytest.raises(triton_runner.DiagnosticError, match=r"'h'.*is too large for"):
        floats[(1,)](*as_floats(stored()), value, 0.0, 0.0, 0.0, level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_integers(level):
    kinds = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    limits = [np.iinfo(kind) for kind in kinds]
    rows = [[info.min for info in limits], [info.max for info in limits], [5] * 8]
    rows.append([-1 if info.min else info.max - 1 for info in limits])
    for number, row in enumerate(rows):
        memory = [torch.zeros(1, dtype=getattr(torch, kind)) for kind in kinds]
        choice = torch.zeros(1, dtype=torch.int32)
        integers[(1,)](*memory, choice, *row, number % 2 == 0, level=level)
        assert [int(t.item()) for t in memory] == row
        assert choice.item() == (3 if number % 2 == 0 else 5)


def test_a_case_and_a_dump_have_the_same_bits(tmp_path):
    memory = stored()
    with triton_runner.capture(tmp_path) as captured:
        floats[(1,)](*as_floats(memory), -0.3, -0.3, -0.3, -0.3)
    assert bits(memory) == words(-0.3)
    assert triton_runner.verify(captured.cases[0])
    with triton_runner.dumping("b") as dump:
        floats[(1,)](*as_floats(memory), -0.3, -0.3, -0.3, -0.3)
    assert dump["b"].to_numpy().ravel().view(np.uint16)[0] == words(-0.3)[1]


TTIR = """
module {
  tt.func public @keep(%out: !tt.ptr<TYPE>, %value: TYPE) {
    tt.store %out, %value : !tt.ptr<TYPE>
    tt.return
  }
}
"""
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry keep(.param .u64 out, .param .b16 value)
.reqntid 32
{
  .reg .b16 %h;
  .reg .b64 %rd;
  ld.param.u64 %rd, [out];
  ld.param.b16 %h, [value];
  st.global.b16 [%rd], %h;
  ret;
}
"""


@pytest.mark.parametrize("kind, number", [("f16", 0), ("bf16", 1)])
@pytest.mark.parametrize("text, suffix", [(TTIR, "ttir"), (PTX, "ptx")])
def test_exec(tmp_path, text, suffix, kind, number):
    path, saved = tmp_path / f"keep.{suffix}", tmp_path / "out.npy"
    path.write_text(text.replace("TYPE", kind))
    memory = "i16[1]" if suffix == "ptx" else f"{kind}[1]"
    command = [sys.executable, "-m", "triton_runner", "exec", str(path), "--grid", "1", "--arg", memory]
    command += ["--arg", f"{kind}=-0.3", "--save", f"0={saved}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert np.load(saved).view(np.uint16)[0] == words(-0.3)[number]
