"""The two smallest Gluon kernels: copy one value, copy an array. Gluon compiles straight to TTGIR."""

import triton
import triton_runner  # noqa: F401  importing it makes the CPU a device for @gluon.jit too
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_scalar_kernel(in_ptr, out_ptr):
    gl.store(out_ptr, gl.load(in_ptr))


@gluon.jit
def copy_kernel(in_ptr, out_ptr, n, BLOCK: gl.constexpr):
    # The layout is the programmer's choice: here each thread holds one element.
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = offsets < n
    gl.store(out_ptr + offsets, gl.load(in_ptr + offsets, mask=inside), mask=inside)


def run(device, **level):
    n, block = 1000, 128
    one, copied_one = device.normal(1), device.zeros(1)
    x, copied = device.normal(n), device.zeros(n)
    copy_scalar_kernel[(1,)](one, copied_one, num_warps=1, **level)
    copy_kernel[(triton.cdiv(n, block),)](x, copied, n, BLOCK=block, num_warps=4, **level)
    return [("one value", copied_one, device.host(one), 0), ("array", copied, device.host(x), 0)]
