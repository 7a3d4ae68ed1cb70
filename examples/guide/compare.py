"""One launch at several levels, value by value (doc/guide/compare-levels.md).

python examples/guide/compare.py [--edit]
"""

import sys

import numpy as np
import triton.language as tl
import triton_runner


@triton_runner.jit
def softmax(x_ptr, out_ptr, COLS: tl.constexpr):
    at = tl.program_id(0) * COLS + tl.arange(0, COLS)
    x = tl.load(x_ptr + at)
    shifted = x - tl.max(x, 0)
    weights = tl.exp(shifted)
    total = tl.sum(weights, 0)
    tl.store(out_ptr + at, weights / total)


x = np.random.default_rng(0).standard_normal((4, 256)).astype(np.float32)
out = np.zeros_like(x)
sources = {}
if "--edit" in sys.argv:  # the PTX of this kernel, with log2(e) = 1.4427 replaced by 1.5
    text = softmax[(4,)](x, out, COLS=256, device="cpu", level="ptx").asm["ptx"]
    sources["ptx"] = text.replace("0f3FB8AA3B", "0f3FC00000")
found = triton_runner.lockstep(
    softmax, [x, out], {"COLS": 256}, grid=(4,), levels=["ttir", "ttgir", "ptx"], sources=sources
)
print(found)
sys.exit(found.diverged is not None)
