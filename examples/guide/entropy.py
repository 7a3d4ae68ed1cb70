"""The entropy of rows with zeros: 0 * log(0) is a NaN that no output keeps (doc/guide/verify.md).

python examples/guide/entropy.py
"""

import torch
import triton
import triton.language as tl


@triton.jit
def entropy(p_ptr, out_ptr, N: tl.constexpr):
    p = tl.load(p_ptr + tl.program_id(0) * N + tl.arange(0, N))
    terms = p * tl.log(p)
    tl.store(out_ptr + tl.program_id(0), -tl.sum(tl.where(p > 0, terms, 0.0)))


p = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 0.0, 1.0, 0.0]]).repeat(2, 1)
out = torch.empty(4)
entropy[(4,)](p, out, N=4)
torch.testing.assert_close(out, torch.special.entr(p).sum(1))
print("entropy", [round(x, 3) for x in out.tolist()])
