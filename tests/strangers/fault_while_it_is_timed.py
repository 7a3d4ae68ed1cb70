"""An autotuned kernel that reads beyond its rows, as products do that mask K alone. The first launch that
does it is one of those by which the autotuner chooses, which are not judged: it ends the program, and is
judged then.

$ verify FILE masked
status  0
says  the result was compared by the program: assert at
says  verdict: right
$ verify FILE unmasked
status  1
says  fault, oob at ttir, ttgir, ptx: kernel 'sums': out of bounds in tt.load at
says  a fault of the launch at
says  verdict: wrong
never  no kernel was launched
never  by which an autotuner chooses
$ verify FILE idle
status  1
says  no program of sums stores anything in this launch
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def sums(x, o, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, 16)
    if KIND == "unmasked":
        tile = tl.load(x + rows[:, None] * 16 + columns[None, :])
    else:
        tile = tl.load(x + rows[:, None] * 16 + columns[None, :], rows[:, None] < n, other=0)
    if KIND != "idle":
        tl.store(o + rows, tl.sum(tile, 1), rows < n)


x, o = torch.arange(40 * 16.0).reshape(40, 16), torch.zeros(40)
sums[lambda meta: (triton.cdiv(40, meta["BLOCK"]),)](x, o, 40, sys.argv[1])
assert torch.equal(o, x.sum(1))
