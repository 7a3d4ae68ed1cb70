"""Tests perturb=: rounded results move by as much as rounding may move them, and by the seed alone."""

import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError, _settings  # noqa: E402

SEEDS = range(1, 9)


@triton_runner.jit
def multiply(x, y, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * tl.load(y + at))


@triton_runner.jit
def exact(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    most = tl.maximum(tl.where(v > 0, -v, v), tl.max(v, 0) - tl.max(v, 0))
    tl.store(out + at, most.to(tl.float64).to(tl.float32))


@triton_runner.jit
def count(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(out + at, tl.cumsum(v * v + 3, 0) // 5 + tl.sum(v, 0))


@triton_runner.jit
def total(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0))


@triton_runner.jit
def product(a, b, out, N: tl.constexpr, PRECISION: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    c = tl.dot(tl.load(a + i * N + j), tl.load(b + i * N + j), input_precision=PRECISION)
    tl.store(out + i * N + j, c)


def runs(kernel, *args, out, seeds=SEEDS, grid=1, **keywords):
    """The output without a seed, and with each."""
    outputs = []
    for seed in (-1, *seeds):
        result = out.clone()
        with triton_runner.using(perturb=seed):
            kernel[(grid,)](*args, result, **keywords)
        outputs.append(result)
    return outputs[0], torch.stack(outputs[1:])


def noise(shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
@pytest.mark.parametrize(
    "dtype, unit", [(torch.float32, 2**-22), (torch.float16, 2**-9), (torch.bfloat16, 2**-6)]
)
def test_a_rounded_result_moves_by_its_unit(dtype, unit, level):
    x, y = noise(512).to(dtype), noise(512, 1).to(dtype)
    plain, moved = runs(multiply, x, y, out=torch.zeros_like(x), BLOCK=512, level=level)
    part = (moved.double() - plain.double()).abs() / plain.double().abs()
    assert part.max() <= 1.5 * unit  # the unit, and half of one as it is rounded again
    assert part.max() > 0.7 * unit  # of 4096 parts in [-1, 1] one is that large
    assert (moved[0] != moved[1]).any()


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_exact_operations_do_not_move(level):
    plain, moved = runs(exact, noise(512), out=torch.zeros(512), BLOCK=512, level=level)
    assert (moved == plain).all()
    x = torch.zeros(512)
    x[0], x[1] = float("inf"), float("nan")
    plain, moved = runs(multiply, x, x, out=torch.zeros(512), BLOCK=512, level=level)
    torch.testing.assert_close(moved, plain.expand_as(moved), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_integers_do_not_move(level):
    x = torch.arange(-256, 256, dtype=torch.int32)
    plain, moved = runs(count, x, out=torch.zeros_like(x), BLOCK=512, level=level)
    assert (moved == plain).all()


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_the_seed_alone_decides(level):
    x, y = noise(16 * 128), noise(16 * 128, 1)
    outputs = []
    for threads in (1, 4, 1):
        with triton_runner.using(threads=threads):
            outputs.append(runs(multiply, x, y, out=torch.zeros_like(x), grid=16, BLOCK=128, level=level)[1])
    assert torch.equal(outputs[0], outputs[1]) and torch.equal(outputs[0], outputs[2])
    part = outputs[0] / (x * y)
    assert len({p.item() for p in part[0].view(16, 128)[:, 0]}) > 1  # programs move apart


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_a_sum_moves_by_a_part_of_its_magnitudes(level):
    n = 10_000
    x = noise(n)
    x[n // 2 :] = -x[: n // 2]  # the sum is 0 but for rounding, and what another order changes is not
    plain, moved = runs(total, x, out=torch.zeros(1), seeds=range(1, 33), n=n, BLOCK=16384, level=level)
    part = (moved - plain).abs() / x.abs().sum()
    assert part.max() <= 1.1 * 2**-24
    assert part.max() > 0.5 * 2**-24  # 32 parts in [-1, 1]
    plain, moved = runs(total, x.abs(), out=torch.zeros(1), seeds=range(1, 33), n=n, BLOCK=16384, level=level)
    assert ((moved - plain).abs() / plain).max() <= 1.5 * 2**-22


# How far the product of two matrices of normal numbers moves, relative to its usual element: a part of
# uniform distribution has 0.58 of the largest as its root mean square. The norms of a row and a column are
# sqrt(k) = 8 usual elements.
PRODUCTS = {
    "tf32": (torch.float32, "tf32", 0.58 * 2**-10),
    "ieee": (torch.float32, "ieee", 0.58 * 2**-22 * 8),
    "f16": (torch.float16, "tf32", 0.58 * 2**-22 * 8),
    "fp8": (torch.float8_e4m3fn, "tf32", 0.58 * 2**-12 * 8),
}
# The op that computes it at each target: registers, shared memory, tensor memory.
OPS = {"cuda:80": "tt.dot", "cuda:90": "warp_group_dot", "cuda:100": "tc_gen5_mma"}


@pytest.mark.parametrize("target", OPS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_moves_as_its_operands_are_rounded(name, target):
    dtype, precision, usual = PRODUCTS[name]
    if name == "fp8" and target == "cuda:80":
        pytest.skip("sm_80 has no e4m3")
    a, b = noise((64, 64)).to(dtype), noise((64, 64), 1).to(dtype)
    kernel = {}
    for level in ("ttir", "ttgir"):
        out = torch.zeros(64, 64)
        plain, moved = runs(product, a, b, out=out, N=64, PRECISION=precision, level=level, target=target)
        part = (moved - plain).square().mean().sqrt() / plain.square().mean().sqrt()
        assert 0.7 * usual < part < 1.6 * usual, level
        kernel = product[(1,)](a, b, out, N=64, PRECISION=precision, level=level, target=target)
    if name != "ieee":
        assert OPS[target] in kernel.asm["ttgir"]


def test_ptx_is_refused():
    x = torch.ones(128)
    with pytest.raises(DiagnosticError, match="perturb= is for TTIR and TTGIR"):
        with triton_runner.using(perturb=1):
            multiply[(1,)](x, x, x, BLOCK=128, level="ptx")


def test_the_variable(monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_PERTURB", "7")
    assert _settings._from_environment().perturb == 7
