"""A wrong answer to judge_task.py: two programs share a row, and what one has added gets lost."""
import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, half = tl.program_id(0), tl.program_id(1)
    at = half * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + row * n + at, mask=at < n, other=0.0), 0)
    tl.store(out_ptr + row, tl.load(out_ptr + row) + part)


def reference(x):
    x = x.contiguous()
    out = torch.zeros(x.shape[0], device=x.device)
    row_sum[(x.shape[0], 2)](x, out, x.shape[1], BLOCK=256)
    return out
