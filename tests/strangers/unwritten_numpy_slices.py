"""A compaction whose result is longer than what is kept: the host takes all of it, by NumPy, as a list and
as a copy, and uses the part that the kernel wrote.

    $ verify FILE
    status  0
    says  warning, uninit at ttir: kernel 'compact': kept: 20 of 64 elements were never written
    says  verdict: right
    never  fault
    $ run --device cpu --check uninit FILE
    status  0
    says  kept: 20 of 64 elements were never written, the first is 44
"""

import numpy
import torch
import triton
import triton.language as tl


@triton.jit
def compact(x, kept, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    keep = value > 0
    tl.store(kept + tl.cumsum(keep.to(tl.int32), 0) - 1, value, keep)
    tl.store(count, tl.sum(keep.to(tl.int32), 0))


x = torch.where(torch.arange(64) % 16 < 11, 1.0, -1.0) * torch.arange(1, 65)
kept, count = torch.empty(64), torch.zeros(1, dtype=torch.int32)
compact[(1,)](x, kept, count, BLOCK=64)
n, expected = int(count), x[x > 0].numpy()
numpy.testing.assert_array_equal(kept.numpy()[:n], expected)
numpy.testing.assert_array_equal(numpy.asarray(kept)[:n], expected)
inside = numpy.arange(64) < n
assert numpy.where(inside, kept.numpy(), 0).sum() == expected.sum()
assert kept.tolist()[:n] == expected.tolist() and kept.cpu()[:n].sum() == expected.sum()
print("first", kept[:n][:4], "last", kept.tolist()[n - 1])
