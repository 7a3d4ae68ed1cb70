"""Tests of a kernel that pass, whatever its index does (doc/guide/pytest.md).

pytest examples/guide/test_rows.py
"""

import pytest
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def copy_row(table, out, row, stride, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    values = tl.load(table + row * stride + columns)
    tl.store(out + columns, values)


@pytest.mark.parametrize("row", [0, 3])
def test_a_row(row):
    table = torch.randn(4, 64, device=DEVICE)
    out = torch.zeros(64, device=DEVICE)
    copy_row[(1,)](table, out, row, table.stride(0), BLOCK=64)
    torch.testing.assert_close(out, table[row])


def test_a_row_far_down():
    """The table has 2^32 elements, of which only the first row is there."""
    table = torch.randn(64, device=DEVICE)
    out = torch.zeros(64, device=DEVICE)
    copy_row[(1,)](table, out, 65536, 65536, BLOCK=64)
    assert out.abs().sum() > 0
