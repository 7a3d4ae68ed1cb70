"""Tempts race: bits of words that many lanes share, by atomic_or, atomic_and and atomic_xor."""

import torch
import triton
import triton.language as tl


@triton.jit
def mark(members, words, inverse, parity, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    m = tl.load(members + at, mask=at < n, other=0)
    bit = 1 << (m % 32)
    tl.atomic_or(words + m // 32, bit, mask=at < n)
    tl.atomic_and(inverse + m // 32, ~bit, mask=at < n)
    tl.atomic_xor(parity + tl.zeros_like(m), m, mask=at < n)


torch.manual_seed(0)
members = torch.randint(0, 128, (100,), dtype=torch.int32)
words, inverse = torch.zeros(4, dtype=torch.int32), torch.full((4,), -1, dtype=torch.int32)
parity = torch.zeros(1, dtype=torch.int32)
mark[(2,)](members, words, inverse, parity, 100, B=64)
expected, folded = [0] * 4, 0
for m in members.tolist():
    expected[m // 32] |= 1 << (m % 32)
    folded ^= m
assert [w & 0xFFFFFFFF for w in words.tolist()] == expected
assert torch.equal(inverse, ~words) and parity.item() == folded
