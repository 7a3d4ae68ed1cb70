"""tcgen05 (sm_100): a product whose sums stay in tensor memory until a warp group loads them."""

import torch
from shared import described, main, tile_offsets, whole
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
    tma,
)
from triton_runner import gluon


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
    mbarrier.expect(loaded, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], loaded, a)
    tma.async_load(b_desc, [0, 0], loaded, b)
    mbarrier.wait(loaded, 0)
    tcgen05_mma(a, b, sums, use_acc=False)
    tcgen05_commit(multiplied)  # arrives when the product is done
    mbarrier.wait(multiplied, 0)
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(multiplied)
    c = sums.load()
    gl.store(out_ptr + tile_offsets(M, N, c.type.layout), c)


def run(**level):
    a, b = whole(128, 64), whole(64, 64)
    out = torch.zeros(128, 64, device=a.device)
    product[(1,)](described(a, [128, 64]), described(b, [64, 64]), out, num_warps=4, **level)
    return out, a.float() @ b.float()


if __name__ == "__main__":
    main(run, "cuda:100")
