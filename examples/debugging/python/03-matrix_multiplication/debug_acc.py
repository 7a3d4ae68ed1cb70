"""The accumulator of program (0, 1) of a matrix product, as it grows: the last of its iterations stays."""

import sys
from pathlib import Path

import triton.language as tl
import triton_runner
import triton_runner.language as dl

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness


@triton_runner.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * k + ks[None, :]
    b_ptrs = b_ptr + ks[:, None] * n + cols[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for i in range(0, tl.cdiv(k, BLOCK_K)):
        a = tl.load(a_ptrs, mask=ks[None, :] < k - i * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < k - i * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        dl.dump(acc, 0, (0, 1))
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * n
    c_ptrs = c_ptr + rows[:, None] * n + cols[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < m) & (cols[None, :] < n))


device = harness.Device()
debug_tensor = device.zeros(64, 64)
a, b = dumped.matmul(device, matmul_kernel, debug_tensor=debug_tensor)
expected = device.host(a)[:64] @ device.host(b)[:, 64:128]
harness.compare_dump(device, debug_tensor, expected, tolerance=1e-4)
