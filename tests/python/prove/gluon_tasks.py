"""A product in Gluon: one task copies blocks into a ring, the other one multiplies them, and gives a block
back once as many of its products are in flight as the argument of the program says: 1 is right."""

import sys

import torch
import triton_runner
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import hopper
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

DEPTH = 3


@gluon.jit
def copies(a_desc, b_desc, a, b, full, empty, steps, DEPTH: gl.constexpr):
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(empty.index(at), (step // DEPTH & 1) ^ 1)
        mbarrier.expect(full.index(at), a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, step * a.shape[2]], full.index(at), a.index(at))
        tma.async_load(b_desc, [0, step * b.shape[2]], full.index(at), b.index(at))


@gluon.jit
def products(
    out_desc, out, a, b, full, empty, steps, of_c: gl.constexpr, IN: gl.constexpr, DEPTH: gl.constexpr
):
    total = gl.zeros(out_desc.block_shape, gl.float32, of_c)
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(full.index(at), step // DEPTH & 1)
        total = hopper.warpgroup_mma(a.index(at), b.index(at).permute((1, 0)), total, is_async=True)
        total = hopper.warpgroup_mma_wait(IN, deps=(total,))
        mbarrier.arrive(empty.index((step + DEPTH - 1) % DEPTH), pred=step > 0)
    total = hopper.warpgroup_mma_wait(0, deps=(total,))
    out.store(total)
    hopper.fence_async_shared()
    tma.async_store(out_desc, [0, 0], out)
    tma.store_wait(0)


@gluon.jit
def product(a_desc, b_desc, out_desc, steps, of_c: gl.constexpr, IN: gl.constexpr, DEPTH: gl.constexpr):
    a = gl.allocate_shared_memory(a_desc.dtype, [DEPTH] + a_desc.block_shape, a_desc.layout)  # noqa: RUF005
    b = gl.allocate_shared_memory(b_desc.dtype, [DEPTH] + b_desc.block_shape, b_desc.layout)  # noqa: RUF005
    out = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_shape, out_desc.layout)
    full, empty = mbarrier.allocate_mbarrier(batch=DEPTH), mbarrier.allocate_mbarrier(batch=DEPTH)
    for i in gl.static_range(DEPTH):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    gl.warp_specialize(
        [
            (products, (out_desc, out, a, b, full, empty, steps, of_c, IN, DEPTH)),
            (copies, (a_desc, b_desc, a, b, full, empty, steps, DEPTH)),
        ],
        [1],
        [24],
    )


def described(tensor, block):
    element = gl.float16 if tensor.dtype == torch.float16 else gl.float32
    return TensorDescriptor.from_tensor(tensor, block, gl.NVMMASharedLayout.get_default_for(block, element))


a, b, out = torch.ones(64, 320).half(), torch.ones(64, 320).half(), torch.zeros(64, 64)
of_c = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
descriptors = described(a, [64, 32]), described(b, [64, 32]), described(out, [64, 64])
with triton_runner.using(device="cpu", target="cuda:90", level="ttgir"):
    product[(1,)](*descriptors, a.shape[1] // 32, of_c, int(sys.argv[1]), DEPTH, num_warps=4)
