"""Two asynchronous copies in Gluon, of which only the first is waited for before both buffers are read.

$ verify FILE
status  1
says  copies_that_are_not_waited_for.py:28
never  verdict: right
"""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def scale(x, out, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    at = gl.program_id(0) * 2 * BLOCK + gl.arange(0, BLOCK, layout)
    first = gl.allocate_shared_memory(gl.float32, [BLOCK], shared)
    second = gl.allocate_shared_memory(gl.float32, [BLOCK], shared)
    async_copy.async_load(first, x + at)
    async_copy.commit_group()
    async_copy.async_load(second, x + at + BLOCK)
    async_copy.commit_group()
    async_copy.wait_group(1)
    gl.store(out + at, first.load(layout) * 2)
    gl.store(out + at + BLOCK, second.load(layout) * 2)


x = torch.arange(1024, dtype=torch.float32)
out = torch.empty_like(x)
scale[(4,)](x, out, 1024, BLOCK=128, num_warps=4)
torch.testing.assert_close(out, x * 2)
