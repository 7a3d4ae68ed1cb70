"""A cumulative sum from the end, over fewer elements than a warp has threads: Triton 3.0 to 3.2."""

import sys

import numpy as np
import triton_runner
from triton import language as tl


@triton_runner.jit
def sums_from_the_end(values, out, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.cumsum(tl.load(values + place), 0, reverse=True))


if __name__ == "__main__":
    values, out = np.arange(4, dtype=np.float32).reshape(2, 2), np.zeros((2, 2), np.float32)
    sums_from_the_end[(1,)](values, out, 2, 2)
    sys.exit(int((out != np.flip(np.cumsum(np.flip(values, 0), 0), 0)).any()))
