"""Rows that are divided by their sums, with a fault: see doc/guide/debug.md."""

import torch
import triton
import triton.language as tl


@triton.jit
def normalize(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets <= columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0)
    total = tl.sum(x, axis=0)
    tl.store(out_ptr + row * columns + offsets, x / total, mask=offsets < columns)


if __name__ == "__main__":
    x = torch.arange(1, 25, dtype=torch.float32).reshape(4, 6)
    out = torch.empty_like(x)
    normalize[(4,)](x, out, 6, BLOCK=8)
    print("sums of the rows:", [round(total, 3) for total in out.sum(1).tolist()])
