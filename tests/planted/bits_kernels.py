"""Small kernels whose bits depend, or do not depend, on how they are compiled and launched (bits.py)."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def elementwise(x, y, out, n, BLOCK: tl.constexpr, KIND: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=0.0), tl.load(y + i, mask=i < n, other=0.0)
    if KIND == "add":
        c = a + b
    elif KIND == "product":
        c = a * b
    elif KIND == "axpy":
        c = a * 1.7 + b
    elif KIND == "polynomial":
        c = ((a * 0.3 + 1.1) * a + b) * a - 0.7
    elif KIND == "exp":
        c = tl.exp(a) - b
    elif KIND == "divided":
        c = a / (b * b + 1.0)
    elif KIND == "product, then rounded":
        c = (a * b).to(tl.float16).to(tl.float32) + a
    elif KIND == "left":
        c = (a + b) + 0.3
    elif KIND == "right":
        c = a + (b + 0.3)
    elif KIND == "precise":
        c = tl.div_rn(a, b * b + 1.0)
    elif KIND == "narrow":
        c = (a.to(tl.float16) + b.to(tl.float16)).to(tl.float32)
    elif KIND == "random":
        c = tl.rand(7, i) + a
    else:
        c = tl.where(a > b, a, b)
    tl.store(out + i, c, mask=i < n)


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n, delta = n_a + n_b, mean_b - mean_a
    share = tl.where(n == 0.0, 0.0, n_b / n)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr, KIND: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    a = tl.load(x + row * n + i, mask=i < n, other=0.0)
    if KIND == "sum":
        c = tl.zeros([BLOCK], tl.float32) + tl.sum(a, 0)
    elif KIND == "sum of all":
        c = tl.zeros([BLOCK], tl.float32) + tl.sum(a)
    elif KIND == "squares":
        c = tl.zeros([BLOCK], tl.float32) + tl.sum(a * a, 0)
    elif KIND == "max":
        c = tl.zeros([BLOCK], tl.float32) + tl.max(a, 0)
    elif KIND == "larger":
        c = tl.zeros([BLOCK], tl.float32) + tl.reduce(a, 0, larger)
    elif KIND == "whole numbers":
        c = tl.zeros([BLOCK], tl.float32) + tl.sum((a * 8).to(tl.int32), 0).to(tl.float32)
    elif KIND == "exact":
        c = tl.zeros([BLOCK], tl.float32) + tl.sum((a * 8).to(tl.int32).to(tl.float32), 0)
    elif KIND == "cumsum":
        c = tl.cumsum(a, 0)
    elif KIND == "sort":
        c = tl.sort(a)
    elif KIND == "softmax":
        e = tl.exp(a - tl.max(a, 0))
        c = e / tl.sum(e, 0)
    elif KIND == "welford":
        mean, m2, count = tl.reduce((a, tl.zeros_like(a), tl.zeros_like(a) + 1.0), 0, welford)
        c = (a - mean) * tl.rsqrt(m2 / count + 1e-5)
    else:
        d = a - tl.sum(a, 0) / n
        c = d * tl.rsqrt(tl.sum(d * d, 0) / n + 1e-5)
    tl.store(out + row * n + i, c, mask=i < n)


@triton.jit
def columns(x, turned, out, TURNED: tl.constexpr):
    """Running sums over 64 rows of 8, which lie one way or the other."""
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 8)[None, :]
    if TURNED:
        a = tl.load(turned + j * 64 + i)
    else:
        a = tl.load(x + i * 8 + j)
    tl.store(out + i * 8 + j, tl.cumsum(a, 0))


@triton.jit
def boxes(desc_x, desc_out, BLOCK: tl.constexpr):
    """Rows through tensor descriptors, in boxes of two."""
    row = tl.program_id(0) * 2
    a = desc_x.load([row, 0])
    desc_out.store([row, 0], a * 1.5 + tl.sum(a, 1)[:, None])


@triton.jit
def looped(x, out, n, BLOCK: tl.constexpr):
    row = x + tl.program_id(0) * n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(row + start + tl.arange(0, BLOCK))
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def chain(x, out, n, STEP: tl.constexpr):
    """One number a turn, or two that are added first."""
    row = x + tl.program_id(0) * n
    total = 0.0
    for start in range(0, n, STEP):
        part = tl.load(row + start)
        if STEP == 2:
            part += tl.load(row + start + 1)
        total += part
    tl.store(out + tl.program_id(0), total)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
            SPLIT: tl.constexpr, GROUP: tl.constexpr):  # fmt: skip
    pid, across = tl.program_id(0), tl.cdiv(N, BN)
    if GROUP == 1:
        pm, pn = pid // across, pid % across
    else:
        pm, pn = tl.swizzle2d(pid // across, pid % across, tl.cdiv(M, BM), across, GROUP)
    i, j, k = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(tl.program_id(1) * BK, K, BK * SPLIT):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :], mask=(i < M)[:, None], other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + j[None, :])
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    to = c + i[:, None] * N + j[None, :]
    if SPLIT == 1:
        tl.store(to, acc, mask=(i < M)[:, None])
    else:
        tl.atomic_add(to, acc, mask=(i < M)[:, None])


@triton.jit
def counted(x, out, n, BLOCK: tl.constexpr, KIND: tl.constexpr):
    a = tl.load(x + tl.program_id(0) * n + tl.arange(0, BLOCK))
    to = out + tl.arange(0, BLOCK)
    if KIND == "add":
        tl.atomic_add(to, a)
    elif KIND == "max":
        tl.atomic_max(to, a)
    else:
        tl.atomic_add(to, (a * 8).to(tl.int32).to(tl.float32))


@triton.jit
def locked(x, out, lock, n, BLOCK: tl.constexpr):
    a = tl.load(x + tl.program_id(0) * n + tl.arange(0, BLOCK))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    to = out + tl.arange(0, BLOCK)
    tl.store(to, tl.load(to) + a)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def _random(*shape, dtype=torch.float32):
    torch.manual_seed(sum(shape))
    return torch.randn(shape).to(dtype)


def launch_elementwise(KIND="add", BLOCK=256):
    x, y, out = _random(3000), _random(3001)[:3000].contiguous(), torch.zeros(3000)
    elementwise[lambda meta: (triton.cdiv(3000, meta["BLOCK"]),)](x, y, out, 3000, BLOCK=BLOCK, KIND=KIND)


def launch_rows(KIND="sum", BLOCK=512):
    x = _random(24, 500)
    rows[(24,)](x, torch.zeros_like(x), 500, BLOCK=BLOCK, KIND=KIND)


def launch_columns():
    x = _random(64, 8)
    columns[(1,)](x, x.t().contiguous(), torch.zeros_like(x), TURNED=False)


def launch_boxes():
    x = _random(16, 256)
    given = [TensorDescriptor.from_tensor(one, [2, 256]) for one in (x, torch.zeros_like(x))]
    boxes[(8,)](*given, BLOCK=256)


def launch_looped():
    looped[(24,)](_random(24, 1024), torch.zeros(24), 1024, BLOCK=128)


def launch_chain():
    chain[(24,)](_random(24, 64), torch.zeros(24), 64, STEP=1)


def launch_product(dtype=torch.float16, M=64, **more):
    a, b, c = _random(M, 256, dtype=dtype), _random(256, 64, dtype=dtype), torch.zeros(M, 64)
    options = {"BM": 32, "BN": 32, "BK": 32, "PRECISION": "tf32", "SPLIT": 1, "GROUP": 1, **more}

    def grid(meta):
        return triton.cdiv(M, meta["BM"]) * (64 // meta["BN"]), meta["SPLIT"]

    product[grid](a, b, c, M, 64, 256, **options)


def launch_counted(KIND="add"):
    counted[(6,)](_random(6, 128), torch.zeros(128), 128, BLOCK=128, KIND=KIND)


def launch_locked():
    locked[(6,)](_random(6, 128), torch.zeros(128), torch.zeros(1, dtype=torch.int32), 128, BLOCK=128)


def batch(x, choose):
    """A row's sum of squares; choose(rows): the number of warps and the block."""
    warps, block = choose(x.shape[0])
    out = torch.empty(x.shape[0])
    looped[(x.shape[0],)](x, out, x.shape[1], BLOCK=block, num_warps=warps)
    return out
