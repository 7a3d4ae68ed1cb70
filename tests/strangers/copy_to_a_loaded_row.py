"""databricks/megablocks#185: the row that a token is copied to is loaded, and its offset does not fit into 32
bits where there are many rows.

    $ verify --shapes --cases 4 --vary huge FILE:gathered
    status  1
    says  fault, overflow
    says  copy_to_a_loaded_row.py:24:13
    $ verify --shapes --cases 4 --vary huge FILE:gathered_in_64_bits
    status  0
    says  verdict: no fault found
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, rows, out, columns, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(rows + tl.program_id(0))
    if WIDE:
        row = row.to(tl.int64)
    value = tl.load(x + row * columns + at, at < columns)
    tl.store(out + tl.program_id(0) * columns + at, value, at < columns)


def run(x, rows, wide):
    if not (x.is_contiguous() and rows.is_contiguous()):
        raise ValueError("contiguous")
    out = torch.empty(rows.shape[0], x.shape[1])
    if out.numel():
        block = triton.next_power_of_2(x.shape[1])
        copy_kernel[(rows.shape[0],)](x, rows, out, x.shape[1], WIDE=wide, BLOCK=block)
    return out


def gathered(x, rows):
    return run(x, rows, False)


def gathered_in_64_bits(x, rows):
    return run(x, rows, True)


if __name__ == "__main__":
    x, rows = torch.randn(90, 40), torch.randint(0, 90, (12,), dtype=torch.int32)
    assert torch.equal(gathered(x, rows), x[rows.long()])
    assert torch.equal(gathered_in_64_bits(x, rows), x[rows.long()])
