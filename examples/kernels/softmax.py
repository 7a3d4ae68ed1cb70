"""Softmax of each row, several rows a program (tutorial 02)."""

import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def softmax_kernel(out_ptr, in_ptr, out_stride, in_stride, rows, cols, BLOCK: tl.constexpr):
    cols_of_block = tl.arange(0, BLOCK)
    inside = cols_of_block < cols
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(in_ptr + row * in_stride + cols_of_block, mask=inside, other=-float("inf"))
        # The largest element is subtracted so that exp cannot overflow.
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(
            out_ptr + row * out_stride + cols_of_block, numerator / tl.sum(numerator, axis=0), mask=inside
        )


def run(device, **level):
    rows, cols = 183, 781
    x, out = device.normal(rows, cols), device.zeros(rows, cols)
    softmax_kernel[(32,)](
        out, x, cols, cols, rows, cols, BLOCK=triton.next_power_of_2(cols), num_warps=8, **level
    )
    e = device.xp.exp(device.host(x))
    return [("softmax", out, e / e.sum(1, keepdims=True), 1e-6)]
