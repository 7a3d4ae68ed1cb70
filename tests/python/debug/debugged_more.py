"""Has kernels of further golden sessions: a sum that levels round in their own ways, a called function, an
assertion, NaN, TLX from its artifacts."""

import importlib

import corpus
import matrix
import torch
import triton
import triton.language as tl


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


def sums():
    x = torch.arange(4 * 32, dtype=torch.float32).sin()
    scaled_sum[(2,)](x, torch.zeros(32), 4, BLOCK=32)


def called():
    calls[(2,)](torch.arange(16.0), torch.zeros(16), BLOCK=8)


def asserted():
    asserts[(4,)](torch.arange(32.0), torch.zeros(32), BLOCK=8)


def nans():
    logarithms[(4,)](torch.arange(32.0), torch.zeros(32), BLOCK=8)


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
