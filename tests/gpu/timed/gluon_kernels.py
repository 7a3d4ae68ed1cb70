"""Gluon kernels of the timed launches (Triton 3.6 on, sm_90): a persistent product through TMA and
wgmma, a sum whose partitions load, add and store, a product one of whose warps loads."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

ELEMENTS = {torch.float16: gl.float16, torch.float32: gl.float32}


def described(tensor, block):
    """A TMA descriptor of a tensor, for blocks of a shape."""
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    layout = gl.NVMMASharedLayout.get_default_for(block, ELEMENTS[tensor.dtype])
    return TensorDescriptor.from_tensor(tensor, block, layout)


@gluon.jit
def rings(desc, DEPTH: gl.constexpr):
    return gl.allocate_shared_memory(desc.dtype, [DEPTH] + desc.block_type.shape, desc.layout)  # noqa: RUF005


@gluon.jit
def barriers(DEPTH: gl.constexpr):
    made = gl.allocate_shared_memory(gl.int64, [DEPTH, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(DEPTH):
        mbarrier.init(made.index(i), count=1)
    return made


@gluon.jit
def fetch(count, total, steps, a_desc, b_desc, tiles_m, a, b, loaded, DEPTH: gl.constexpr):
    """Load number `count` of this program, counted over all of its tiles."""
    tile = gl.program_id(0) + count // steps * gl.num_programs(0)
    k = count % steps * a_desc.block_type.shape[1]
    pred = count < total
    here = loaded.index(count % DEPTH)
    mbarrier.expect(here, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
    tma.async_copy_global_to_shared(
        a_desc, [tile % tiles_m * a_desc.block_type.shape[0], k], here, a.index(count % DEPTH), pred
    )
    tma.async_copy_global_to_shared(
        b_desc, [k, tile // tiles_m * b_desc.block_type.shape[1]], here, b.index(count % DEPTH), pred
    )


@gluon.jit
def persistent(a_desc, b_desc, out_desc, DEPTH: gl.constexpr, num_warps: gl.constexpr):
    M: gl.constexpr = out_desc.block_type.shape[0]
    N: gl.constexpr = out_desc.block_type.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, N, 16])
    a, b = rings(a_desc, DEPTH), rings(b_desc, DEPTH)
    result = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_type.shape, out_desc.layout)
    loaded = barriers(DEPTH)
    tiles_m = gl.cdiv(out_desc.shape[0], M)
    tiles = gl.cdiv(tiles_m * gl.cdiv(out_desc.shape[1], N) - gl.program_id(0), gl.num_programs(0))
    steps = gl.cdiv(a_desc.shape[1], a_desc.block_type.shape[1])
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
        tma.async_copy_shared_to_global(out_desc, [tile % tiles_m * M, tile // tiles_m * N], result)
    tma.store_wait(0)


@gluon.jit
def loads(x_desc, y_desc, x, y, full, empty, row, steps):
    DEPTH: gl.constexpr = x.shape[0]
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(empty.index(at), (step // DEPTH & 1) ^ 1)
        mbarrier.expect(full.index(at), x_desc.block_type.nbytes + y_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(x_desc, [row, step * x.shape[2]], full.index(at), x.index(at))
        tma.async_copy_global_to_shared(y_desc, [row, step * y.shape[2]], full.index(at), y.index(at))


@gluon.jit
def sums(x, y, out, full, empty, out_full, out_empty, steps, layout: gl.constexpr):
    DEPTH: gl.constexpr = x.shape[0]
    for step in range(steps):
        at, phase = step % DEPTH, step // DEPTH & 1
        mbarrier.wait(full.index(at), phase)
        total = x.index(at).load(layout) + y.index(at).load(layout)
        fence_async_shared()  # the loads that overwrite these buffers come after
        mbarrier.arrive(empty.index(at), count=1)
        mbarrier.wait(out_empty.index(at), phase ^ 1)
        out.index(at).store(total)
        fence_async_shared()  # the store engine sees what the threads wrote
        mbarrier.arrive(out_full.index(at), count=1)


@gluon.jit
def stores(out_desc, out, out_full, out_empty, row, steps):
    DEPTH: gl.constexpr = out.shape[0]
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(out_full.index(at), step // DEPTH & 1)
        tma.async_copy_shared_to_global(out_desc, [row, step * out.shape[2]], out.index(at))
        tma.store_wait(0)
        mbarrier.arrive(out_empty.index(at), count=1)


@gluon.jit
def partitioned_add(x_desc, y_desc, out_desc, DEPTH: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, num_warps], [1, 0])
    x, y, out = rings(x_desc, DEPTH), rings(y_desc, DEPTH), rings(out_desc, DEPTH)
    full, empty, out_full, out_empty = barriers(DEPTH), barriers(DEPTH), barriers(DEPTH), barriers(DEPTH)
    row = gl.program_id(0) * x_desc.block_type.shape[0]
    steps = gl.cdiv(x_desc.shape[1], x_desc.block_type.shape[1])
    gl.warp_specialize(
        [
            (sums, (x, y, out, full, empty, out_full, out_empty, steps, layout)),
            (loads, (x_desc, y_desc, x, y, full, empty, row, steps)),
            (stores, (out_desc, out, out_full, out_empty, row, steps)),
        ],
        [1, 1],  # warps of the second and third partition
        [24, 24],  # and their registers
    )


@gluon.jit
def fetch_tiles(a_desc, b_desc, a, b, full, empty, row, column, steps):
    DEPTH: gl.constexpr = a.shape[0]
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(empty.index(at), (step // DEPTH & 1) ^ 1)
        mbarrier.expect(full.index(at), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        k = step * a_desc.block_type.shape[1]
        tma.async_copy_global_to_shared(a_desc, [row, k], full.index(at), a.index(at))
        tma.async_copy_global_to_shared(b_desc, [k, column], full.index(at), b.index(at))


@gluon.jit
def multiply_tiles(a, b, out_desc, result, full, empty, row, column, steps, layout: gl.constexpr):
    DEPTH: gl.constexpr = a.shape[0]
    M: gl.constexpr = out_desc.block_type.shape[0]
    N: gl.constexpr = out_desc.block_type.shape[1]
    acc = gl.zeros([M, N], gl.float32, layout)
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(full.index(at), step // DEPTH & 1)
        acc = warpgroup_mma(a.index(at), b.index(at), acc, use_acc=step > 0, is_async=True)
        acc = warpgroup_mma_wait(1, deps=(acc,))
        if step > 0:
            mbarrier.arrive(empty.index((step + DEPTH - 1) % DEPTH), count=1)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    result.store(acc.to(out_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(out_desc, [row, column], result)
    tma.store_wait(0)


@gluon.jit
def partitioned_product(a_desc, b_desc, out_desc, DEPTH: gl.constexpr, num_warps: gl.constexpr):
    M: gl.constexpr = out_desc.block_type.shape[0]
    N: gl.constexpr = out_desc.block_type.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, N, 16])
    a, b = rings(a_desc, DEPTH), rings(b_desc, DEPTH)
    result = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_type.shape, out_desc.layout)
    full, empty = barriers(DEPTH), barriers(DEPTH)
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    steps = gl.cdiv(a_desc.shape[1], a_desc.block_type.shape[1])
    gl.warp_specialize(
        [
            (multiply_tiles, (a, b, out_desc, result, full, empty, row, column, steps, layout)),
            (fetch_tiles, (a_desc, b_desc, a, b, full, empty, row, column, steps)),
        ],
        [1],
        [24],
    )
