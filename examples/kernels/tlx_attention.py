"""Flash attention in TLX for Hopper, in tasks: one warp group keeps TMA busy; two others, each with half of
the rows, take turns on the tensor cores (two named barriers), so that one computes its softmax while the
other multiplies; each issues the product for the next scores before it waits for the one with values."""

import numpy as np
import triton
import triton.language as tl
import triton_runner
from triton.tools.tensor_descriptor import TensorDescriptor
from triton_runner import tlx

LOG2_E = tl.constexpr(1.4426950408889634)
FIRST = tl.constexpr(9)  # the named barriers at which group 0 and group 1 get their turn
SECOND = tl.constexpr(10)


@triton.jit
def take_turn(group: tl.constexpr):
    tlx.named_barrier_wait(FIRST if group == 0 else SECOND, 256)


@triton.jit
def give_turn(group: tl.constexpr):
    tlx.named_barrier_arrive(SECOND if group == 0 else FIRST, 256)


@triton.jit
def softmax_step(scores, highest, total, scale):
    """The weights of a block of scores, the new maximum and sum, and what the old sums shrink by."""
    higher = tl.maximum(highest, tl.max(scores, 1) * scale)
    weights = tl.math.exp2(scores * scale - higher[:, None])
    shrink = tl.math.exp2(highest - higher)
    return weights, higher, total * shrink + tl.sum(weights, 1), shrink


