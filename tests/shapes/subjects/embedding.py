"""Rows of a table by their numbers."""

import torch
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(table, index, out, columns, row, BLOCK: tl.constexpr):
    number = tl.load(index + tl.program_id(0))
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(table + number * row + at, at < columns)
        tl.store(out + tl.program_id(0) * columns + at, value, at < columns)


def embedding(table, index):
    table, index = table.contiguous(), index.contiguous()
    out = torch.empty((index.numel(), table.shape[1]), dtype=table.dtype, device=table.device)
    embedding_kernel[(index.numel(),)](table, index, out, table.shape[1], table.stride(0), BLOCK=64)
    return out


def reference(table, index):
    return torch.nn.functional.embedding(index, table)


if __name__ == "__main__":
    table, index = torch.randn(100, 128, device="cuda"), torch.randint(0, 100, (24,), device="cuda")
    assert torch.equal(embedding(table, index), reference(table, index))
