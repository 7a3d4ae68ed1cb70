"""A kernel that adds to many tensors, which it finds in a table of pointers. Each run of it has to begin with
the same tensors.

    $ verify FILE
    status  0
    says  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def foreach_add(ptrs, sizes, alpha, BLOCK: tl.constexpr):
    which = tl.program_id(0)
    p = tl.load(ptrs + which).to(tl.pointer_type(tl.float32))
    n = tl.load(sizes + which)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(p + at, mask=at < n)
        tl.store(p + at, x + alpha, mask=at < n)


params = [torch.zeros(n) for n in (100, 64, 30)]
ptrs = torch.tensor([p.data_ptr() for p in params])
sizes = torch.tensor([p.numel() for p in params], dtype=torch.int32)
foreach_add[(3,)](ptrs, sizes, 0.5, BLOCK=64)
for p in params:
    torch.testing.assert_close(p, torch.full_like(p, 0.5))
