"""A program that launches its kernels in processes that multiprocessing starts.

$ verify FILE spawn
status  125
says  the program starts another Python
says  which makes launches of its own; they are not looked at here
says  verdict: no launch
$ verify FILE fork
status  125
says  not judged: 2 launches in processes that the program started
never  starts another Python
$ run FILE spawn
status  0
says  [6.0, 6.0]
never  starts another Python
"""

import multiprocessing
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)


def work(value):
    x = torch.full((8,), value)
    out = torch.empty_like(x)
    double[(1,)](x, out, BLOCK=8)
    return out[0].item()


if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(work, [3.0, 3.0]))
