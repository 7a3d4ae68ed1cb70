"""The same rows, but the number of the first one is a product that does not fit into 32 bits. It is widened
too late, so that the address is wrong, at each level.

    $ run --device cpu --level ttir --check overflow FILE
    status  1
    says  integer overflow
    $ run --device cpu --level ptx --check overflow FILE
    status  1
    says  integer overflow
    says  which does not fit into 32 bits
"""

import torch
import triton
import triton.language as tl


@triton.jit
def ends(gates, out, row, stride, D: tl.constexpr, CHUNKS: tl.constexpr):
    d = tl.arange(0, D)
    total = tl.zeros((D,), tl.float32)
    for chunk in range(CHUNKS):
        last = tl.minimum((chunk.to(tl.int64) + 1) * 16, 64) - 1
        total += tl.load(gates + (row * stride + last) * D + d)
    tl.store(out + d, total)


ends[(1,)](torch.randn(64, 32), torch.zeros(32), 65536, 65536, D=32, CHUNKS=4)
