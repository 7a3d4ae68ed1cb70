"""Tests machine code on the CPU: PTX and what ptxas makes of it give the same bytes."""

import pathlib

import numpy as np
import pytest
import torch
from suite.assembled import assemble
from triton_runner import _core

ROOT = pathlib.Path(__file__).resolve().parents[3]

# A loop that threads leave at different times, by two ways; 64-bit arithmetic; what has an opcode of its own.
LOOPS = """
.version 8.7
.target sm_80
.address_size 64
.visible .entry loops(.param .u64 .ptr .global a, .param .u64 .ptr .global o, .param .u32 n)
{
 .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %d<12>;
 ld.param.u64 %d0, [a]; ld.param.u64 %d1, [o]; ld.param.u32 %r0, [n];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
 mad.lo.s32 %r4, %r1, %r2, %r3;
 setp.ge.s32 %p0, %r4, %r0; @%p0 bra DONE;
 mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
 ld.global.u32 %r5, [%d3];
 mov.u32 %r6, 0; mov.u32 %r7, 0;
LOOP:
 and.b32 %r8, %r5, 1; setp.eq.u32 %p1, %r8, 0; @%p1 bra EVEN;
 mul.lo.u32 %r5, %r5, 3; add.u32 %r5, %r5, 1; xor.b32 %r7, %r7, %r5; bra NEXT;
EVEN:
 shr.u32 %r5, %r5, 1; add.u32 %r7, %r7, %r5;
 setp.lt.u32 %p4, %r5, 7; @%p4 bra OUT;
NEXT:
 add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, %r0; setp.gt.u32 %p3, %r5, 1;
 and.pred %p2, %p2, %p3; @%p2 bra LOOP;
OUT:
 mov.b64 %d5, {%r5, %r7}; mul.lo.u64 %d6, %d5, 0x123456789; shr.u64 %d7, %d6, %r6; add.s64 %d7, %d7, %d5;
 sub.s64 %d7, %d7, %d2; setp.lt.s64 %p5, %d7, %d6; selp.b32 %r9, %r6, %r7, %p5; mov.b64 {%r10, %r11}, %d7;
 popc.b32 %r12, %r10; clz.b32 %r13, %r11; bfe.s32 %r14, %r10, 5, 11; brev.b32 %r15, %r11;
 prmt.b32 %r16, %r10, %r11, 0x2716; min.s32 %r17, %r10, %r11; max.u32 %r18, %r10, %r11; abs.s32 %r19, %r10;
 shf.l.wrap.b32 %r20, %r10, %r11, %r6; shr.s32 %r21, %r10, %r6; shl.b32 %r22, %r11, %r6;
 lop3.b32 %r23, %r10, %r11, %r12, 0x96; bfind.u32 %r24, %r10; mul.hi.u32 %r25, %r10, %r11;
 mul.hi.s32 %r26, %r10, %r11; mad.lo.s32 %r27, %r10, %r11, %r12; bfi.b32 %r30, %r10, %r11, 3, 9;
 xor.b32 %r9, %r9, %r12; add.u32 %r9, %r9, %r13; xor.b32 %r9, %r9, %r14; add.u32 %r9, %r9, %r15;
 xor.b32 %r9, %r9, %r16; add.u32 %r9, %r9, %r17; xor.b32 %r9, %r9, %r18; add.u32 %r9, %r9, %r19;
 xor.b32 %r9, %r9, %r20; add.u32 %r9, %r9, %r21; xor.b32 %r9, %r9, %r22; add.u32 %r9, %r9, %r23;
 xor.b32 %r9, %r9, %r24; add.u32 %r9, %r9, %r25; xor.b32 %r9, %r9, %r26; add.u32 %r9, %r9, %r27;
 xor.b32 %r9, %r9, %r30; st.global.u32 [%d4], %r9;
DONE:
 ret;
}
"""


def across_block(op: str, into: str) -> str:
    """A register's sum or maximum over the block's four warps: by shuffles, then by shared memory."""
    lines = []
    for by in (16, 8, 4, 2, 1):
        lines.append(f"shfl.sync.bfly.b32 %f9, {into}, {by}, 31, -1; {op}.f32 {into}, {into}, %f9;")
    lines.append(f"bar.sync 0; @%p0 st.shared.f32 [%r4], {into}; bar.sync 0; ld.shared.f32 {into}, [sh];")
    lines += [f"ld.shared.f32 %f9, [sh+{k}]; {op}.f32 {into}, {into}, %f9;" for k in (4, 8, 12)]
    return "\n ".join(lines)


