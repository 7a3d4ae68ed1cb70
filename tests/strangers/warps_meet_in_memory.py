"""A tile is shifted in place, as states of a causal convolution are: warps store over a row that others load.
A tl.debug_barrier makes it right.

    $ run --level ttgir --check race FILE
    status  1
    says  data race in tt.store
    says  no barrier orders the two warps
    says  tl.debug_barrier() between the two orders them
    $ run --level ttgir --check race FILE barrier
    status  0
    never  race
    $ verify FILE
    status  1
    says  fault, race at
    says  another order of its warps gives another result
    never  atomics
    $ verify FILE barrier
    status  0
    never  race
    never  wrong
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def roll(state, out, BARRIER: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    at, row = tl.arange(0, N), tl.arange(0, ROWS)[:, None]
    oldest = tl.load(state + at)
    kept = tl.load(state + (row + 1) * N + at[None, :])
    if BARRIER:
        tl.debug_barrier()
    tl.store(state + row * N + at[None, :], kept)
    tl.store(out + at, oldest + 1)


state = torch.arange(5 * 256, dtype=torch.float32).reshape(5, 256)
out = torch.zeros(256)
roll[(1,)](state, out, "barrier" in sys.argv, 4, 256)
assert torch.equal(out, torch.arange(256) + 1.0)
