"""Welford's sums without a guard for no elements: 0 / 0 for the padding of a row, where the order of the
target's reduction joins two of its elements. A NaN at PTX is no rounding, whatever is checked beside.

    $ verify FILE
    status  1
    says  fault, nan at ptx
    never  rounds more coarsely
    $ verify --check oob FILE
    status  1
    says  levels at ptx: ptx gives another result than ttgir
    says  verdict: wrong
    $ verify FILE guarded
    status  0
    says  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def joined(mean, spread, weight, other_mean, other_spread, other_weight):
    both = weight + other_weight
    part = other_weight / both
    by = other_mean - mean
    return mean + by * part, spread + other_spread + by * by * weight * part, both


@triton.jit
def guarded(mean, spread, weight, other_mean, other_spread, other_weight):
    both = weight + other_weight
    part = other_weight / tl.maximum(both, 1.0)
    by = other_mean - mean
    return mean + by * part, spread + other_spread + by * by * weight * part, both


@triton.jit
def variance(x, out, n, GUARDED: tl.constexpr, BLOCK: tl.constexpr):
    at, row = tl.arange(0, BLOCK), tl.program_id(0)
    value = tl.load(x + row * n + at, at < n, other=0.0)
    parts = value, tl.zeros_like(value), (at < n).to(tl.float32)
    if GUARDED:
        _, spread, weight = tl.reduce(parts, 0, guarded)
    else:
        _, spread, weight = tl.reduce(parts, 0, joined)
    tl.store(out + row, spread / weight)


torch.manual_seed(0)
x, out = torch.randn(8, 100), torch.empty(8)
variance[(8,)](x, out, 100, "guarded" in sys.argv, 128)
torch.testing.assert_close(out, x.var(1, correction=0), atol=1e-4, rtol=1e-4)
