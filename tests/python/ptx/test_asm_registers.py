"""Tests inline assembly that reads special registers: the same at every level, as far as it is
determined."""

import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402


@triton_runner.jit
def of_launch(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    text: tl.constexpr = """{
      .reg .b32 a, b, c;
      mov.u32 a, %ntid.x;
      mov.u32 b, %ctaid.x;
      mov.u32 c, %nctaid.y;
      mad.lo.u32 b, b, 10, c;
      mad.lo.u32 $0, a, 1000, b;
    }"""
    value = tl.inline_asm_elementwise(text, "=r,r", [at], dtype=tl.int32, is_pure=True, pack=1)
    program = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    tl.store(out + program * BLOCK + at, value)


@triton_runner.jit
def of_thread(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    text: tl.constexpr = "{ .reg .b32 a; mov.u32 a, %tid.x; mov.u32 $0, %laneid; mad.lo.u32 $0, a, 100, $0; }"
    value = tl.inline_asm_elementwise(text, "=r,r", [at], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + at, value)


@pytest.mark.parametrize("warps", [2, 8])
def test_what_the_launch_tells(warps):
    found = {}
    for level in ("ttir", "ttgir", "ptx"):
        out = torch.zeros(6, 64, dtype=torch.int32)
        of_launch[(3, 2)](out, BLOCK=64, num_warps=warps, level=level)
        found[level] = out
    assert found["ttir"][4].tolist() == [warps * 32 * 1000 + 1 * 10 + 2] * 64
    assert torch.equal(found["ttir"], found["ttgir"]) and torch.equal(found["ttir"], found["ptx"])


def test_which_thread_it_is():
    found = {}
    for level in ("ttgir", "ptx"):
        out = torch.zeros(512, dtype=torch.int32)
        of_thread[(1,)](out, BLOCK=512, level=level)
        found[level] = out
    assert torch.equal(found["ttgir"], found["ptx"]) and len(found["ttgir"].unique()) == 128
    with pytest.raises(DiagnosticError, match=r"%tid\.x.*layout"):
        of_thread[(1,)](torch.zeros(512, dtype=torch.int32), BLOCK=512, level="ttir")
    with pytest.raises(DiagnosticError, match=r"several threads hold element 0"):
        of_thread[(1,)](torch.zeros(32, dtype=torch.int32), BLOCK=32, level="ttgir")
