"""Means of rows: right for the sizes of its own check (doc/guide/shapes.md)."""

import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x, out, row, column, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * row + at * column, at < columns, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(value, 0) / BLOCK)


def mean(x):
    rows, columns = x.shape
    if columns == 0:
        raise ValueError("rows without elements have no mean")
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    mean_kernel[(rows,)](x, out, *x.stride(), columns, BLOCK=triton.next_power_of_2(columns))
    return out


def reference(x):
    return x.mean(1)


if __name__ == "__main__":
    x = torch.randn(8, 256)
    assert torch.allclose(mean(x), reference(x), atol=1e-6)
    print("right")
