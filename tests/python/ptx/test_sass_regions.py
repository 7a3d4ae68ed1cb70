"""Tests short regions of machine code: threads that do not jump run them under a mask, with the bytes, the
traps and the ends of threads that paths of their own have."""

import numpy as np
import pytest
import torch
from test_sass import assembled, launch, same_bytes
from triton_runner import _core

# The last lane of each warp leaves numbers for the block (as a cumsum does), then each thread takes those of
# its warp; threads from the n-th on end before the last store.
PTX = """
.version 8.7
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global a, .param .u64 .ptr .global o, .param .u32 at, .param .u32 n)
.reqntid 128
{
 .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %d<9>; .shared .align 4 .b32 sh[16];
 ld.param.u64 %d0, [a]; ld.param.u64 %d1, [o]; ld.param.u32 %r9, [at]; ld.param.u32 %r20, [n];
 mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
 ld.global.u32 %r1, [%d3]; and.b32 %r2, %r0, 31; shr.u32 %r3, %r0, 5;
 shl.b32 %r4, %r3, 2; mov.u32 %r5, sh; add.u32 %r5, %r5, %r4;
 mad.lo.u32 %r21, %r9, 4, %r0; mul.wide.u32 %d6, %r21, 4; add.s64 %d5, %d0, %d6;
 setp.ne.u32 %p0, %r2, 31;
 @!%p0 ld.global.u32 %r6, [%d5];
 @!%p0 mul.lo.u32 %r7, %r6, %r1;
 @!%p0 xor.b32 %r8, %r7, %r6;
 @!%p0 st.shared.u32 [%r5], %r1;
 @!%p0 st.shared.u32 [%r5+16], %r7;
 @!%p0 st.shared.u32 [%r5+32], %r8;
 @!%p0 st.shared.u32 [%r5+48], %r6;
 bar.sync 0;
 ld.shared.u32 %r10, [%r5]; ld.shared.u32 %r11, [%r5+16]; ld.shared.u32 %r12, [%r5+32];
 ld.shared.u32 %r13, [%r5+48];
 add.u32 %r10, %r10, %r11; xor.b32 %r12, %r12, %r13; mad.lo.u32 %r14, %r10, %r12, %r1;
 st.global.u32 [%d4], %r14;
 setp.ge.u32 %p1, %r0, %r20; @%p1 bra DONE;
 mul.lo.u32 %r15, %r14, %r14; st.global.u32 [%d4+512], %r15;
DONE:
 ret;
}
"""


def values(at: int = 0, n: int = 77) -> list:
    numbers = torch.from_numpy(np.random.default_rng(3).integers(0, 2**31, 128).astype(np.int32))
    far = torch.zeros(1 << 18, dtype=torch.int32)  # of pages of its own
    return [numbers, far, at, n]


@pytest.mark.parametrize("n", [0, 5, 77, 128])
def test_bytes(n):
    assert "BSYNC" in assembled(PTX, "sm_80")[1]
    same_bytes(PTX, "sm_80", 3, 128, values(n=n))


def test_a_trap_in_a_region_names_its_thread():
    options = {"block": (128, 1, 1), "hidden_pointers": 0}
    kernels = [
        _core.load_simt(PTX, "k.ptx", "", [], options),
        _core.load_cubin(*assembled(PTX, "sm_80"), "k.sass", "", [], options),
    ]
    for kernel in kernels:  # warps 0 to 2 read inside of `a`, the last one's lane reads past its end
        with pytest.raises(Exception) as caught:
            launch(kernel, 1, values(at=8))
        assert "out of bounds" in str(caught.value) and "thread (127, 0, 0)" in str(caught.value)
