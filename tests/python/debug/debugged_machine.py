"""Has kernels of Gluon for the golden sessions: two groups of warps that hand a buffer to each other, and a
copy that goes on by itself."""

import torch
import triton_runner
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import mbarrier


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
        mbarrier.arrive(empty)
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


@gluon.jit
def copied(x_ptr, out_ptr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffer = gl.allocate_shared_memory(gl.float32, [128], shared)
    offsets = gl.arange(0, 128, layout)
    async_copy.async_load(buffer, x_ptr + offsets)
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(out_ptr + offsets, buffer.load(layout))


def sums() -> None:
    x, out = torch.arange(4 * 128, dtype=torch.float32).reshape(4, 128), torch.zeros(128)
    with triton_runner.using(target="cuda:90"):
        column_sums[(1,)](x, out, 4, num_warps=4, maxnreg=128)
    assert torch.equal(out, x.sum(0)), out


def copies() -> None:
    x, out = torch.arange(128, dtype=torch.float32), torch.zeros(128)
    with triton_runner.using(target="cuda:90"):
        copied[(1,)](x, out)
    assert torch.equal(out, x), out


if __name__ == "__main__":
    sums()
