"""Persistent matrix product in TLX for Hopper, in tasks: one warp group keeps TMA busy, GROUPS others
multiply, and mbarriers say which buffers are full and which are free."""

import triton
import triton.language as tl
import triton_runner
from triton.tools.tensor_descriptor import TensorDescriptor
from triton_runner import tlx


@triton.jit
def origin_of(tile, blocks_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    return tile // blocks_n * BLOCK_M, tile % blocks_n * BLOCK_N


@triton_runner.jit
def tlx_matmul_ws_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
    GROUPS: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    ROWS: tl.constexpr = BLOCK_M // GROUPS  # of each group's share
    a_ring = tlx.local_alloc((ROWS, BLOCK_K), tlx.dtype_of(a_desc), STAGES * GROUPS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), STAGES)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    free = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=GROUPS)
    blocks_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * blocks_n
    steps = tl.cdiv(K, BLOCK_K)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            step = 0
            for tile in range(tl.program_id(0), tiles, PROGRAMS):
                row, col = origin_of(tile, blocks_n, BLOCK_M, BLOCK_N)
                for k in range(0, steps):
                    at = step % STAGES
                    turn = step // STAGES % 2
                    # A barrier that nobody has used yet lets the phase before its first one pass.
                    tlx.barrier_wait(free[at], turn ^ 1)
                    tlx.barrier_expect_bytes(full[at], 2 * BLOCK_K * (BLOCK_M + BLOCK_N))
                    tlx.async_descriptor_load(b_desc, b_ring[at], [k * BLOCK_K, col], full[at])
                    for group in tl.static_range(0, GROUPS):
                        tlx.async_descriptor_load(
                            a_desc, a_ring[at * GROUPS + group], [row + group * ROWS, k * BLOCK_K], full[at]
                        )
                    step += 1
        with tlx.async_task(num_warps=4, registers=232, replicate=GROUPS):
            mine: tl.constexpr = tlx.async_task_replica_id()
            step = 0
            for tile in range(tl.program_id(0), tiles, PROGRAMS):
                row, col = origin_of(tile, blocks_n, BLOCK_M, BLOCK_N)
                acc = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)
                for _ in range(0, steps):
                    at = step % STAGES
                    turn = step // STAGES % 2
                    tlx.barrier_wait(full[at], turn)
                    acc = tlx.async_dot(a_ring[at * GROUPS + mine], b_ring[at], acc)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(free[at], 1)
                    step += 1
                c_desc.store([row + mine * ROWS, col], acc.to(tlx.dtype_of(c_desc)))


def run(device, **level):
    m, n, k, programs = (256, 128, 96, 3) if not device.on_gpu else (4096, 4096, 4096, 132)
    block_m, block_n, block_k, groups = 128, 64, 32, 2
    a, b = device.normal(m, k, dtype="float16"), device.normal(k, n, dtype="float16")
    c = device.zeros(m, n, dtype="float16")
    tlx_matmul_ws_kernel[(programs,)](
        TensorDescriptor(a, [m, k], [k, 1], [block_m // groups, block_k]),
        TensorDescriptor(b, [k, n], [n, 1], [block_k, block_n]),
        TensorDescriptor(c, [m, n], [n, 1], [block_m // groups, block_n]),
        m, n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, STAGES=3, GROUPS=groups,
        PROGRAMS=3 if not device.on_gpu else programs, num_warps=4, num_stages=1, **level,
    )  # fmt: skip
    return [("c", c, device.host(a) @ device.host(b), 0.05 if not device.on_gpu else 0.25)]
