"""A kernel that reads one array back to front and writes another: right with two arrays, a race with one
array twice. The first launch has the same shapes and is right.

    $ verify FILE
    status  1
    says  fault, race at
    says  verdict: wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_flipped(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.load(y + n - 1 - at))


x = torch.arange(256, dtype=torch.float32)
out = torch.empty(256)
add_flipped[(4,)](x, x, out, 256, BLOCK=64)
assert torch.equal(out, torch.full((256,), 255.0))
add_flipped[(4,)](x, x, x, 256, BLOCK=64)
