"""Copies one row of a table that has more than 2^31 elements (doc/guide/overflow.md).

python examples/guide/rows.py
"""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def copy_row(table, out, row, stride, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    values = tl.load(table + row * stride + columns)
    tl.store(out + columns, values)


# Only row 0 is there; a table of 16 GiB would show the same.
table = torch.arange(64, dtype=torch.float32, device=DEVICE)
out = torch.zeros(64, device=DEVICE)
copy_row[(1,)](table, out, 65536, 65536, BLOCK=64)
print("row 65536 begins with", out[:4].tolist())
