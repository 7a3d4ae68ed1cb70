"""Small kernels of tl.rand, tl.sort, tl.cumsum and the like, with what NumPy says that they give: for
the CPU and for a GPU.

`checks(device)` yields (name, got, wanted, tolerance in absolute terms); 0 means bit for bit.
"""

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl

from . import philox as oracle

SEED = 0x0123456789ABCDEF


@triton.jit
def random_kernel(ints, floats, normals, four, seed, start, N: tl.constexpr, ROUNDS: tl.constexpr):
    i = tl.arange(0, N)
    offset = start + i
    tl.store(ints + i, tl.randint(seed, offset, ROUNDS))
    tl.store(floats + i, tl.rand(seed, offset, ROUNDS))
    tl.store(normals + i, tl.randn(seed, offset, ROUNDS))
    a, b, c, d = tl.randint4x(seed, offset, ROUNDS)
    tl.store(four + i, a)
    tl.store(four + N + i, b)
    tl.store(four + 2 * N + i, c)
    tl.store(four + 3 * N + i, d)


@triton.jit
def random4_kernel(uniform, normal, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.rand4x(seed, i)
    tl.store(uniform + i, a)
    tl.store(uniform + N + i, b)
    tl.store(uniform + 2 * N + i, c)
    tl.store(uniform + 3 * N + i, d)
    a, b, c, d = tl.randn4x(seed, i)
    tl.store(normal + i, a)
    tl.store(normal + N + i, b)
    tl.store(normal + 2 * N + i, c)
    tl.store(normal + 3 * N + i, d)


@triton.jit
def philox_kernel(counters, out, seed, N: tl.constexpr, ROUNDS: tl.constexpr):
    i = tl.arange(0, N)
    c0 = tl.load(counters + i)
    c1 = tl.load(counters + N + i)
    c2 = tl.load(counters + 2 * N + i)
    c3 = tl.load(counters + 3 * N + i)
    a, b, c, d = tl.philox(seed, c0, c1, c2, c3, ROUNDS)
    tl.store(out + i, a.to(c0.dtype, bitcast=True))
    tl.store(out + N + i, b.to(c0.dtype, bitcast=True))
    tl.store(out + 2 * N + i, c.to(c0.dtype, bitcast=True))
    tl.store(out + 3 * N + i, d.to(c0.dtype, bitcast=True))


@triton.jit
def order_kernel(x, ascending, descending, sums, products, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    tl.store(ascending + i, tl.sort(v, 1))
    tl.store(descending + i, tl.sort(v, 1, True))
    tl.store(sums + i, tl.cumsum(v, 0))
    tl.store(products + i, tl.cumprod(v, 1))


def _empty(shape, dtype, device):
    return torch.empty(shape, dtype=dtype, device=device)


def _random(device: str, start: int, rounds: int, n: int = 256):
    ints, floats = _empty(n, torch.int32, device), _empty(n, torch.float32, device)
    normals, four = _empty(n, torch.float32, device), _empty((4, n), torch.int32, device)
    random_kernel[(1,)](ints, floats, normals, four, SEED, start, n, rounds)
    offset = np.arange(start, start + n, dtype=np.int64)
    words = oracle.randint4x(SEED, offset, rounds)
    name = f"start {start:#x}, {rounds} rounds"
    yield f"randint, {name}", ints, words[0].view(np.int32), 0
    yield f"randint4x, {name}", four, np.stack(words).view(np.int32), 0
    yield f"rand, {name}", floats, oracle.uniform(words[0]), 0
    u1, u2 = oracle.uniform(words[0]), oracle.uniform(words[1])
    yield f"randn, {name}", normals, oracle.normal(u1, u2)[0].astype(np.float32), 2e-6


def _random4(device: str, n: int = 64):
    uniform, normal = _empty((4, n), torch.float32, device), _empty((4, n), torch.float32, device)
    random4_kernel[(1,)](uniform, normal, 7, n)
    u = [oracle.uniform(w) for w in oracle.randint4x(7, np.arange(n))]
    yield "rand4x", uniform, np.stack(u), 0
    wanted = np.stack([*oracle.normal(u[0], u[1]), *oracle.normal(u[2], u[3])]).astype(np.float32)
    yield "randn4x", normal, wanted, 2e-6


def _philox(device: str, n: int = 64):
    generator = np.random.default_rng(11)
    for bits, dtype in ((32, np.int32), (64, np.int64)):
        info = np.iinfo(dtype)
        counters = generator.integers(info.min, info.max, (4, n), dtype, endpoint=True)
        counters[:, :2] = [[0, -1]] * 4
        given = torch.from_numpy(counters).to(device)
        out = torch.empty_like(given)
        philox_kernel[(1,)](given, out, SEED, n, 10)
        words = oracle.philox(SEED, *counters.view(f"u{bits // 8}"), bits=bits)
        yield f"philox, {bits} bits", out, np.stack(words).view(dtype), 0


def _order(device: str, m: int = 8, n: int = 32):
    generator = np.random.default_rng(13)
    for dtype in (np.int32, np.int64, np.int16):
        x = generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (m, n), dtype, endpoint=True)
        given = torch.from_numpy(x).to(device)
        outs = [torch.empty_like(given) for _ in range(2)]
        wide = torch.int64 if dtype == np.int64 else torch.int32  # tl.cumsum widens i16, tl.cumprod does not
        sums, products = _empty((m, n), wide, device), _empty((m, n), wide, device)
        order_kernel[(1,)](given, *outs, sums, products, m, n)
        yield f"sort, {np.dtype(dtype)}", outs[0], np.sort(x, 1), 0
        yield f"sort descending, {np.dtype(dtype)}", outs[1], np.sort(x, 1)[:, ::-1].copy(), 0
        if dtype != np.int16:
            yield f"cumsum, {np.dtype(dtype)}", sums, np.cumsum(x, 0, dtype), 0
            yield f"cumprod, {np.dtype(dtype)}", products, np.cumprod(x, 1, dtype), 0


def checks(device: str):
    """(name, got as NumPy, wanted, tolerance) of every check."""
    for start, rounds in ((0, 10), (2**32 - 100, 10), (2**40 + 5, 10), (3, 7)):
        yield from ((n, g.cpu().numpy(), w, t) for n, g, w, t in _random(device, start, rounds))
    for part in (_random4, _philox, _order):
        yield from ((n, g.cpu().numpy(), w, t) for n, g, w, t in part(device))


def equal(got, wanted, tolerance) -> bool:
    if tolerance == 0:
        return np.array_equal(got, wanted)
    return bool(np.all(np.abs(got.astype(np.float64) - wanted.astype(np.float64)) <= tolerance))
