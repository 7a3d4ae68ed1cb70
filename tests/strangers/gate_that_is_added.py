"""A gate that is added where it is to be multiplied.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  gate_that_is_added.py:31: `*` in place of `+`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    gate = tl.load(gate_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    silu = gate * tl.sigmoid(gate)
    if WRONG:
        out = silu + up
    else:
        out = silu * up
    tl.store(out_ptr + offs, out.to(tl.float16), mask=mask)


torch.manual_seed(8)
gate, up = torch.randn(2000).half(), torch.randn(2000).half()
out = torch.empty_like(gate)
swiglu_kernel[(8,)](gate, up, out, 2000, BLOCK=256)
expected = (torch.nn.functional.silu(gate.float()) * up.float()).half()
assert torch.allclose(out, expected, rtol=1e-2, atol=1e-3), (out - expected).abs().max()
