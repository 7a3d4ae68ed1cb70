"""Vector addition: out = x + y (tutorial 01)."""

import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def run(device, **level):
    n, block = 98431, 1024
    x, y, out = device.normal(n), device.normal(n), device.zeros(n)
    add_kernel[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block, **level)
    return [("out", out, device.host(x + y), 0)]
