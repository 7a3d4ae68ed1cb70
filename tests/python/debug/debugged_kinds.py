"""Has kernels of other kinds for the golden sessions: with dl.breakpoint, Gluon's, autotuned, several that
are pending, one before the program's end by os._exit."""

import os

import torch
import triton
import triton.language as tl
import triton_runner.language as dl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@triton.jit
def marked(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    for _ in range(2):
        x *= 2
        dl.breakpoint(x > 100)
    tl.store(out_ptr + offsets, x)


@triton.jit
def always(out_ptr):
    dl.breakpoint()
    tl.store(out_ptr + tl.program_id(0), 1.0)


@gluon.jit
def turned(x_ptr, out_ptr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [8, 4], [4, 1], [1, 0])
    rows = gl.arange(0, N, gl.SliceLayout(1, layout))
    columns = gl.arange(0, N, gl.SliceLayout(0, layout))
    x = gl.load(x_ptr + rows[:, None] * N + columns[None, :])
    total = gl.sum(x, axis=1)
    gl.store(out_ptr + rows, total)


@triton.autotune(configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["n"])
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + 1, mask=offsets < n)


@triton.jit
def last(out_ptr):
    tl.store(out_ptr, 7.0)


def marks(device="cpu"):
    x, out = torch.arange(32, dtype=torch.float32, device=device), torch.zeros(32, device=device)
    marked[(4,)](x, out, BLOCK=8)
    return x, out


def marks_always():
    always[(2,)](torch.zeros(2))


def gluons():
    turned[(1,)](torch.arange(256.0).reshape(16, 16), torch.zeros(16), N=16)


def tunes():
    x, out = torch.arange(32, dtype=torch.float32), torch.zeros(32)
    tuned[lambda meta: (triton.cdiv(32, meta["BLOCK"]),)](x, out, 32)


def several():
    _, out = marks()
    tunes()
    last[(1,)](out)


def compiled():
    import torch._inductor.config

    with torch._inductor.config.patch(cpu_backend="triton"):
        result = torch.compile(lambda x: torch.relu(x - 3) * 2)(torch.arange(32, dtype=torch.float32))
    assert result[5] == 4, result


if __name__ == "__main__":
    marks("cuda")
    last[(1,)](torch.zeros(1, device="cuda"))
    print("about to go", flush=True)
    os._exit(3)
