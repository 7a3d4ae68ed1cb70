"""Tempts levels: a loop whose end each number decides for itself, in 64 bits."""

import torch
import triton
import triton.language as tl


@triton.jit
def steps(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=1)
    count = tl.zeros((B,), tl.int32)
    while tl.max((v != 1).to(tl.int32), 0) == 1:
        going = v != 1
        v = tl.where(going, tl.where(v % 2 == 0, v // 2, 3 * v + 1), v)
        count += going.to(tl.int32)
    tl.store(out + at, count, mask=at < n)


def reference(v):
    count = 0
    while v != 1:
        v, count = (v // 2 if v % 2 == 0 else 3 * v + 1), count + 1
    return count


x = torch.arange(1, 91)
out = torch.empty(90, dtype=torch.int32)
steps[(3,)](x, out, 90, B=32)
assert out.tolist() == [reference(v) for v in x.tolist()]
