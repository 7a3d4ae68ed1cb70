"""triton#10574: a sum of products over the first axis becomes a matrix product, which sums over the last."""

import sys

import numpy as np
import triton_runner
from triton import language as tl


@triton_runner.jit
def outer(x, y, out, N: tl.constexpr):
    index = tl.arange(0, N)
    at = index[:, None] * N + index[None, :]
    products = tl.load(x + at)[:, :, None] * tl.load(y + at)[None, :, :]
    tl.store(out + at, tl.sum(products, axis=0))


if __name__ == "__main__":
    random = np.random.default_rng(0)
    x, y = (random.integers(-4, 5, (32, 32)).astype(np.float32) for _ in range(2))
    out = np.zeros((32, 32), np.float32)
    outer[(1,)](x, y, out, 32)
    sys.exit(int((out != (x[:, :, None] * y[None, :, :]).sum(0)).any()))
