"""Sums of the rows of each segment; the segments lie between offsets."""

import itertools

import torch
import triton
import triton.language as tl


@triton.jit
def segment_kernel(x, offsets, out, row_stride, columns, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first, last = tl.load(offsets + segment).to(tl.int64), tl.load(offsets + segment + 1).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(first, last):
        total += tl.load(x + row * row_stride + at, at < columns, other=0.0).to(tl.float32)
    tl.store(out + segment * columns + at, total, at < columns)


def segment_sum(x, offsets):
    segments, columns = offsets.shape[0] - 1, x.shape[1]
    if x.stride(1) != 1 or offsets.stride(0) != 1:
        raise ValueError("rows and offsets have to be contiguous")
    out = torch.empty((segments, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        grid = (segments, triton.cdiv(columns, 32))
        segment_kernel[grid](x, offsets, out, x.stride(0), columns, BLOCK=32)
    return out


def reference(x, offsets):
    parts = [x[first:last].sum(0) for first, last in itertools.pairwise(offsets.tolist())]
    return torch.stack(parts) if parts else x.new_empty((0, x.shape[1]))


if __name__ == "__main__":
    x = torch.randn(30, 64, device="cuda")
    offsets = torch.tensor([0, 7, 7, 20, 30], device="cuda", dtype=torch.int32)
    assert torch.allclose(segment_sum(x, offsets), reference(x, offsets), atol=1e-4)
