"""Tempts levels: a hash whose products wrap around in 32 bits, as unsigned numbers do."""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def murmur(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    h = tl.load(x + at).to(tl.uint32, bitcast=True)
    h ^= h >> 16
    h *= 0x85EBCA6B
    h ^= h >> 13
    h *= 0xC2B2AE35
    h ^= h >> 16
    tl.store(out + at, h.to(tl.int32, bitcast=True))


rng = np.random.default_rng(0)
x = rng.integers(-(2**31), 2**31, 256, dtype=np.int32)
out = torch.empty(256, dtype=torch.int32)
murmur[(1,)](torch.from_numpy(x), out, B=256)
h = x.view(np.uint32)
h = (h ^ (h >> 16)) * np.uint32(0x85EBCA6B)
h = (h ^ (h >> 13)) * np.uint32(0xC2B2AE35)
assert np.array_equal(out.numpy().view(np.uint32), h ^ (h >> 16))
