"""A buffer that the next asynchronous copy overwrites while it is still read, triton-lang/triton#8139: right
where copies land late, wrong where they land at once."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(index, out, n, keep):
    for i in tl.range(0, n, num_stages=2):
        at = tl.load(index + i + tl.arange(0, 1))
        if keep:
            tl.store(out + at, i + 1)


n = 17
index, out = torch.arange(n, dtype=torch.int32), torch.zeros(n, dtype=torch.int32)
kernel[(1,)](index, out, n, 3, num_warps=1)
sys.exit(int(not torch.equal(out, torch.arange(1, n + 1, dtype=torch.int32))))
