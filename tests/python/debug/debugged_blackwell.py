"""Has a Gluon kernel for Blackwell, for the golden sessions: TMA fetches two tiles, whose product is summed
up in tensor memory."""

import torch
import triton_runner
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
    tma,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def product(a_desc, b_desc, out_ptr):
    M: gl.constexpr = a_desc.block_shape[0]
    N: gl.constexpr = b_desc.block_shape[1]
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    sums = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    loaded, multiplied = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(multiplied, count=1)
    for step in range(2):
        mbarrier.expect(loaded, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, step * 32], loaded, a)
        tma.async_load(b_desc, [step * 32, 0], loaded, b)
        mbarrier.wait(loaded, step & 1)
        tcgen05_mma(a, b, sums, use_acc=step > 0)
        tcgen05_commit(multiplied)
        mbarrier.wait(multiplied, step & 1)
    c = sums.load()
    layout: gl.constexpr = c.type.layout
    rows = gl.arange(0, M, gl.SliceLayout(1, layout))
    columns = gl.arange(0, N, gl.SliceLayout(0, layout))
    gl.store(out_ptr + rows[:, None] * N + columns[None, :], c)


def _described(tensor, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(tensor, block, layout)


def products():
    a = (torch.arange(128 * 64).reshape(128, 64) % 7).half()
    b = (torch.arange(64 * 32).reshape(64, 32) % 5).half()
    out = torch.zeros(128, 32)
    with triton_runner.using(target="cuda:100"):
        product[(1,)](_described(a, [128, 32]), _described(b, [32, 32]), out, num_warps=4)
    assert torch.equal(out, a.float() @ b.float()), out
