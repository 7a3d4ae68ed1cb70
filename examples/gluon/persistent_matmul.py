"""A persistent product (sm_90): few programs, each of which goes over many tiles of the result, and fetches
the operands of the next tile while it multiplies this one."""

import torch
from shared import described, main, whole
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton_runner import gluon


@gluon.jit
def fetch(count, total, steps, a_desc, b_desc, tiles_m, a, b, loaded, DEPTH: gl.constexpr):
    """Load number `count` of this program, counted over all of its tiles."""
    tile = gl.program_id(0) + count // steps * gl.num_programs(0)
    k = count % steps * a_desc.block_shape[1]
    pred = count < total
    here = loaded.index(count % DEPTH)
    mbarrier.expect(here, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, pred=pred)
    tma.async_load(a_desc, [tile % tiles_m * a_desc.block_shape[0], k], here, a.index(count % DEPTH), pred)
    tma.async_load(b_desc, [k, tile // tiles_m * b_desc.block_shape[1]], here, b.index(count % DEPTH), pred)


@gluon.jit
def matmul(a_desc, b_desc, out_desc, DEPTH: gl.constexpr, num_warps: gl.constexpr):
    M: gl.constexpr = out_desc.block_shape[0]
    N: gl.constexpr = out_desc.block_shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, N, 16])
    a = gl.allocate_shared_memory(a_desc.dtype, [DEPTH] + a_desc.block_shape, a_desc.layout)  # noqa: RUF005
    b = gl.allocate_shared_memory(b_desc.dtype, [DEPTH] + b_desc.block_shape, b_desc.layout)  # noqa: RUF005
    result = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_shape, out_desc.layout)
    loaded = mbarrier.allocate_mbarrier(batch=DEPTH)
    for i in gl.static_range(DEPTH):
        mbarrier.init(loaded.index(i), count=1)
    tiles_m = gl.cdiv(out_desc.shape[0], M)
    tiles = gl.cdiv(tiles_m * gl.cdiv(out_desc.shape[1], N) - gl.program_id(0), gl.num_programs(0))
    steps = gl.cdiv(a_desc.shape[1], a_desc.block_shape[1])
    count = 0
    for ahead in gl.static_range(DEPTH - 1):
        fetch(ahead, tiles * steps, steps, a_desc, b_desc, tiles_m, a, b, loaded, DEPTH)
    acc = gl.zeros([M, N], gl.float32, layout)
    for own in range(tiles):
        for step in range(steps):
            mbarrier.wait(loaded.index(count % DEPTH), count // DEPTH & 1)
            acc = warpgroup_mma(
                a.index(count % DEPTH), b.index(count % DEPTH), acc, use_acc=step > 0, is_async=True
            )
            acc = warpgroup_mma_wait(1, deps=(acc,))  # the product before this one: its buffers are free
            fetch(count + DEPTH - 1, tiles * steps, steps, a_desc, b_desc, tiles_m, a, b, loaded, DEPTH)
            count += 1
        acc = warpgroup_mma_wait(0, deps=(acc,))
        tma.store_wait(0)  # the store of the tile before has read `result`
        result.store(acc.to(out_desc.dtype))
        fence_async_shared()
        tile = gl.program_id(0) + own * gl.num_programs(0)
        tma.async_store(out_desc, [tile % tiles_m * M, tile // tiles_m * N], result)
    tma.store_wait(0)


def run(**level):
    a, b = whole(200, 96), whole(96, 136)
    out = torch.zeros(200, 136, dtype=torch.float16, device=a.device)
    descriptors = described(a, [64, 32]), described(b, [32, 64]), described(out, [64, 64])
    matmul[(3,)](*descriptors, DEPTH=3, num_warps=4, **level)
    return out, a.float() @ b.float()


if __name__ == "__main__":
    main(run, "cuda:90")
