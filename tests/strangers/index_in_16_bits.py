"""The largest element of rows in two steps. The first stores its index by way of f16, and its tensors
are gone when the program compares.

    $ verify FILE right
    status  0
    says  verdict: right
    $ verify FILE wrong
    status  1
    says  out_ptr[2] is 4864, and is compared with 4865; 5 of 12 elements differ
    says  idx_ptr[2, 19]: tt.load at
    says  index_in_16_bits.py:47
    says  idx_ptr is what argmax_blocks writes: tt.store at
    says  index_in_16_bits.py:36
    says  it is made of a number in f16 at
    says  index_in_16_bits.py:36
    never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def argmax_blocks(x_ptr, val_ptr, idx_ptr, N, n_blocks, BLOCK: tl.constexpr):
    row, blk = tl.program_id(0), tl.program_id(1)
    offs = blk * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + offs, mask=offs < N, other=-float("inf"))
    tl.store(val_ptr + row * n_blocks + blk, tl.max(x, axis=0))
    index = blk * BLOCK + tl.argmax(x, axis=0)
    if WRONG:
        tl.store(idx_ptr + row * n_blocks + blk, index.to(tl.float16))
    else:
        tl.store(idx_ptr + row * n_blocks + blk, index)


@triton.jit
def argmax_final(val_ptr, idx_ptr, out_ptr, n_blocks, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    v = tl.load(val_ptr + row * n_blocks + offs, mask=offs < n_blocks, other=-float("inf"))
    best = tl.argmax(v, axis=0)
    tl.store(out_ptr + row, tl.load(idx_ptr + row * n_blocks + best).to(tl.int64))


def argmax(x, block=256):
    M, N = x.shape
    n_blocks = triton.cdiv(N, block)
    vals = torch.empty(M, n_blocks)
    idx = torch.empty(M, n_blocks, dtype=torch.int32)
    out = torch.empty(M, dtype=torch.int64)
    argmax_blocks[(M, n_blocks)](x, vals, idx, N, n_blocks, BLOCK=block)
    argmax_final[(M,)](vals, idx, out, n_blocks, BLOCK=triton.next_power_of_2(n_blocks))
    return out


torch.manual_seed(0)
x = torch.randn(12, 5000)
assert torch.equal(argmax(x), x.argmax(dim=1)), "argmax differs"
