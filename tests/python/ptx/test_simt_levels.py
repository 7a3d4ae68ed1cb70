"""Tests the same kernels at TTIR, TTGIR and PTX, with the same inputs: the two engines check each other.

Kernels that move values or compute with integers give the same bits. Sums of floats come in another order and
`.approx` functions differ: each such kernel states the bound that follows from its lengths.
"""

import importlib.util

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from kernels import harness  # noqa: E402

TARGETS = ["cuda:80", "cuda:90", "cuda:100"]
F32, F16 = 2.0**-24, 2.0**-11  # half a unit in the last place of 1

# Kernels of examples/kernels: how far a result may lie from that of the tile engine, in parts of the largest
# value of the result. 0: the same bits.
EXAMPLES = {
    "vector_add": 0,
    "dropout": 4 * F32,  # x / (1 - p) by div.full.f32, which is 2 units in the last place off at most
    "softmax": 2 * 1024 * F32,  # a row's sum of up to 1,024 powers in two orders; ex2.approx: 2^-22
    "matmul": 2 * 208 * F32 + 2 * F16,  # 208 products in two orders, rounded to f16
    "grouped_gemm": 2 * 512 * F32 + 2 * F16,
    "layer_norm": 4 * 8192 * F32 + 2 * F16,  # mean, variance and their gradients along a row or a column
    "attention": 4 * 1024 * F32 + 4 * F16,  # two products and the sums of powers; p is rounded to f16
}


def run_example(name: str, level: str, target: str) -> dict:
    """The kernel's checked results by name."""
    module = importlib.import_module(f"kernels.{name}")
    with triton_runner.using(device="cpu", level=level, target=target):
        checked = module.run(harness.Device())
    for what, got, expected, tolerance in checked:
        difference = (got.double() - torch.as_tensor(expected).double()).abs().max().item()
        assert difference <= tolerance, f"{what} at {level} differs from its reference by {difference}"
    return {what: got.clone() for what, got, _, _ in checked}


def assert_close(name: str, got: torch.Tensor, wanted: torch.Tensor, bound: float) -> None:
    """The same bits where bound is 0, else at most `bound` of the largest value apart."""
    if bound == 0:
        assert torch.equal(got.view(torch.uint8), wanted.view(torch.uint8)), f"{name} differs in its bits"
        return
    difference = (got.double() - wanted.double()).abs().max().item()
    largest = wanted.double().abs().max().item()
    assert difference <= bound * largest, f"{name} differs by {difference}, at most {bound * largest}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name, target):
    wanted = run_example(name, "ttir", target)
    for what, got in run_example(name, "ptx", target).items():
        assert_close(f"{name}: {what}", got, wanted[what], EXAMPLES[name])


@triton_runner.jit
def integers(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    c = (a * b + (a >> 3)) ^ (b << 2)
    c += tl.where(a > b, a // (b * b + 1), a % (b * b + 1))
    c = tl.maximum(c, -(b & 0xFF)) + tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int32)
    tl.store(out + at, c + tl.cumsum(a, 0))


@triton_runner.jit
def transposed(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tile = tl.load(x + at[:, None] * N + at[None, :])
    tl.store(out + at[:, None] * N + at[None, :], tl.trans(tile) + tl.load(y + at)[None, :])


@triton_runner.jit
def ordered(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at)))
    tl.store(out + N + at, tl.argmax(tl.load(x + at), 0) + tl.max(tl.load(y + at), 0) * at)


