"""triton#11526: a product of f32 in three parts (tf32x3) takes twice the shared memory in Triton 3.8."""

import triton
import triton.language as tl


@triton.jit
def product(x, w, out, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, depth, K):
        at = start + inner
        left = tl.load(x + rows[:, None] * depth + at[None, :])
        right = tl.load(w + columns[:, None] * depth + at[None, :])
        total += tl.dot(left.to(tl.float32), tl.trans(right).to(tl.float32), input_precision="tf32x3")
    tl.store(out + rows[:, None] * N + columns[None, :], total)
