"""Has an attention kernel for golden sessions: a loop whose accumulator, maximum and sum are carried."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, length, DIM: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keys = tl.arange(0, BLOCK)
    dims = tl.arange(0, DIM)
    q = tl.load(q_ptr + rows[:, None] * DIM + dims[None, :])
    highest = tl.zeros([BLOCK], dtype=tl.float32) - float("inf")
    total = tl.zeros([BLOCK], dtype=tl.float32)
    acc = tl.zeros([BLOCK, DIM], dtype=tl.float32)
    for start in range(0, length, BLOCK):
        k = tl.load(k_ptr + (start + keys)[None, :] * DIM + dims[:, None])
        scores = tl.dot(q, k)
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_highest[:, None])
        shrink = tl.math.exp2(highest - new_highest)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + (start + keys)[:, None] * DIM + dims[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        highest = new_highest
    tl.store(out_ptr + rows[:, None] * DIM + dims[None, :], (acc / total[:, None]).to(tl.float16))


def attends(length=128, dim=32, block=32):
    positions = torch.arange(length * dim, dtype=torch.float32).reshape(length, dim)
    q, k, v = (torch.sin(positions * step).to(torch.float16) for step in (0.7, 1.3, 0.1))
    out = torch.empty_like(q)
    attention[(length // block,)](q, k, v, out, length, DIM=dim, BLOCK=block)
    return q, k, v, out


def attends_wide():
    attends(length=256, dim=64, block=64)
