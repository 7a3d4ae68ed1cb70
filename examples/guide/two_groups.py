"""Two groups of warps hand a buffer to each other, with a fault: see doc/guide/debug.md."""

import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier
from triton_runner import gluon


@gluon.jit
def produce(x_ptr, buffer, full, empty, steps, layout: gl.constexpr):
    offsets = gl.arange(0, 128, layout)
    for step in range(steps):
        mbarrier.wait(empty, (step & 1) ^ 1)
        buffer.store(gl.load(x_ptr + step * 128 + offsets))
        mbarrier.arrive(full)


@gluon.jit
def consume(out_ptr, buffer, full, empty, steps, layout: gl.constexpr):
    acc = gl.zeros([128], gl.float32, layout)
    for step in range(steps):
        mbarrier.wait(full, step & 1)
        acc += buffer.load(layout)
    gl.store(out_ptr + gl.arange(0, 128, layout), acc)


@gluon.jit
def column_sums(x_ptr, out_ptr, steps):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffer = gl.allocate_shared_memory(gl.float32, [128], shared)
    full, empty = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=1)
    gl.warp_specialize(
        [
            (consume, (out_ptr, buffer, full, empty, steps, layout)),
            (produce, (x_ptr, buffer, full, empty, steps, layout)),
        ],
        [4],
        [24],
    )


if __name__ == "__main__":
    x, out = torch.ones(4, 128), torch.zeros(128)
    column_sums[(1,)](x, out, 4, num_warps=4, maxnreg=128)
    print("every column adds up to 4:", bool((out == 4).all()))
