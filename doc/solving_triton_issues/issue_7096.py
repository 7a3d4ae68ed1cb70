"""triton#7096: a product of small matrices is slower from Triton 3.3 on: it loads its operands otherwise."""

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    # Programs in groups of rows, so that what they read stays in the cache.
    program, tiles = tl.program_id(0), tl.cdiv(n, N)
    first = program // (GROUP * tiles) * GROUP
    height = min(tl.cdiv(m, M) - first, GROUP)
    row = first + program % (GROUP * tiles) % height
    column = program % (GROUP * tiles) // height
    rows = (row * M + tl.arange(0, M)) % m
    columns = (column * N + tl.arange(0, N)) % n
    inner = tl.arange(0, K)
    left = a + rows[:, None] * k + inner[None, :]
    right = b + inner[:, None] * n + columns[None, :]
    total = tl.zeros((M, N), tl.float32)
    for step in range(0, tl.cdiv(k, K)):
        x = tl.load(left, inner[None, :] < k - step * K, other=0.0)
        y = tl.load(right, inner[:, None] < k - step * K, other=0.0)
        total = tl.dot(x, y, total)
        left += K
        right += K * n
    rows, columns = row * M + tl.arange(0, M), column * N + tl.arange(0, N)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16), inside)
