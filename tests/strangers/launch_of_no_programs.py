"""Launches of no programs, which Triton leaves out: the last of a loop over sizes, one whose grid a
function gives, and a program that makes no other.

    $ verify FILE
    status  0
    says  add: 2 launches of no programs, which Triton leaves out
    says  verdict: right
    $ verify FILE none
    status  125
    says  add: 1 launch of no programs
    says  no kernel was launched
    says  verdict: no launch
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


for n in (0,) if "none" in sys.argv else (100, 0):
    x, y, out = torch.ones(n), torch.ones(n), torch.empty(n)
    add[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)
    assert torch.equal(out, x + y)
if "none" not in sys.argv:
    add[lambda meta: (4, n // meta["BLOCK"])](x, y, out, n, BLOCK=64)