@triton_runner.jit
def counted(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.atomic_add(out + (value & 31), 1)
    tl.atomic_max(out + 32 + (value & 7), value)
    tl.atomic_xor(out + 64, tl.sum(value))
    tl.atomic_cas(out + 65, 0, tl.sum(value))


@triton_runner.jit
def branching(x, y, out, N: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, N)
    total = tl.load(x + at)
    for i in range(pid + 3):
        if i % 2 == 0:
            total += tl.load(y + at) * i
        else:
            total = total ^ i
    tl.store(out + pid * N + at, total)


@triton_runner.jit
def narrow(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at)
    f = a.to(tl.float32) * 0.03125
    tl.store(out + at, f.to(tl.float16).to(tl.int16, bitcast=True).to(tl.int32))
    tl.store(out + N + at, f.to(tl.bfloat16).to(tl.int16, bitcast=True).to(tl.int32))
    tl.store(out + 2 * N + at, f.to(tl.float8e5).to(tl.int8, bitcast=True).to(tl.int32))
    tl.store(out + 3 * N + at, (f * 0.001953125).to(tl.int8).to(tl.int32))  # beyond 8 bits is undefined


@pytest.mark.parametrize("target", ["cuda:75", *TARGETS, "cuda:120"])
@pytest.mark.parametrize(
    "kernel", [integers, transposed, ordered, counted, branching, narrow], ids=lambda k: k.__name__
)
def test_the_same_bits(kernel, target):
    n = 64
    generator = torch.Generator().manual_seed(0)
    results = []
    for level in ("ttir", "ttgir", "ptx"):
        x = torch.randint(-(2**20), 2**20, (n * n,), dtype=torch.int32, generator=generator.manual_seed(1))
        y = torch.randint(1, 2**10, (n * n,), dtype=torch.int32, generator=generator)
        out = torch.zeros(n * n, dtype=torch.int32)
        kernel[(3 if kernel is branching else 1,)](x, y, out, N=n, level=level, target=target, device="cpu")
        results.append(out)
    assert results[0].any()
    assert torch.equal(results[0], results[1]), "TTGIR differs from TTIR"
    assert torch.equal(results[0], results[2]), "PTX differs from TTIR"


@triton_runner.jit
def through_descriptor(source, out, M: tl.constexpr, N: tl.constexpr):
    tile = source.load([tl.program_id(0) * M, 8])
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + tl.program_id(0) * M * N + at, tile)


@pytest.mark.skipif(
    importlib.util.find_spec("triton.tools.tensor_descriptor") is None,
    reason="this release has no host tensor descriptors",
)
@pytest.mark.parametrize("target", TARGETS)
def test_host_tensor_descriptors(target):
    """Taken apart below sm_90, a tensor map from there on."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    x = torch.arange(64 * 128).to(torch.float16).reshape(64, 128)
    results = []
    for level in ("ttir", "ptx"):
        out = torch.zeros(64, 64, dtype=torch.float16)
        descriptor = TensorDescriptor.from_tensor(x, [32, 64])
        through_descriptor[(2,)](descriptor, out, M=32, N=64, level=level, target=target, device="cpu")
        results.append(out)
    assert torch.equal(results[0], x[:, 8:72]) and torch.equal(results[1], results[0])


@pytest.mark.skipif(
    importlib.util.find_spec("triton.tools.tensor_descriptor") is None,
    reason="this release has no host tensor descriptors",
)
@pytest.mark.parametrize("target", TARGETS)
def test_descriptors_that_round_to_tf32(target):
    """The unit does it from sm_90 on, the kernel's own code below; both to nearest, ties to even."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    if not hasattr(TensorDescriptor, "round_f32_to_tf32"):
        pytest.skip("this release's descriptors do not round")
    x = torch.randn(64, 128)
    bits = x.view(torch.int32)
    bits[0, 8:14] = torch.tensor([0x3F800FFF, 0x3F801000, 0x3F801001, 0x3F803000, 0x7F800000, 0])
    expected = (bits + 0xFFF + (bits >> 13 & 1) & ~0x1FFF)[:, 8:72].contiguous().view(torch.float32)
    expected[0, 4] = float("inf")
    for level in ("ttir", "ttgir", "ptx"):
        out = torch.zeros(64, 64)
        descriptor = TensorDescriptor.from_tensor(x, [32, 64], round_f32_to_tf32=True)
        through_descriptor[(2,)](descriptor, out, M=32, N=64, level=level, target=target, device="cpu")
        assert torch.equal(out, expected)
