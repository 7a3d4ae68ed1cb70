"""mma="fast" reaches the products of both levels, however it is said, and touches bf16 products only."""

import os
import pathlib
import sys

import pytest
import torch
import triton.language as tl
import triton_runner
import warm

TINY = 2.0**-135  # a product below f32's normal range: AMX and AVX512_BF16 flush it to zero


@triton_runner.jit
def product(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b))


def operands(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    a, b = torch.randn(64, 32).to(dtype), torch.randn(32, 64).to(dtype)
    if dtype == torch.bfloat16:
        a[0], b[:, 0] = 0, 0
        a[0, 0], b[0, 0] = 2.0**-70, 2.0**-65
    return a, b


def run(dtype: torch.dtype = torch.bfloat16, **options) -> torch.Tensor:
    a, b = operands(dtype)
    c = torch.zeros(64, 64)
    product[(1,)](a, b, c, M=64, N=64, K=32, **options)
    return c


def has_instructions() -> bool:
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    return " amx_bf16" in cpu or (" avx512_bf16" in cpu and "GenuineIntel" not in cpu)


def check_fast(fast: torch.Tensor, exact: torch.Tensor) -> None:
    assert exact[0, 0] == TINY
    assert fast[0, 0] == (0 if has_instructions() else TINY)
    # Pairs of products are summed before they are added: a few roundings of sums of 32 products apart.
    torch.testing.assert_close(fast, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("level", "target"), [("ttir", "cuda:90"), ("ttgir", "cuda:80"), ("ttgir", "cuda:90")]
)
def test_fast_products_of_bf16(level, target):
    with triton_runner.using(device="cpu", level=level, target=target, mma="exact"):
        exact = run()
        check_fast(run(mma="fast"), exact)
        with triton_runner.using(mma="fast"):
            check_fast(run(), exact)
        for dtype in (torch.float16, torch.float32):
            assert torch.equal(run(dtype, mma="fast"), run(dtype))


def test_fast_products_from_the_environment():
    tiny = {}
    for mma in ("exact", "fast"):
        environment = os.environ | {"TRITON_RUNNER_DEVICE": "cpu", "TRITON_RUNNER_MMA": mma}
        environment["PYTHONPATH"] = str(pathlib.Path(warm.__file__).parent)
        done = warm.run(
            [sys.executable, __file__], env=environment, capture_output=True, text=True, check=True
        )
        tiny[mma] = float(done.stdout.splitlines()[-1])  # after what triton_runner.jit says
    assert tiny == {"exact": TINY, "fast": 0 if has_instructions() else TINY}


if __name__ == "__main__":
    print(run()[0, 0].item())
