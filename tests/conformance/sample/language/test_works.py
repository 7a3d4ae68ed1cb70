"""Kernels that have to run right at every level and target, written as Triton's own tests are."""

import pytest
import torch
import triton
import triton.language as tl
from triton._internal_testing import is_cuda


@triton.jit
def unary_kernel(X, Z, OP: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(X + at)
    if OP == "exp":
        z = tl.exp(x)
    elif OP == "rsqrt":
        z = tl.rsqrt(tl.abs(x) + 1)
    else:
        z = tl.sigmoid(x)
    tl.store(Z + at, z)


@pytest.mark.interpreter
@pytest.mark.parametrize("size", [32, 128, 1024])
@pytest.mark.parametrize("op", ["exp", "rsqrt", "sigmoid"])
def test_unary(op, size, device):
    x = torch.randn(size, device=device)
    z = torch.empty_like(x)
    unary_kernel[(1,)](x, z, op, size)
    reference = {"exp": torch.exp, "rsqrt": lambda x: torch.rsqrt(x.abs() + 1), "sigmoid": torch.sigmoid}[op]
    torch.testing.assert_close(z, reference(x), rtol=1e-5, atol=1e-6)


@triton.jit
def reduce_kernel(X, Z, OP: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(X + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if OP == "sum":
        z = tl.sum(x, axis=AXIS)
    elif OP == "max":
        z = tl.max(x, axis=AXIS)
    elif OP == "argmin":
        z = tl.argmin(x, axis=AXIS)
    else:
        z = tl.cumsum(x, axis=AXIS)
    if OP == "cumsum":
        tl.store(Z + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], z)
    else:
        tl.store(Z + tl.arange(0, N if AXIS == 0 else M), z)


@pytest.mark.interpreter
@pytest.mark.parametrize("shape", [(8, 16), (32, 4), (64, 64)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", ["sum", "max", "argmin", "cumsum"])
def test_reduce(op, axis, shape, device):
    x = torch.randint(-1000, 1000, shape, dtype=torch.int32, device=device)
    x += torch.arange(x.numel(), device=device, dtype=torch.int32).reshape(shape) * 2000  # no ties
    reference = {
        "sum": lambda: x.sum(axis).int(),
        "max": lambda: x.amax(axis),
        "argmin": lambda: x.argmin(axis).int(),
        "cumsum": lambda: x.cumsum(axis).int(),
    }[op]()
    z = torch.empty_like(reference)
    reduce_kernel[(1,)](x, z, op, axis, *shape)
    assert torch.equal(z, reference)


@triton.jit
def matmul_kernel(A, B, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BLOCK_K: tl.constexpr):
    rows, columns, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(A + rows[:, None] * K + (start + k)[None, :])
        b = tl.load(B + (start + k)[:, None] * N + columns[None, :])
        sums = tl.dot(a, b, sums)
    tl.store(C + rows[:, None] * N + columns[None, :], sums)


@pytest.mark.interpreter
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e5m2, torch.float32])
@pytest.mark.parametrize("num_stages", [1, 3])
@pytest.mark.parametrize("m, n, k", [(16, 16, 32), (64, 32, 128), (128, 128, 64)])
def test_matmul(dtype, num_stages, m, n, k, device):
    if dtype == torch.float8_e5m2 and is_cuda() and torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("float8 products of this shape start with Hopper")
    # Small whole numbers: every order of adding gives the same sum.
    a = torch.randint(-3, 4, (m, k), device=device).to(dtype)
    b = torch.randint(-3, 4, (k, n), device=device).to(dtype)
    c = torch.empty((m, n), device=device)
    matmul_kernel[(1,)](a, b, c, m, n, k, 32, num_stages=num_stages)
    assert torch.equal(c, a.float() @ b.float())


@triton.jit
def count_kernel(Counts, X, BINS: tl.constexpr, SIZE: tl.constexpr):
    x = tl.load(X + tl.program_id(0) * SIZE + tl.arange(0, SIZE))
    tl.atomic_add(Counts + tl.arange(0, BINS), tl.histogram(x, BINS))


@pytest.mark.interpreter
@pytest.mark.parametrize("programs", [1, 7])
def test_atomic_histogram(programs, device):
    x = torch.randint(0, 16, (programs * 256,), dtype=torch.int32, device=device)
    counts = torch.zeros(16, dtype=torch.int32, device=device)
    count_kernel[(programs,)](counts, x, 16, 256)
    assert torch.equal(counts, torch.bincount(x, minlength=16).int())


def test_says_cuda(device):
    """Not for the interpreter: conditions on the target and names of torch.cuda answer as on the GPU."""
    assert is_cuda()
    target = triton.runtime.driver.active.get_current_target()
    assert target.arch == 10 * torch.cuda.get_device_capability()[0] + torch.cuda.get_device_capability()[1]
    x = torch.zeros(4, device=device).cuda()
    assert x.is_cuda and x.device.type == "cuda"
