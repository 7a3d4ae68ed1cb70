"""Kernels for planted.py, of many kinds: masks, gathers, reductions, scans, loops, products, integers."""

import torch
import triton
import triton.language as tl


@triton.jit
def masked_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=1.0), tl.load(y + i, mask=i < n, other=2.0)
    tl.store(out + i, a * 2.5 + b, mask=i < n)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(row - tl.max(row))
    tl.store(out + tl.program_id(0) * n + i, e / tl.sum(e), mask=i < n)


@triton.jit
def layer_norm(x, weight, bias, out, n, eps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + i
    row = tl.load(x + at, mask=i < n, other=0.0)
    mean = tl.sum(row) / n
    centred = tl.where(i < n, row - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred) / n + eps)
    w, b = tl.load(weight + i, mask=i < n), tl.load(bias + i, mask=i < n)
    tl.store(out + at, centred * scale * w + b, mask=i < n)


@triton.jit
def hashes(x, out, rounds, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.load(x + i).to(tl.uint32)
    for r in range(rounds):
        h = (h ^ (h >> 16)) * 0x45D9F3B
        h = tl.where(h & 1 == 0, h + r, (h << 7) | (h >> 25))
    tl.store(out + i, h.to(tl.int32, bitcast=True))


@triton.jit
def gather(table, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, mask=i < n, other=0)
    value = tl.load(table + at, mask=(i < n) & (at >= 0), other=-7)
    tl.store(out + i, tl.minimum(tl.maximum(value, -100), 100) // 3, mask=i < n)


@triton.jit
def scan(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + i, tl.cumsum(tl.load(x + tl.program_id(0) * BLOCK + i)))


@triton.jit
def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, KB: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, KB)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, K, KB):
        left = tl.load(a + m[:, None] * K + start + k[None, :])
        total += tl.dot(left, tl.load(b + (start + k)[:, None] * N + n[None, :]))
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))


@triton.jit
def wide(x, out, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i).to(tl.int64) * stride + i
    tl.store(out + i, (value >> 3) ^ (value << 11) - tl.abs(value))


@triton.jit
def transpose(x, out, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    tile = tl.load(x + r[:, None] * C + c[None, :])
    tl.store(out + c[:, None] * R + r[None, :], tl.trans(tile) + 1)


@triton.jit
def quantize(x, out, scales, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * BLOCK + i)
    scale = tl.max(tl.abs(row)) / 127
    value = row / scale
    rounded = tl.where(value >= 0, value + 0.5, value - 0.5).to(tl.int8)
    tl.store(out + tl.program_id(0) * BLOCK + i, rounded)
    tl.store(scales + tl.program_id(0), scale)


def main() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(1000), torch.randn(1000)
    masked_add[(4,)](x, y, torch.empty(1000), 1000, BLOCK=256)
    rows = torch.randn(4, 200)
    softmax[(4,)](rows, torch.empty(4, 200), 200, BLOCK=256)
    layer_norm[(4,)](rows, torch.randn(200), torch.randn(200), torch.empty(4, 200), 200, 1e-5, BLOCK=256)
    words = torch.randint(-(2**31), 2**31 - 1, (512,), dtype=torch.int32)
    hashes[(2,)](words, torch.empty(512, dtype=torch.int32), 5, BLOCK=256)
    index = torch.randint(-3, 300, (500,), dtype=torch.int32)
    table = torch.randint(-500, 500, (300,), dtype=torch.int32)
    gather[(4,)](table, index, torch.empty(500, dtype=torch.int32), 500, BLOCK=128)
    scan[(2,)](
        torch.randint(-99, 99, (512,), dtype=torch.int32), torch.empty(512, dtype=torch.int32), BLOCK=256
    )
    a, b = torch.randn(32, 64).half(), torch.randn(64, 32).half()
    matmul[(1,)](a, b, torch.empty(32, 32).half(), 64, M=32, N=32, KB=32)
    wide[(2,)](words, torch.empty(512, dtype=torch.int64), 1_000_003, BLOCK=256)
    transpose[(1,)](torch.randn(32, 64), torch.empty(64, 32), R=32, C=64)
    quantize[(3,)](torch.randn(3, 256), torch.empty(3, 256, dtype=torch.int8), torch.empty(3), BLOCK=256)
