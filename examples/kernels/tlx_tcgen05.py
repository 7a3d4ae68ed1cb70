"""Matrix product in TLX for Blackwell, in tasks: one warp for TMA, one for the tensor cores, four that store
the sums from tensor memory. mbarriers say which buffers are full and which are free."""

import triton
import triton.language as tl
import triton_runner
from triton.tools.tensor_descriptor import TensorDescriptor
from triton_runner import tlx


@triton_runner.jit
def tlx_tcgen05_kernel(
    a_desc, b_desc, c_desc, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_desc), STAGES)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), STAGES)
    sums = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    free = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    done = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    blocks_n = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks_n * BLOCK_M
    col = tl.program_id(0) % blocks_n * BLOCK_N
    steps = tl.cdiv(K, BLOCK_K)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            acc = tlx.local_load(sums[0])
            c_desc.store([row, col], acc.to(tlx.dtype_of(c_desc)))
        with tlx.async_task(num_warps=1, num_regs=24):
            for k in range(0, steps):
                at = k % STAGES
                # A barrier that nobody has used yet lets the phase before its first one pass.
                tlx.barrier_wait(free[at], k // STAGES % 2 ^ 1)
                tlx.barrier_expect_bytes(full[at], 2 * BLOCK_K * (BLOCK_M + BLOCK_N))
                tlx.async_descriptor_load(a_desc, a_ring[at], [row, k * BLOCK_K], full[at])
                tlx.async_descriptor_load(b_desc, b_ring[at], [k * BLOCK_K, col], full[at])
        with tlx.async_task(num_warps=1, num_regs=24):
            for k in range(0, steps):
                at = k % STAGES
                tlx.barrier_wait(full[at], k // STAGES % 2)
                tlx.async_dot(a_ring[at], b_ring[at], sums[0], use_acc=k > 0, mBarriers=[free[at]])
            tlx.tcgen05_commit(done[0])


def run(device, **level):
    m, n, k, block_m, block_n, block_k = 256, 128, 160, 128, 64, 32
    a, b = device.normal(m, k, dtype="float16"), device.normal(k, n, dtype="float16")
    c = device.zeros(m, n, dtype="float16")
    tlx_tcgen05_kernel[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)](
        TensorDescriptor(a, [m, k], [k, 1], [block_m, block_k]),
        TensorDescriptor(b, [k, n], [n, 1], [block_k, block_n]),
        TensorDescriptor(c, [m, n], [n, 1], [block_m, block_n]),
        n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, STAGES=3, num_warps=4, num_stages=1, **level,
    )  # fmt: skip
    return [("c", c, device.host(a) @ device.host(b), 0.05)]
