"""Matrix product through tensor descriptors made on the host: TMA on Hopper and later (Triton 3.4 on)."""

import triton
import triton.language as tl
import triton_runner
from triton.tools.tensor_descriptor import TensorDescriptor


@triton_runner.jit
def matmul_tma_kernel(a_desc, b_desc, c_desc, M, N, K,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                      GROUP_M: tl.constexpr):  # fmt: skip
    pid = tl.program_id(0)
    blocks_m = tl.cdiv(M, BLOCK_M)
    blocks_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * blocks_n)
    group_rows = min(blocks_m - group * GROUP_M, GROUP_M)
    pid_in_group = pid % (GROUP_M * blocks_n)
    row = (group * GROUP_M + pid_in_group % group_rows) * BLOCK_M
    col = pid_in_group // group_rows * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        # Elements outside the tensor read as zero, so K need not be a multiple of BLOCK_K.
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, col]), acc)
    c_desc.store([row, col], acc.to(tl.float16))


def run(device, **level):
    m, n, k, block_m, block_n, block_k = 200, 160, 120, 64, 32, 32
    a, b = device.normal(m, k, dtype="float16"), device.normal(k, n, dtype="float16")
    c = device.zeros(m, n, dtype="float16")
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    matmul_tma_kernel[grid](
        TensorDescriptor(a, [m, k], [k, 1], [block_m, block_k]),
        TensorDescriptor(b, [k, n], [n, 1], [block_k, block_n]),
        TensorDescriptor(c, [m, n], [n, 1], [block_m, block_n]),
        m, n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=4,
        num_warps=4, num_stages=3, **level,
    )  # fmt: skip
    return [("c", c, device.host(a) @ device.host(b), 0.05)]
