"""Tempts levels: h = a * h + b by an associative scan over pairs, against the loop."""

import torch
import triton
import triton.language as tl


@triton.jit
def compose(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def recurrence(a, b, h, T: tl.constexpr):
    row = tl.program_id(0) * T + tl.arange(0, T)
    _, states = tl.associative_scan((tl.load(a + row), tl.load(b + row)), 0, compose)
    tl.store(h + row, states)


torch.manual_seed(0)
a, b = torch.rand(4, 128), torch.randn(4, 128)
h = torch.empty_like(a)
recurrence[(4,)](a, b, h, T=128)
expected, state = [], torch.zeros(4)
for t in range(128):
    state = a[:, t] * state + b[:, t]
    expected.append(state)
torch.testing.assert_close(h, torch.stack(expected, 1), rtol=1e-4, atol=1e-5)
