"""Two groups of warps of a kernel in Gluon, which hand a buffer to each other; without SAYS the reader never
says that it has read, and both wait for ever."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier


@gluon.jit
def fill(x_ptr, buffer, full, empty, steps, layout: gl.constexpr):
    offsets = gl.arange(0, 128, layout)
    for step in range(steps):
        mbarrier.wait(empty, (step & 1) ^ 1)
        x = gl.load(x_ptr + step * 128 + offsets)
        buffer.store(x)
        mbarrier.arrive(full)


@gluon.jit
def drain(out_ptr, buffer, full, empty, steps, SAYS: gl.constexpr, layout: gl.constexpr):
    acc = gl.zeros([128], gl.float32, layout)
    for step in range(steps):
        mbarrier.wait(full, step & 1)
        acc += buffer.load(layout)
        if SAYS:
            mbarrier.arrive(empty)
    gl.store(out_ptr + gl.arange(0, 128, layout), acc)


@gluon.jit
def in_groups(x_ptr, out_ptr, steps, SAYS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffer = gl.allocate_shared_memory(gl.float32, [128], shared)
    full, empty = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=1)
    gl.warp_specialize(
        [
            (drain, (out_ptr, buffer, full, empty, steps, SAYS, layout)),
            (fill, (x_ptr, buffer, full, empty, steps, layout)),
        ],
        [4],
        [24],
    )


def groups(says=True):
    in_groups[(1,)](torch.ones(4, 128), torch.zeros(128), 4, SAYS=says, num_warps=4, maxnreg=128)


def deadlock():
    groups(says=False)


if __name__ == "__main__":
    deadlock()