# A block a row of 128: softmax and layer norm, added up in f16, with a row's number divided by another.
ROWS = f"""
.version 8.7
.target sm_80
.address_size 64
.visible .entry rows(.param .u64 .ptr .global a, .param .u64 .ptr .global o, .param .u32 n)
.reqntid 128
{{
 .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %d<9>; .shared .b32 sh[4];
 ld.param.u64 %d0, [a]; ld.param.u64 %d1, [o]; ld.param.u32 %r0, [n];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %r3, %r1, %r0, %r2;
 and.b32 %r5, %r2, 31; setp.eq.u32 %p0, %r5, 0; shr.u32 %r4, %r2, 5; shl.b32 %r4, %r4, 2;
 mov.u32 %r6, sh; add.u32 %r4, %r4, %r6;
 mul.wide.s32 %d2, %r3, 4; add.s64 %d0, %d0, %d2; add.s64 %d1, %d1, %d2;
 setp.lt.u32 %p1, %r2, %r0; mov.f32 %f0, 0fFF800000; @%p1 ld.global.f32 %f0, [%d0];
 mov.f32 %f1, %f0;
 {across_block("max", "%f1")}
 sub.f32 %f2, %f0, %f1; mul.f32 %f2, %f2, 0f3FB8AA3B; ex2.approx.f32 %f2, %f2; mov.f32 %f3, %f2;
 {across_block("add", "%f3")}
 div.full.f32 %f4, %f2, %f3;
 selp.f32 %f5, %f0, 0f00000000, %p1; cvt.rn.f32.u32 %f6, %r0; mov.f32 %f7, %f5;
 {across_block("add", "%f7")}
 div.rn.f32 %f7, %f7, %f6; sub.f32 %f8, %f5, %f7; mul.f32 %f10, %f8, %f8;
 selp.f32 %f10, %f10, 0f00000000, %p1;
 {across_block("add", "%f10")}
 div.rn.f32 %f10, %f10, %f6; add.f32 %f10, %f10, 0f3727C5AC; sqrt.rn.f32 %f11, %f10;
 rsqrt.approx.f32 %f12, %f10;
 mul.f32 %f13, %f8, %f12; add.f32 %f13, %f13, %f11;
 cvt.rn.f16x2.f32 %r7, %f13, %f4; add.f16x2 %r8, %r7, %r7; fma.rn.f16x2 %r8, %r7, %r8, %r7;
 mov.b32 {{%h0, %h1}}, %r8; cvt.f32.f16 %f14, %h0; cvt.f32.f16 %f15, %h1;
 mul.lo.u32 %r9, %r3, 7919; add.u32 %r10, %r1, 3; div.s32 %r11, %r9, %r10; rem.u32 %r12, %r9, %r0;
 add.u32 %r11, %r11, %r12; cvt.rn.f32.s32 %f16, %r11; cvt.rzi.s32.f32 %r13, %f16; and.b32 %r13, %r13, 255;
 cvt.rn.f32.s32 %f16, %r13; fma.rn.f32 %f14, %f16, %f15, %f14; @%p1 st.global.f32 [%d1], %f14;
 ret;
}}
"""


def assembled(ptx: str, architecture: str, ptxas: str = "ptxas", opt: int = 3) -> tuple[bytes, str]:
    """(cubin, listing) of a PTX text."""
    cubin, listing = assemble(ptx, architecture, ptxas, opt=opt)
    return cubin.read_bytes(), listing.read_text()


def launch(kernel, grid: int, values: list) -> list:
    """The arrays of the values after a launch."""
    values = [v.clone() if torch.is_tensor(v) else v for v in values]
    kernel.launch((grid, 1, 1), [(p.name, v) for p, v in zip(kernel.params, values, strict=True)])
    return [v.numpy() for v in values if torch.is_tensor(v)]


