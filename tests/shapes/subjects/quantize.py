"""Rows as 8-bit integers with a scale each."""

import torch
import triton
import triton.language as tl
from triton_runner.testing import dims


@triton.jit
def quantize_kernel(x, out, scales, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * row_stride + at, inside, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-10) / 127.0
    scaled = value / scale
    rounded = tl.where(scaled >= 0, tl.floor(scaled + 0.5), tl.ceil(scaled - 0.5))
    tl.store(out + row * columns + at, tl.clamp(rounded, -127.0, 127.0).to(tl.int8), inside)
    tl.store(scales + row, scale)


@dims(x="finite")
def quantize(x):
    rows, columns = x.shape
    x = x if x.stride(1) == 1 else x.contiguous()
    out = torch.empty((rows, columns), dtype=torch.int8, device=x.device)
    scales = torch.empty((rows,), dtype=torch.float32, device=x.device)
    if rows:
        block = triton.next_power_of_2(max(columns, 1))
        quantize_kernel[(rows,)](x, out, scales, x.stride(0), columns, BLOCK=block)
    return out, scales


def reference(x):
    wide = x.float()
    largest = wide.abs().amax(1) if x.shape[1] else torch.zeros(x.shape[0], device=x.device)
    scales = largest.clamp(min=1e-10) / 127.0
    scaled = wide / scales[:, None]
    rounded = torch.where(scaled >= 0, (scaled + 0.5).floor(), (scaled - 0.5).ceil())
    return rounded.clamp(-127, 127).to(torch.int8), scales


if __name__ == "__main__":
    x = torch.randn(10, 96, device="cuda")
    assert (quantize(x)[0].int() - reference(x)[0].int()).abs().max() <= 1
