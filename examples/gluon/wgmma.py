"""wgmma (sm_90): a product of two tiles that a warp group multiplies out of shared memory."""

import torch
from shared import described, main, tile_offsets, whole
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton_runner import gluon


@gluon.jit
def product(a_desc, b_desc, out_ptr):
    M: gl.constexpr = a_desc.block_shape[0]
    N: gl.constexpr = b_desc.block_shape[1]
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    loaded = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.expect(loaded, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], loaded, a)
    tma.async_load(b_desc, [0, 0], loaded, b)
    mbarrier.wait(loaded, 0)
    mbarrier.invalidate(loaded)
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    c = warpgroup_mma(a, b, gl.zeros([M, N], gl.float32, layout), is_async=True)
    c = warpgroup_mma_wait(num_outstanding=0, deps=(c,))
    gl.store(out_ptr + tile_offsets(M, N, layout), c)


def run(**level):
    a, b = whole(64, 64), whole(64, 32)
    out = torch.zeros(64, 32, device=a.device)
    product[(1,)](described(a, [64, 64]), described(b, [64, 32]), out, num_warps=4, **level)
    return out, a.float() @ b.float()


if __name__ == "__main__":
    main(run, "cuda:90")
