"""Warp specialisation (sm_90 and later): one partition loads, one adds, one stores; each waits for the others
at barriers, "full" and "empty" for each buffer of a ring."""

import torch
from shared import described, main, whole
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton_runner import gluon


@gluon.jit
def loads(x_desc, y_desc, x, y, full, empty, row, steps):
    DEPTH: gl.constexpr = x.shape[0]
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(empty.index(at), (step // DEPTH & 1) ^ 1)
        mbarrier.expect(full.index(at), x_desc.nbytes_per_cta + y_desc.nbytes_per_cta)
        tma.async_load(x_desc, [row, step * x.shape[2]], full.index(at), x.index(at))
        tma.async_load(y_desc, [row, step * y.shape[2]], full.index(at), y.index(at))


@gluon.jit
def sums(x, y, out, full, empty, out_full, out_empty, steps, layout: gl.constexpr):
    DEPTH: gl.constexpr = x.shape[0]
    for step in range(steps):
        at, phase = step % DEPTH, step // DEPTH & 1
        mbarrier.wait(full.index(at), phase)
        total = x.index(at).load(layout) + y.index(at).load(layout)
        fence_async_shared()  # the loads that overwrite these buffers come after
        mbarrier.arrive(empty.index(at))
        mbarrier.wait(out_empty.index(at), phase ^ 1)
        out.index(at).store(total)
        fence_async_shared()  # the store engine sees what the threads wrote
        mbarrier.arrive(out_full.index(at))


@gluon.jit
def stores(out_desc, out, out_full, out_empty, row, steps):
    DEPTH: gl.constexpr = out.shape[0]
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(out_full.index(at), step // DEPTH & 1)
        tma.async_store(out_desc, [row, step * out.shape[2]], out.index(at))
        tma.store_wait(0)
        mbarrier.arrive(out_empty.index(at))


@gluon.jit
def barriers(DEPTH: gl.constexpr):
    made = mbarrier.allocate_mbarrier(batch=DEPTH)
    for i in gl.static_range(DEPTH):
        mbarrier.init(made.index(i), count=1)
    return made


@gluon.jit
def add(x_desc, y_desc, out_desc, DEPTH: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, num_warps], [1, 0])
    x = gl.allocate_shared_memory(x_desc.dtype, [DEPTH] + x_desc.block_shape, x_desc.layout)  # noqa: RUF005
    y = gl.allocate_shared_memory(y_desc.dtype, [DEPTH] + y_desc.block_shape, y_desc.layout)  # noqa: RUF005
    out = gl.allocate_shared_memory(out_desc.dtype, [DEPTH] + out_desc.block_shape, out_desc.layout)  # noqa: RUF005
    full, empty, out_full, out_empty = barriers(DEPTH), barriers(DEPTH), barriers(DEPTH), barriers(DEPTH)
    row = gl.program_id(0) * x_desc.block_shape[0]
    steps = gl.cdiv(x_desc.shape[1], x_desc.block_shape[1])
    gl.warp_specialize(
        [
            (sums, (x, y, out, full, empty, out_full, out_empty, steps, layout)),
            (loads, (x_desc, y_desc, x, y, full, empty, row, steps)),
            (stores, (out_desc, out, out_full, out_empty, row, steps)),
        ],
        [1, 1],  # warps of the second and third partition
        [24, 24],  # and their registers
    )


def run(**level):
    x, y = whole(70, 200, dtype=torch.float32), whole(70, 200, dtype=torch.float32)
    out = torch.zeros_like(x)
    add[(3,)](*(described(t, [32, 64]) for t in (x, y, out)), DEPTH=2, num_warps=4, maxnreg=128, **level)
    return out, x + y


if __name__ == "__main__":
    main(run, "cuda:90")
