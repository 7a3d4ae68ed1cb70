"""The update of a causal convolution: its taps are rows of the state, loaded in the layout of a row; the
state is then shifted in place, stored in the layout of a tile. Nothing orders the store after the taps of
other warps (NVIDIA/TensorRT-LLM#17522, sgl-project/sglang#16714).

    $ verify FILE
    status  1
    says  fault, race at
    says  verdict: wrong
    never  atomics
    $ run --level ttgir --check race FILE
    status  1
    says  data race in tt.store
    says  tl.debug_barrier() between the two orders them
    $ run --level ptx --check race FILE
    status  1
    says  data race
    $ verify FILE barrier
    status  0
    says  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def step(state, x, weights, out, dim, BARRIER: tl.constexpr, TAPS: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    new = tl.load(x + at, at < dim, 0.0)
    total = new * tl.load(weights + TAPS * dim + at, at < dim, 0.0)
    for tap in tl.static_range(TAPS):
        total += tl.load(state + tap * dim + at, at < dim, 0.0) * tl.load(
            weights + tap * dim + at, at < dim, 0.0
        )
    row = tl.arange(0, TAPS)[:, None]
    inside = at[None, :] < dim
    kept = tl.load(state + (row + 1) * dim + at[None, :], inside & (row + 1 < TAPS), 0.0)
    last = tl.load(x + row * 0 + at[None, :], inside & (row + 1 == TAPS), 0.0)
    if BARRIER:
        tl.debug_barrier()
    tl.store(state + row * dim + at[None, :], kept + last, inside)
    tl.store(out + at, total, at < dim)


torch.manual_seed(0)
DIM, TAPS = 256, 4
state, x, weights = torch.randn(TAPS, DIM), torch.randn(DIM), torch.randn(TAPS + 1, DIM)
expected, shifted = (torch.cat([state, x[None]]) * weights).sum(0), torch.cat([state[1:], x[None]])
out = torch.empty(DIM)
step[(2,)](state, x, weights, out, DIM, "barrier" in sys.argv, TAPS, 128)
torch.testing.assert_close(out, expected)
torch.testing.assert_close(state, shifted)
