"""Flash attention, forward: softmax(q k^T) v block by block (tutorial 06)."""

import numpy as np
import triton.language as tl
import triton_runner


@triton_runner.jit
def attention_blocks(acc, total, highest, q, k_ptrs, v_ptrs, stride_k, stride_v, rows, first, last, scale,
                     BLOCK_N: tl.constexpr, MASKED: tl.constexpr):  # fmt: skip
    """Takes the keys first..last-1 into the running sums; MASKED hides those after a row's own position."""
    for start in range(first, last, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        scores = tl.dot(q, tl.load(k_ptrs + start * stride_k)) * scale
        if MASKED:
            scores = tl.where(rows[:, None] >= cols[None, :], scores, -1.0e6)
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_highest[:, None])
        shrink = tl.math.exp2(highest - new_highest)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None]
        acc = tl.dot(p.to(q.dtype), tl.load(v_ptrs + start * stride_v), acc)
        highest = new_highest
    return acc, total, highest


@triton_runner.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, scale, stride_head, stride_row, length,
                     HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                     CAUSAL: tl.constexpr):  # fmt: skip
    start_m = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1) * stride_head
    rows = start_m + tl.arange(0, BLOCK_M)
    keys = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + head + rows[:, None] * stride_row + dims[None, :])
    k_ptrs = k_ptr + head + keys[None, :] * stride_row + dims[:, None]
    v_ptrs = v_ptr + head + keys[:, None] * stride_row + dims[None, :]
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    highest = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    scale *= 1.4426950408889634  # log2(e): exp2 is what the hardware has
    if CAUSAL:
        # Blocks before the diagonal need no mask.
        acc, total, highest = attention_blocks(
            acc,
            total,
            highest,
            q,
            k_ptrs,
            v_ptrs,
            stride_row,
            stride_row,
            rows,
            0,
            start_m,
            scale,
            BLOCK_N,
            False,
        )
        acc, total, highest = attention_blocks(
            acc, total, highest, q, k_ptrs, v_ptrs, stride_row, stride_row, rows, start_m, start_m + BLOCK_M,
            scale, BLOCK_N, True)  # fmt: skip
    else:
        acc, total, highest = attention_blocks(
            acc,
            total,
            highest,
            q,
            k_ptrs,
            v_ptrs,
            stride_row,
            stride_row,
            rows,
            0,
            length,
            scale,
            BLOCK_N,
            False,
        )
    tl.store(lse_ptr + tl.program_id(1) * length + rows, highest + tl.math.log2(total))
    out = (acc / total[:, None]).to(q.dtype)
    tl.store(out_ptr + head + rows[:, None] * stride_row + dims[None, :], out)


def run(device, **level):
    heads, length, dim, block_m, block_n, scale = 4, 256, 64, 64, 32, 0.5
    q, k, v = (device.normal(heads, length, dim, dtype="float16") for _ in range(3))
    out, lse = device.zeros(heads, length, dim, dtype="float16"), device.zeros(heads, length)
    attention_kernel[(length // block_m, heads)](
        q, k, v, out, lse, scale, length * dim, dim, length,
        HEAD_DIM=dim, BLOCK_M=block_m, BLOCK_N=block_n, CAUSAL=True, num_warps=4, num_stages=2, **level,
    )  # fmt: skip

    q, k, v = device.host(q), device.host(k), device.host(v)
    visible = device.host(device.array(np.tril(np.ones((length, length)))))
    scores = device.xp.exp(q @ k.swapaxes(1, 2) * scale) * visible
    total = scores.sum(2, keepdims=True)
    return [
        ("out", out, scores / total @ v, 5e-3),
        ("log2 of the sums", lse, device.xp.log2(total)[:, :, 0], 1e-3),
    ]
