"""triton#7749: the quotient of a run that crosses zero is taken for constant over the run."""

import sys

import numpy as np
import triton_runner
from triton import language as tl


@triton_runner.jit
def quotient(out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, (index - 40) // 16)


if __name__ == "__main__":
    out = np.zeros(64, np.int32)
    quotient[(1,)](out, 64, num_warps=1)
    sys.exit(int((out != np.trunc((np.arange(64) - 40) / 16)).any()))
