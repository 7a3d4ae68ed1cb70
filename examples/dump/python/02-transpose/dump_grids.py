"""Every program's block of a transpose, put together again: the programs lie one after the other, x
slowest."""

import sys
from pathlib import Path

import triton.language as tl
import triton_runner
import triton_runner.language as dl

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness


@triton_runner.jit
def transpose_kernel(
    in_ptr, out_ptr, rows, cols, stride_in, stride_out, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    block = tl.load(in_ptr + r[:, None] * stride_in + c[None, :], mask=inside, other=0.0)
    turned = tl.trans(block)
    dl.dump_grids(turned)
    tl.store(out_ptr + c[:, None] * stride_out + r[None, :], turned, mask=tl.trans(inside))


rows, cols, block = 96, 80, (32, 16)
device = harness.Device()

across, down = triton_runner.torch_utils.get_grid_dim([rows, cols], block)
dump_tensor = device.zeros(rows * cols)
x = dumped.transpose(device, transpose_kernel, rows, cols, block, dump_tensor=dump_tensor)
# [x, y, column of the block, row of the block] -> [y, column, x, row]
turned = device.xp.moveaxis(dump_tensor.reshape(across, down, block[1], block[0]), 0, 2)
harness.compare_dump(device, turned.reshape(cols, rows), x.T)
