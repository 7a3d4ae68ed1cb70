"""Matrix product with grouped program order and a fused leaky ReLU (tutorial 03)."""

import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton_runner.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    # Programs go down GROUP_M rows of blocks before they go right: what they load stays in the L2 cache.
    pid = tl.program_id(0)
    blocks_m = tl.cdiv(M, BLOCK_M)
    blocks_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * blocks_n)
    group_rows = min(blocks_m - group * GROUP_M, GROUP_M)
    pid_in_group = pid % (GROUP_M * blocks_n)
    pid_m = group * GROUP_M + pid_in_group % group_rows
    pid_n = pid_in_group // group_rows

    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    cols = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak
    b_ptrs = b_ptr + ks[:, None] * stride_bk + cols[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=ks[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)

    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


def run(device, **level):
    m, n, k, block_m, block_n = 256, 192, 208, 64, 32
    a, b = device.normal(m, k, dtype="float16"), device.normal(k, n, dtype="float16")
    c = device.zeros(m, n, dtype="float16")
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    matmul_kernel[grid](
        a, b, c, m, n, k, k, 1, n, 1, n, 1,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=32, GROUP_M=8, ACTIVATION="leaky_relu",
        num_warps=4, num_stages=3,
        **level,
    )  # fmt: skip
    product = device.host(a) @ device.host(b)
    return [("c", c, device.xp.where(product >= 0, product, 0.01 * product), 0.05)]
