"""A row's factor is loaded, spread over the warps that scale the row, and overwritten: a warp may load what
another one has stored already (triton#1615, for which Inductor writes tl.debug_barrier()).

    $ verify FILE
    status  1
    says  fault, race at
    says  verdict: wrong
    $ run --level ttgir --check race FILE
    status  1
    says  data race in tt.store
    $ run --level ptx --check race FILE
    status  1
    says  data race
    $ verify FILE barrier
    status  0
    says  verdict: right
    $ run --level ptx --check race FILE barrier
    status  0
    never  race
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, factors, out, BARRIER: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    at = row * N + tl.arange(0, N)[None, :]
    factor = tl.load(factors + row)
    tl.store(out + at, tl.load(x + at) * factor)
    if BARRIER:
        tl.debug_barrier()
    tl.store(factors + row, factor * 2)


torch.manual_seed(0)
x, factors, out = torch.rand(8, 512), torch.arange(8.0) + 1, torch.empty(8, 512)
expected = x * factors[:, None]
scale[(4,)](x, factors, out, "barrier" in sys.argv, 2, 512)
torch.testing.assert_close(out, expected)
torch.testing.assert_close(factors, (torch.arange(8.0) + 1) * 2)