@triton_runner.jit
def _attn_fwd_ws_pipelined_pingpong(
    sm_scale, M, Z, H, desc_q, desc_k, desc_v, desc_o, N_CTX,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, NUM_BUFFERS: tl.constexpr,
):  # fmt: skip
    GROUPS: tl.constexpr = 2
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    q_tiles = tlx.local_alloc((ROWS, HEAD_DIM), tlx.dtype_of(desc_q), GROUPS)
    k_tiles = tlx.local_alloc((BLOCK_N, HEAD_DIM), tlx.dtype_of(desc_k), NUM_BUFFERS)
    v_tiles = tlx.local_alloc((BLOCK_N, HEAD_DIM), tlx.dtype_of(desc_v), NUM_BUFFERS)
    q_full = tlx.alloc_barriers(num_barriers=GROUPS, arrive_count=1)
    k_full = tlx.alloc_barriers(num_barriers=NUM_BUFFERS, arrive_count=1)
    v_full = tlx.alloc_barriers(num_barriers=NUM_BUFFERS, arrive_count=1)
    k_free = tlx.alloc_barriers(num_barriers=NUM_BUFFERS, arrive_count=GROUPS)
    v_free = tlx.alloc_barriers(num_barriers=NUM_BUFFERS, arrive_count=GROUPS)
    head = tl.program_id(1) * N_CTX  # all heads of all batches lie below each other
    row = head + tl.program_id(0) * BLOCK_M
    blocks = tl.cdiv(N_CTX, BLOCK_N)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for group in tl.static_range(0, GROUPS):
                tlx.barrier_expect_bytes(q_full[group], 2 * ROWS * HEAD_DIM)
                tlx.async_descriptor_load(desc_q, q_tiles[group], [row + group * ROWS, 0], q_full[group])
            for block in range(0, blocks):
                at = block % NUM_BUFFERS
                turn = block // NUM_BUFFERS % 2
                tlx.barrier_wait(k_free[at], turn ^ 1)
                tlx.barrier_expect_bytes(k_full[at], 2 * BLOCK_N * HEAD_DIM)
                tlx.async_descriptor_load(desc_k, k_tiles[at], [head + block * BLOCK_N, 0], k_full[at])
                tlx.barrier_wait(v_free[at], turn ^ 1)
                tlx.barrier_expect_bytes(v_full[at], 2 * BLOCK_N * HEAD_DIM)
                tlx.async_descriptor_load(desc_v, v_tiles[at], [head + block * BLOCK_N, 0], v_full[at])

        with tlx.async_task(num_warps=4, registers=232, replicate=GROUPS):
            mine: tl.constexpr = tlx.async_task_replica_id()
            scale = sm_scale * LOG2_E
            highest = tl.zeros([ROWS], dtype=tl.float32) - float("inf")
            total = tl.zeros([ROWS], dtype=tl.float32)
            acc = tl.zeros([ROWS, HEAD_DIM], dtype=tl.float32)
            tlx.barrier_wait(q_full[mine], 0)
            tlx.barrier_wait(k_full[0], 0)
            if mine == 1:
                give_turn(mine)  # group 0 begins
            take_turn(mine)
            scores = tlx.async_dot(q_tiles[mine], tlx.local_trans(k_tiles[0]))
            give_turn(mine)
            scores = tlx.async_dot_wait(0, scores)
            tlx.barrier_arrive(k_free[0], 1)
            weights, highest, total, shrink = softmax_step(scores, highest, total, scale)

            for block in range(1, blocks):
                at = block % NUM_BUFFERS
                before = (block - 1) % NUM_BUFFERS
                tlx.barrier_wait(k_full[at], block // NUM_BUFFERS % 2)
                take_turn(mine)
                scores = tlx.async_dot(q_tiles[mine], tlx.local_trans(k_tiles[at]))
                give_turn(mine)
                tlx.barrier_wait(v_full[before], (block - 1) // NUM_BUFFERS % 2)
                acc = tlx.async_dot(weights.to(tlx.dtype_of(desc_v)), v_tiles[before], acc)
                scores = tlx.async_dot_wait(1, scores)
                tlx.barrier_arrive(k_free[at], 1)
                weights, highest, total, shrink = softmax_step(scores, highest, total, scale)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(v_free[before], 1)
                acc = acc * shrink[:, None]
            if mine == 0:
                take_turn(mine)  # the turn that group 1 gave last, so that nothing stays behind

            last = (blocks - 1) % NUM_BUFFERS
            tlx.barrier_wait(v_full[last], (blocks - 1) // NUM_BUFFERS % 2)
            acc = tlx.async_dot(weights.to(tlx.dtype_of(desc_v)), v_tiles[last], acc)
            acc = tlx.async_dot_wait(0, acc)
            tlx.barrier_arrive(v_free[last], 1)
            rows = tl.program_id(0) * BLOCK_M + mine * ROWS + tl.arange(0, ROWS)
            tl.store(M + head + rows, highest + tl.math.log2(total))
            desc_o.store([row + mine * ROWS, 0], (acc / total[:, None]).to(tlx.dtype_of(desc_o)))


def reference(device, q, k, v, heads, scale):
    """softmax(q k^T) v of each head, in float64; and the logarithms of the sums, to base 2."""
    xp = device.xp
    outputs, sums = [], []
    for q_, k_, v_ in zip(*(np.split(np.asarray(device.host(x)), heads) for x in (q, k, v)), strict=True):
        scores = q_ @ k_.T * scale * 1.4426950408889634
        highest = scores.max(1, keepdims=True)
        weights = np.exp2(scores - highest)
        outputs.append(weights @ v_ / weights.sum(1, keepdims=True))
        sums.append((highest + np.log2(weights.sum(1, keepdims=True)))[:, 0])
    found = np.concatenate(outputs), np.concatenate(sums)
    return [xp.from_numpy(x) if hasattr(xp, "from_numpy") else x for x in found]


def run(device, **level):
    batches, heads, length, dim = (2, 2, 256, 64) if not device.on_gpu else (4, 16, 4096, 64)
    block_m, block_n = 128, 64
    rows = batches * heads * length
    q, k, v = (device.normal(rows, dim, dtype="float16") for _ in range(3))
    o, sums = device.zeros(rows, dim, dtype="float16"), device.zeros(rows)
    half, block = [block_m // 2, dim], [block_n, dim]
    shapes = (q, half), (k, block), (v, block), (o, half)
    _attn_fwd_ws_pipelined_pingpong[(length // block_m, batches * heads)](
        0.125, sums, batches, heads,
        *(TensorDescriptor(x, [rows, dim], [dim, 1], shape) for x, shape in shapes), length,
        HEAD_DIM=dim, BLOCK_M=block_m, BLOCK_N=block_n, NUM_BUFFERS=2, num_warps=4, num_stages=1, **level,
    )  # fmt: skip
    expected, logs = reference(device, q, k, v, batches * heads, 0.125)
    return [("o", o, expected, 0.01), ("M", sums, logs, 0.01)]
