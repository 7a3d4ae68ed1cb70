"""A cache of keys that is filled page by page, and a result that is padded: both are torch.empty, and only
what was written is used.

$ verify FILE

status  0

says  warning, uninit at ttir: kernel 'put': cache: 384 of 512 elements were never written

never  fault, uninit

never  verdict: wrong
$ run --device cpu --check uninit FILE

status  0
"""

import torch
import triton
import triton.language as tl


@triton.jit
def put(keys, slots, cache, WIDTH: tl.constexpr):
    slot = tl.load(slots + tl.program_id(0))
    at = tl.arange(0, WIDTH)
    tl.store(cache + slot * WIDTH + at, tl.load(keys + tl.program_id(0) * WIDTH + at))


@triton.jit
def scores(query, cache, slots, result, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    slot = tl.load(slots + tl.program_id(0))
    tl.store(result + tl.program_id(0), tl.sum(tl.load(query + at) * tl.load(cache + slot * WIDTH + at), 0))


torch.manual_seed(1)
cache, keys, query = torch.empty(16, 32), torch.randn(4, 32), torch.randn(32)
slots = torch.tensor([11, 3, 7, 2])
put[(4,)](keys, slots, cache, WIDTH=32)
result = torch.empty(8)
scores[(4,)](query, cache, slots, result, WIDTH=32)
torch.testing.assert_close(result[:4], keys @ query)
