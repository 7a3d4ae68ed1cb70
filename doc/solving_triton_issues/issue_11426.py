"""triton#11426: tl.full(shape, -0.0) is +0.0."""

import sys

import numpy as np
import triton_runner
from triton import language as tl


@triton_runner.jit
def fill(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.full((N,), -0.0, tl.float32))


if __name__ == "__main__":
    out = np.ones(16, np.float32)
    fill[(1,)](out, 16)
    sys.exit(int(not np.signbit(out).all()))
