"""Kernels of further golden sessions: a sum that levels round in their own ways, a called function, an
assertion, NaN, groups of warps in Gluon with and without a fault, TLX from its artifacts."""

import importlib

import corpus
import matrix
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier


@triton.jit
def scaled_sum(x_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        x = tl.load(x_ptr + row * BLOCK + offsets)
        acc += x * 0.1
    tl.store(out_ptr + offsets, acc)


@triton.jit(noinline=True)
def clipped(x, most):
    too_large = x > most
    return most if too_large else x


@triton.jit
def calls(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    total = clipped(tl.sum(x), 50.0)
    tl.store(out_ptr + offsets, x / total)


@triton.jit(debug=True)
def asserts(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.device_assert(x < 20, "x is too large")
    tl.store(out_ptr + offsets, x)


@triton.jit
def logarithms(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.sqrt(x - 2)
    tl.store(out_ptr + offsets, y * 3)


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


def sums():
    x = torch.arange(4 * 32, dtype=torch.float32).sin()
    scaled_sum[(2,)](x, torch.zeros(32), 4, BLOCK=32)


def called():
    calls[(2,)](torch.arange(16.0), torch.zeros(16), BLOCK=8)


def asserted():
    asserts[(4,)](torch.arange(32.0), torch.zeros(32), BLOCK=8)


def nans():
    logarithms[(4,)](torch.arange(32.0), torch.zeros(32), BLOCK=8)


def groups(says=True):
    in_groups[(1,)](torch.ones(4, 128), torch.zeros(128), 4, SAYS=says, num_warps=4, maxnreg=128)


def deadlock():
    groups(says=False)


def tlx(kernel: str):
    """A kernel in TLX, from the artifacts of the release that has it."""
    from kernels import harness

    folder = str(corpus.folder(matrix.TLX_RELEASE) / f"sm{matrix.TLX[kernel]}")
    run = importlib.import_module(f"kernels.{kernel}").run
    run(harness.Device(), **{f"{level}_dir": folder for level in _tlx_level()})


def _tlx_level():
    from triton_runner import _settings

    return [_settings.current().level or "ttgir"]


def tlx_matmul():
    tlx("tlx_matmul")


def tlx_tasks():
    tlx("tlx_matmul_ws")
