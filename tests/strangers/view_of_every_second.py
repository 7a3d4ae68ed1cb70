"""triton#10336: a mask of another tensor's length lets a kernel read past a view of every second element.

$ verify FILE
status  1
says  out of bounds in tt.load
says  bins
never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add(values, bins, out, n, values_stride, bins_stride):
    at = tl.arange(0, 8)
    value = tl.load(values + at * values_stride, at < n, other=0)
    number = tl.load(bins + at * bins_stride, at < n, other=-1)
    tl.store(out + at, value + number, at < n)


values = torch.tensor([1, 2, 3, 4], dtype=torch.int32)
bins = torch.tensor([10, 99, 11, 99, 12], dtype=torch.int32)[::2]
add[(1,)](values, bins, torch.empty(4, dtype=torch.int32), 4, values.stride(0), bins.stride(0))
