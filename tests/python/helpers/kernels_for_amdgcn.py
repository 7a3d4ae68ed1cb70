"""Has kernels that the tests of AMD's machine code compile: reductions, products, atomics, bytes, calls."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    kept = at < n
    tl.store(out + at, tl.load(x + at, mask=kept) + tl.load(y + at, mask=kept), mask=kept)


@triton.jit
def softmax(x, out, n, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    value = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * n + at, value / tl.sum(value, 0), mask=at < n)


@triton.jit
def layer_norm(x, w, b, out, n, eps, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    kept = at < n
    value = tl.load(x + row * n + at, mask=kept, other=0.0)
    mean = tl.sum(value, 0) / n
    apart = tl.where(kept, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, 0) / n + eps)
    tl.store(
        out + row * n + at, apart * scale * tl.load(w + at, mask=kept) + tl.load(b + at, mask=kept), mask=kept
    )


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    at = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for begin in range(0, k, K):
        left = tl.load(a + i[:, None] * k + (begin + at)[None, :], mask=(begin + at)[None, :] < k, other=0.0)
        right = tl.load(b + (begin + at)[:, None] * n + j[None, :], mask=(begin + at)[:, None] < k, other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


@triton.jit
def attention(q, k, v, out, length, scale, L: tl.constexpr, D: tl.constexpr):
    rows, at, d = tl.program_id(0) * L + tl.arange(0, L), tl.arange(0, L), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    most = tl.full((L,), -float("inf"), tl.float32)
    weight, total = tl.zeros((L,), tl.float32), tl.zeros((L, D), tl.float32)
    for begin in range(0, length, L):
        keys = tl.load(k + (begin + at)[None, :] * D + d[:, None])
        score = tl.dot(query, keys) * scale
        next_most = tl.maximum(most, tl.max(score, 1))
        p, shrunk = tl.exp(score - next_most[:, None]), tl.exp(most - next_most)
        values = tl.load(v + (begin + at)[:, None] * D + d[None, :])
        total = total * shrunk[:, None] + tl.dot(p.to(tl.float16), values)
        weight, most = weight * shrunk + tl.sum(p, 1), next_most
    tl.store(out + rows[:, None] * D + d[None, :], total / weight[:, None])


@triton.jit
def histogram(x, counts, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(counts + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def largest(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_max(out + at % 8, tl.load(x + at))


@triton.jit
def scan(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def bytes_of(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    tl.store(out + at, tl.abs(value) + (value >> 1))


@triton.jit
def doubles(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    tl.store(out + at, value * value / 3 + tl.sqrt(tl.abs(value)))


@triton.jit(noinline=True)
def cubed(x):
    return x * x * x


@triton.jit
def calls(x, out):
    at = tl.program_id(0)
    tl.store(out + at, cubed(tl.load(x + at)))


@triton.jit
def counts_programs(out):
    tl.store(out + tl.program_id(0), tl.num_programs(0) * 100 + tl.program_id(1))


@triton.jit
def out_of_bounds(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at))


@triton.jit
def races(x, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + at // 2, at)


@triton.jit
def rounds_to(x, out, B: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i).to(T).to(tl.float32))


@triton.jit
def stays_within(x, y, out, B: tl.constexpr, W: tl.constexpr, low: tl.constexpr, high: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i).to(W), tl.load(y + i).to(W)
    tl.store(out + i, tl.minimum(tl.maximum(a + b, low), high).to(out.dtype.element_ty))
    tl.store(out + B + i, tl.minimum(tl.maximum(a - b, low), high).to(out.dtype.element_ty))


@triton.jit
def sorts(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def divides(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) // tl.load(y + i))


@triton.jit
def prints(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.device_print("v", v)
    tl.store(out + i, v + 1)


@triton.jit
def strided(x, out, stride, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + 150 + at * stride // 16777216))  # from -128 to 127


@triton.jit
def of_libdevice(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(out + at, libdevice.cyl_bessel_i0(v))
    tl.store(out + B + at, libdevice.rint(v))
    tl.store(out + 2 * B + at, libdevice.fast_expf(v))
    tl.store(out + 3 * B + at, libdevice.fast_tanhf(v))


@triton.jit(noinline=True)
def summed(x, out, B: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, B))))


@triton.jit
def calls_with_shared(x, out, B: tl.constexpr):
    tl.store(out + 2, tl.sum(tl.load(x + tl.arange(0, B)) * 2))
    summed(x, out, B)
    summed(x + B, out + 1, B)
