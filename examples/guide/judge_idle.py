"""An answer to judge_task.py that cheats: torch computes the result, and a kernel copies it."""
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def reference(x):
    total = x.sum(dim=1)
    out = torch.empty_like(total)
    copy[(1,)](total, out, total.numel(), BLOCK=64)
    return out
