"""numerics="hardware": TTGIR gives the bits of its PTX, for sums in the order of layouts, functions of the
target, contraction, and products of tensor cores."""

import ml_dtypes
import numpy as np
import pytest
import triton.language as tl
import triton_runner
from triton.language.extra import libdevice

RANDOM = np.random.default_rng(7)


def both(kernel, arrays: list, target="cuda:90", grid=(1,), **constants) -> tuple[list, list]:
    """Returns what the arrays hold after a launch at TTGIR and at PTX."""
    results = []
    for level in ("ttgir", "ptx"):
        own = [array.copy() for array in arrays]
        settings = {"device": "cpu", "target": target, "level": level, "numerics": "hardware"}
        with triton_runner.using(**settings):
            kernel[grid](*own, **constants)
        results.append([array.view(np.uint8) for array in own])
    return results


def check(kernel, arrays, **options):
    ttgir, ptx = both(kernel, arrays, **options)
    for number, (a, b) in enumerate(zip(ttgir, ptx, strict=True)):
        np.testing.assert_array_equal(a, b, err_msg=f"argument {number}")


def numbers(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


@triton_runner.jit
def masked_products(
    x, y, out, m, n, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, BOTH: tl.constexpr
):  # fmt: skip
    """As torch's compiler writes them: rows beyond m are 0, BOTH: columns beyond n, too."""
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    mask = (rows < m) & (columns < n) if BOTH else (rows < m) if AXIS == 1 else (columns < n)
    mask = tl.broadcast_to(mask, (M, N))
    at = rows * N + columns
    product = tl.load(x + at, mask, 0.0) * tl.load(y + at, mask, 0.0)
    total = tl.sum(tl.where(mask, product, 0), axis=AXIS)
    tl.store(out + tl.arange(0, N if AXIS == 0 else M), total)


@pytest.mark.parametrize("both_axes", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_masked_sums_of_products(axis, both_axes):
    """LLVM adds before it selects where the mask is one for all that a thread adds."""
    out = np.zeros(64, np.float32)
    arrays = [numbers(64, 64), numbers(64, 64), out]
    check(masked_products, arrays, m=50, n=50, M=64, N=64, AXIS=axis, BOTH=both_axes, num_warps=2)


@triton_runner.jit
def sums(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    total = tl.sum(tl.load(x + at), axis=AXIS)
    tl.store(out + tl.arange(0, N if AXIS == 0 else M), total)


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=lambda d: d.__name__)
@pytest.mark.parametrize(
    ("m", "n", "axis", "warps"),
    [
        (1, 32, 1, 1),
        (1, 2048, 1, 4),
        (4, 512, 1, 8),
        (64, 64, 0, 4),
        (64, 64, 1, 2),
        (256, 2, 1, 4),
        (128, 8, 0, 4),
    ],
)
def test_sums(m, n, axis, warps, dtype):
    out = np.zeros(m if axis else n, dtype)
    check(sums, [numbers(m, n, dtype=dtype), out], M=m, N=n, AXIS=axis, num_warps=warps)


@triton_runner.jit
def softmax(x, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    row = tl.load(x + at)
    weights = tl.exp(row - tl.max(row, 0))
    tl.store(out + at, weights / tl.sum(weights, 0))


def test_softmax():
    x = numbers(3, 512)
    check(softmax, [x, np.zeros_like(x)], grid=(3,), N=512)


@triton_runner.jit
def layer_norm(x, weight, bias, out, n, eps, N: tl.constexpr):
    at = tl.arange(0, N)
    row = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    mean = tl.sum(row, 0) / n
    centred = tl.where(at < n, row - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / n + eps)
    w, b = tl.load(weight + at, mask=at < n), tl.load(bias + at, mask=at < n)
    tl.store(out + tl.program_id(0) * n + at, centred * scale * w + b, mask=at < n)


@pytest.mark.parametrize("warps", [1, 4])
def test_layer_norm(warps):
    x = numbers(2, 500)
    arrays = [x, numbers(500), numbers(500), np.zeros_like(x)]
    results = []
    for level in ("ttgir", "ptx"):
        own = [array.copy() for array in arrays]
        with triton_runner.using(device="cpu", level=level, numerics="hardware"):
            layer_norm[(2,)](*own, 500, 1e-5, N=512, num_warps=warps)
        results.append(own[3].view(np.uint32))
    np.testing.assert_array_equal(*results)


@triton_runner.jit
def functions(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, tl.exp2(a))
    tl.store(out + N + at, tl.sqrt(tl.abs(a)))
    tl.store(out + 2 * N + at, tl.rsqrt(tl.abs(a)))
    tl.store(out + 3 * N + at, a / b)
    tl.store(out + 4 * N + at, a / 3.0 + b)
    tl.store(out + 5 * N + at, b - a * b)
    tl.store(out + 6 * N + at, tl.log(tl.abs(a)))
    tl.store(out + 7 * N + at, tl.erf(a))
    tl.store(out + 8 * N + at, libdevice.tanh(a))
    tl.store(out + 9 * N + at, tl.sigmoid(a))
    tl.store(out + 10 * N + at, a % b)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_functions(target):
    x, y = numbers(1024) * 4, numbers(1024)
    x[:4] = [0, np.inf, np.nan, 1e-41]
    check(functions, [x, y, np.zeros(11 * 1024, np.float32)], target=target, N=1024)


@triton_runner.jit
def handed_on(x, y, out, wide, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, tl.abs(a))
    tl.store(out + N + at, -a)
    tl.store(out + 2 * N + at, tl.where(a > b, a, b))
    tl.store(out + 3 * N + at, tl.maximum(a, b))
    tl.store(out + 4 * N + at, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 5 * N + at, tl.clamp(a, b, b + 1))
    tl.store(out + 6 * N + at, tl.max(a, 0) + tl.zeros_like(b))
    tl.store(out + 7 * N + at, tl.sort(a))
    tl.store(wide + at, a.to(tl.float32))
    tl.store(wide + N + at, a.to(tl.float64).to(tl.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=str)
def test_nans(dtype):
    """Which instructions hand the bits of a NaN on, and which make one of their own."""
    bits = {4: [0x7F800001, 0xFFC12345, 0x7FFFFFFF, 0xFFFFFFFF], 2: [0x7F81, 0xFFC1, 0x7FFF, 0xFFFF]}
    size = np.dtype(dtype).itemsize
    nans = np.array(bits[size], f"u{size}").view(dtype)
    assert np.isnan(nans.astype(np.float32)).all()
    x = np.tile(np.concatenate([nans, np.array([1, -1, 0, -0.0], dtype)]), 4)
    check(handed_on, [x, np.roll(x, 3), np.zeros(8 * 32, dtype), np.zeros(2 * 32, np.float32)], N=32)


@triton_runner.jit
def widened(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at).to(tl.float32))


@pytest.mark.parametrize(
    ("dtype", "target"),
    [
        (ml_dtypes.float8_e5m2, "cuda:80"),  # Triton converts e4m3 from sm_89 on
        (ml_dtypes.float8_e5m2, "cuda:90"),
        (ml_dtypes.float8_e4m3fn, "cuda:90"),
    ],
    ids=str,
)
def test_nans_of_eight_bits(dtype, target):
    x = np.arange(256, dtype=np.uint8).view(dtype)
    check(widened, [x, np.zeros(256, np.float32)], target=target, N=256)


@triton_runner.jit
def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr):
    rows, cols, along = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    total = tl.zeros((M, N), tl.float32)
    for k in range(0, K, STEP):
        left = tl.load(a + rows[:, None] * K + k + along[None, :])
        right = tl.load(b + (k + along[:, None]) * N + cols[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + cols[None, :], total)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e5m2], ids=str
)
def test_matmul(dtype, target):
    a, b = numbers(64, 128).astype(dtype), numbers(128, 64).astype(dtype)
    results = []
    for level in ("ttgir", "ptx"):
        c = np.zeros((64, 64), np.float32)
        with triton_runner.using(device="cpu", target=target, level=level, numerics="hardware"):
            matmul[(1,)](a, b, c, 128, M=64, N=64, STEP=32)
        results.append(c.view(np.uint32))
    np.testing.assert_array_equal(*results)


@triton_runner.jit
def attention(q, k, v, out, L, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, cols, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    most, total = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32)
    sums = tl.zeros((M, D), tl.float32)
    for start in range(0, L, N):
        keys = tl.load(k + (start + cols[None, :]) * D + d[:, None])
        scores = tl.dot(query, keys) * 0.18033688
        higher = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        scale = tl.exp2(most - higher)
        total = total * scale + tl.sum(weights, 1)
        values = tl.load(v + (start + cols[:, None]) * D + d[None, :])
        sums = tl.dot(weights.to(tl.float16), values, sums * scale[:, None])
        most = higher
    tl.store(out + rows[:, None] * D + d[None, :], (sums / total[:, None]).to(tl.float16))


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_attention(target):
    q, k, v = (numbers(128, 64, dtype=np.float16) for _ in range(3))
    results = []
    for level in ("ttgir", "ptx"):
        out = np.zeros_like(q)
        with triton_runner.using(device="cpu", target=target, level=level, numerics="hardware"):
            attention[(2,)](q, k, v, out, 128, D=64, M=64, N=32)
        results.append(out.view(np.uint16))
    np.testing.assert_array_equal(*results)


@triton_runner.jit
def product_and_sum(x, out):
    tl.store(out, tl.load(x) * tl.load(x) - tl.load(x + 1))


def test_contraction_follows_metadata():
    """enable_fp_fusion=False and fmad="off" round the product."""
    x = np.array([1 + 2.0**-12, 1 + 2.0**-11], np.float32)

    def result(**options):
        out = np.zeros(1, np.float32)
        with triton_runner.using(device="cpu", level="ttgir", numerics="hardware"):
            product_and_sum[(1,)](x, out, **options)
        return out[0]

    assert result() == 2.0**-24
    assert result(enable_fp_fusion=False) == 0


def test_ttir_has_no_layouts():
    x = numbers(32)
    with pytest.raises(triton_runner.DiagnosticError, match="needs layouts, and TTIR has none"):
        with triton_runner.using(device="cpu", level="ttir", numerics="hardware"):
            softmax[(1,)](x, np.zeros_like(x), N=32)


def test_unknown():
    with pytest.raises(triton_runner.DiagnosticError, match="unknown numerics 'gpu'"):
        triton_runner.using(numerics="gpu").__enter__()


def test_launch_keyword():
    x = numbers(1, 512)
    first, second = np.zeros_like(x), np.zeros_like(x)
    with triton_runner.using(device="cpu", level="ttgir"):
        softmax[(1,)](x, first, N=512, numerics="hardware")
        softmax[(1,)](x, second, N=512)
    assert not np.array_equal(first, second)
