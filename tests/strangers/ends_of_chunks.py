"""Gated linear attention reads the gate of the last row of each chunk: (first row + min((i + 1) * 16, T) - 1)
* columns, in 64 bits. At PTX, LLVM computes (row + 0xffffffffffffff) << 7, whose upper bits the shift drops:
no address overflows.

    $ run --device cpu --level ptx --check overflow FILE
    status  0
    never  overflow
    $ verify FILE
    status  0
    never  overflow at
"""

import torch
import triton
import triton.language as tl


@triton.jit
def sums_of_ends(gates, out, T, HEADS: tl.constexpr, D: tl.constexpr, CHUNKS: tl.constexpr):
    batch, head, d = tl.program_id(0), tl.program_id(1), tl.arange(0, D)
    total = tl.zeros((D,), tl.float32)
    for chunk in range(CHUNKS):
        last = tl.minimum((chunk.to(tl.int64) + 1) * 16, T) - 1
        total += tl.load(gates + (batch * T + last) * HEADS * D + head * D + d)
    tl.store(out + (batch * HEADS + head) * D + d, total)


torch.manual_seed(3)
gates, out = torch.randn(2, 64, 2, 32), torch.zeros(2, 2, 32)
sums_of_ends[(2, 2)](gates, out, 64, HEADS=2, D=32, CHUNKS=4)
torch.testing.assert_close(out, gates[:, 15::16].sum(1), rtol=1e-5, atol=1e-5)
