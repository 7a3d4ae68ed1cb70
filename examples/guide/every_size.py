"""Three kernels that are right at all sizes that are tried here, and one that is right at every size
(doc/guide/prove.md).

python examples/guide/every_size.py
"""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def softmax(x, out, stride_x, stride_out, rows, columns, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * stride_x + at, mask=at < columns, other=-float("inf"))
        e = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * stride_out + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def attention(q, k, v, out, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    rows = tl.load(q + m[:, None] * D + d[None, :], mask=m[:, None] < N, other=0.0)
    total, weights = tl.zeros((BM, D), tl.float32), tl.zeros((BM,), tl.float32)
    for start in range(0, N, BN):
        n = start + tl.arange(0, BN)
        inside = (n < N) | (N % BM == 0)  # whole blocks need no mask: but the blocks of k have BN rows
        keys = tl.load(k + n[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        values = tl.load(v + n[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        p = tl.where(inside[None, :], tl.exp(tl.dot(rows, tl.trans(keys)) * 0.125), 0.0)
        weights += tl.sum(p, axis=1)
        total = tl.dot(p, values, total)
    tl.store(out + m[:, None] * D + d[None, :], total / weights[:, None], mask=m[:, None] < N)


@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def softmax_of(x):
    out = torch.empty_like(x)
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    softmax[(min(rows, 64),)](x, out, x.stride(0), out.stride(0), rows, columns, BLOCK=block)
    return out


def attention_of(q, k, v):
    out = torch.empty_like(q)
    n = q.shape[0]
    attention[(triton.cdiv(n, 64),)](q, k, v, out, n, BM=64, BN=128, D=64)
    return out


def doubled(x):
    out = torch.empty_like(x)
    n = x.numel()
    double[((n + 1000) // 1024,)](x, out, n, BLOCK=1024)
    return out


torch.manual_seed(0)
x = torch.randn(100, 200, device=DEVICE)
torch.testing.assert_close(softmax_of(x), torch.softmax(x, 1))
for n in (100, 256, 1024):
    q, k, v = (torch.randn(n, 64, device=DEVICE) for _ in range(3))
    torch.testing.assert_close(attention_of(q, k, v), torch.softmax(q @ k.T / 8, 1) @ v, rtol=1e-2, atol=1e-3)
for n in (1000, 5000, 65536):
    x = torch.randn(n, device=DEVICE)
    torch.testing.assert_close(doubled(x), 2 * x)
print("all as torch")
