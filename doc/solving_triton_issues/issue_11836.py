"""triton#11836: a running sum that is stored before it grows is stored as zero."""

import sys

import numpy as np
import triton_runner
from triton import language as tl


@triton_runner.jit
def running(x, seen, last, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEPS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS,), tl.float32)
    for step in range(STEPS):
        tl.store(seen + step * ROWS + rows, total)
        total += tl.sum(tl.load(x + (step * ROWS + rows[:, None]) * COLUMNS + columns[None, :]), 1)
    tl.store(last + rows, total)


if __name__ == "__main__":
    x = np.ones((3, 16, 256), np.float32)
    seen, last = np.zeros((3, 16), np.float32), np.zeros(16, np.float32)
    running[(1,)](x, seen, last, 16, 256, 3)
    sys.exit(int((seen != np.arange(3)[:, None] * 256).any() or (last != 3 * 256).any()))
