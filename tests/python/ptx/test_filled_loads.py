"""Moves before a masked load, which are left out where all threads load: all, some or none of a block."""

import mmap

import numpy as np
import pytest
import torch
from triton_runner import _core

PTX = """
.version 8.7
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global a, .param .u64 .ptr .global o, .param .u32 n)
.reqntid 64
{
 .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %d<9>;
 ld.param.u64 %d0, [a]; ld.param.u64 %d1, [o]; ld.param.u32 %r20, [n];
 mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r0, %r0, 64, %r1;
 mul.wide.u32 %d2, %r0, 16; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
 mul.lo.u32 %r9, %r0, 3; setp.lt.u32 %p0, %r0, %r20;
 mov.u32 %r2, 0x7; mov.u32 %r3, %r9; mov.u32 %r4, %r3; mov.u32 %r5, %r0;
 @%p0 ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%d3];
 mov.u32 %r6, %r2; mov.u32 %r7, 0x9;
 @!%p0 ld.global.b32 %r7, [%d0];
 xor.b32 %r5, %r5, %r7;
 st.global.v4.b32 [%d4], {%r6, %r3, %r4, %r5};
 ret;
}
"""


@pytest.mark.parametrize("n", [0, 1, 64, 100, 192])
def test_filled_loads(n):
    numbers = np.random.default_rng(n).integers(0, 2**31, (192, 4)).astype(np.int32)
    out = torch.zeros((192, 4), dtype=torch.int32)
    kernel = _core.load_simt(PTX, "k.ptx", "", [], {})
    values = [torch.from_numpy(numbers), out, n]
    kernel.launch((3, 1, 1), [(p.name, v) for p, v in zip(kernel.params, values, strict=True)])
    at = np.arange(192, dtype=np.int32)
    other = np.stack([np.full(192, 7, np.int32), 3 * at, 3 * at, at], 1)
    expected = np.where((at < n)[:, None], numbers, other)
    expected[:, 3] ^= np.where(at < n, 9, numbers[0, 0]).astype(np.int32)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_a_trap_names_the_load():
    kernel = _core.load_simt(PTX, "k.ptx", "", [], {})
    pages = mmap.mmap(-1, 1 << 16)  # no other tensor follows the first one
    short = torch.frombuffer(pages, dtype=torch.int32, count=4 * 70)
    values = [short, torch.zeros(4 * 192, dtype=torch.int32), 192]
    with pytest.raises(Exception) as caught:
        kernel.launch((3, 1, 1), [(p.name, v) for p, v in zip(kernel.params, values, strict=True)])
    message = str(caught.value)
    assert "ld.global.v4.b32" in message and "program (1, 0, 0), thread (6, 0, 0)" in message