def same_bytes(
    ptx: str, architecture: str, grid: int, block: int, values: list, ptxas="ptxas", hidden=0
) -> None:
    """PTX and machine code leave the same bytes, and write something."""
    options = {"block": (block, 1, 1), "hidden_pointers": hidden}
    expected = launch(_core.load_simt(ptx, "k.ptx", "", [], options), grid, values)
    cubin, listing = assembled(ptx, architecture, ptxas)
    kernel = _core.load_cubin(cubin, listing, "k.sass", "", [], options)
    assert kernel.level == "cubin"
    got = launch(kernel, grid, values)
    before = [v.numpy() for v in values if torch.is_tensor(v)]
    assert any((a != b).any() for a, b in zip(expected, before, strict=True))
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))


@pytest.mark.parametrize(
    "architecture, ptxas", [("sm_80", "ptxas"), ("sm_90", "ptxas"), ("sm_90", "ptxas-blackwell")]
)
def test_vector_add(architecture, ptxas):
    ptx = (ROOT / "examples" / "exec" / "add_kernel.ptx").read_text()
    rng = np.random.default_rng(0)
    x, y, out = (torch.from_numpy(rng.standard_normal(5000).astype(np.float32)) for _ in range(3))
    same_bytes(ptx, architecture, 5, 128, [x, y, out, 4800], ptxas, hidden=2)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_divergent_loop(architecture):
    rng = np.random.default_rng(1)
    a = torch.from_numpy(rng.integers(-(2**31), 2**31, 700).astype(np.int32))
    same_bytes(LOOPS, architecture, 3, 224, [a, torch.zeros(700, dtype=torch.int32), 650])


@pytest.mark.parametrize(
    "architecture, ptxas", [("sm_80", "ptxas"), ("sm_90", "ptxas"), ("sm_90", "ptxas-blackwell")]
)
@pytest.mark.parametrize("columns", [128, 100])
def test_rows(architecture, ptxas, columns):
    rng = np.random.default_rng(2)
    a = torch.from_numpy((8 * rng.standard_normal(5 * columns)).astype(np.float32))
    same_bytes(ROWS, architecture, 5, 128, [a, torch.zeros_like(a), columns], ptxas)


def test_what_is_not_executed_is_refused_before_the_launch():
    cubin, listing = assembled(LOOPS, "sm_80")
    listing = listing.replace("POPC R", "POPC.SIN R")
    with pytest.raises(Exception) as caught:
        _core.load_cubin(cubin, listing, "k.sass", "", [], {"block": (32, 1, 1)})
    assert "does not execute 'POPC' with .SIN" in str(caught.value)
    assert "k.sass:" in str(caught.value) and "level 'ptx'" in str(caught.value)


ASSERTS = """
.version 8.7
.target sm_80
.address_size 64
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 message[4] = {97, 98, 99, 0};
.global .align 1 .b8 file[4] = {100, 101, 102, 0};
.visible .entry kernel(.param .u64 .ptr .global out)
.reqntid 32
{
 .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;
 mov.u32 %r1, %tid.x; setp.ne.s32 %p1, %r1, 5; @%p1 bra DONE;
 mov.u64 %d3, message; cvta.global.u64 %d3, %d3; mov.u64 %d4, file; cvta.global.u64 %d4, %d4;
 {
 .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
 st.param.b64 [p0], %d3; st.param.b64 [p1], %d4; st.param.b32 [p2], 77; st.param.b64 [p3], %d3;
 st.param.b64 [p4], 1; call.uni __assertfail, (p0, p1, p2, p3, p4);
 }
DONE:
 ret;
}
"""


@pytest.mark.parametrize(
    "architecture, ptxas", [("sm_80", "ptxas"), ("sm_90", "ptxas"), ("sm_90", "ptxas-blackwell")]
)
def test_an_assertion_of_machine_code(architecture, ptxas):
    cubin, listing = assembled(ASSERTS, architecture, ptxas)
    kernel = _core.load_cubin(cubin, listing, "k.sass", "", [], {})
    with pytest.raises(Exception) as caught:
        kernel.launch((1, 1, 1), [(kernel.params[0].name, torch.zeros(32, dtype=torch.int32))])
    assert "abc (def:77, in abc)" in str(caught.value) and "thread (5, 0, 0)" in str(caught.value)
