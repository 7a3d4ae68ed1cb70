"""The block of the last program of a transpose: its rows 8 to 15 and columns 4 to 31 lie outside."""

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
    dl.dump_boundary(turned)
    tl.store(out_ptr + c[:, None] * stride_out + r[None, :], turned, mask=tl.trans(inside))


device = harness.Device()

dump_tensor = device.zeros(16, 32)
x = dumped.transpose(device, transpose_kernel, 100, 72, dump_tensor=dump_tensor)
expected = device.zeros(16, 32)
expected[:8, :4] = x.T[64:72, 96:100]
harness.compare_dump(device, dump_tensor, expected)
