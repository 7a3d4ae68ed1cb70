"""Has the small kernels that the tests of jit, driver and entries launch."""

import triton
import triton.language as tl
import triton_runner


def _add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


plain_add = triton.jit(_add)
add = triton_runner.jit(_add)


@triton_runner.jit
def scale(x, out, n, factor, stride, shift, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets * stride, mask=mask) * factor
    if shift is not None:
        value += tl.load(shift)
    tl.store(out + offsets, value, mask=mask)


@triton_runner.jit
def own_names(x, level, device, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets) * level + device)


@triton_runner.jit
def through_pointers(pointers, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(pointers).to(tl.pointer_type(tl.float32))
    tl.store(out + offsets, tl.load(x + offsets))


@triton_runner.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + offsets, mask=offsets < columns, other=0.0)
    tl.store(out + row, tl.sum(value, axis=0))


@triton_runner.jit
def printing(x, BLOCK: tl.constexpr):
    tl.device_print("x", tl.load(x + tl.arange(0, BLOCK)))
    tl.device_print("program")


@triton.jit
def reverse(last, out, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out + offsets, tl.load(last - offsets))
