"""Has kernels that write a part of what they are given, for the programs of unwritten_right.py and
unwritten_wrong.py."""

import torch
import triton
import triton.language as tl
import triton_runner


@triton.jit
def copy(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, at < n), at < n)


@triton.jit
def rows(x, y, m, n, x_stride, y_stride, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    inside = (i < m) & (j < n)
    tl.store(y + i * y_stride + j, tl.load(x + i * x_stride + j, inside), inside)


@triton.jit
def persistent(x, y, n, step, B: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, B), step):
        at = block * B + tl.arange(0, B)
        tl.store(y + at, 2 * tl.load(x + at, at < n), at < n)


@triton.jit
def put(x, slots, cache, n: tl.constexpr):
    """Row i of x goes to the row slots[i] of the cache."""
    slot = tl.load(slots + tl.program_id(0))
    at = tl.arange(0, n)
    tl.store(cache + slot * n + at, tl.load(x + tl.program_id(0) * n + at), slot >= 0)


@triton.jit
def take(cache, slots, y, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(y + tl.program_id(0) * n + at, tl.load(cache + tl.load(slots + tl.program_id(0)) * n + at))


@triton.jit
def transposed(x, y, m, n, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    inside = (i < m) & (j < n)
    tl.store(y + i * m + j, tl.load(x + i * n + j, inside), inside & (j < m))  # should be y + j * m + i


@triton.jit
def split(x, parts, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + at, at < n, 0.0), 0))


@triton.jit
def last_adds(x, parts, lock, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + at, at < n, 0.0), 0))
    if tl.atomic_add(lock, 1) == tl.num_programs(0) - 1:
        total = 0.0
        for part in range(tl.num_programs(0)):
            total += tl.load(parts + part)
        tl.store(y, total)


@triton.jit
def compact(x, y, count, n, B: tl.constexpr):
    at = tl.arange(0, B)
    keep = (tl.load(x + at, at < n, 0.0) > 0) & (at < n)
    place = tl.cumsum(keep.to(tl.int32), 0) - 1
    tl.store(y + place, tl.load(x + at, at < n, 0.0), keep)
    tl.store(count, tl.sum(keep.to(tl.int32), 0))


copy_arrays = triton_runner.jit(copy.fn)  # Triton's own take no arrays


def copied(size, n, dtype=torch.float32):
    """`size` elements of which a kernel wrote the first n."""
    x, y = torch.ones(n).to(dtype), torch.empty(size, dtype=dtype)
    copy[(triton.cdiv(n, 32),)](x, y, n, B=32)
    return y
