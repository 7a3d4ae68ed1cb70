"""The kernel that examples/deploy/add.cpp launches. Written into a folder by

triton-runner export examples/deploy/add_kernel.py:add_kernel --out kernels --targets cuda:80,cuda:90 \\
    --levels binary,ptx,ttir --variants "*fp32:16, *fp32:16, *fp32:16, i32:16?; BLOCK=1024"
"""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, total, mask=inside)
