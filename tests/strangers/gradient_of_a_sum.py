"""ROCm/TransformerEngine#623: the gradient of a sum is one element that is expanded; a kernel that takes it
for one element a row reads past it.

    $ verify --shapes --cases 8 --vary layouts --reference FILE:reference FILE:scaled
    status  1
    says  out of bounds
    says  scale expanded(0)
    $ verify --shapes --cases 8 --vary layouts --reference FILE:reference FILE:scaled_by_strides
    status  0
    says  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, scale, out, scale_stride, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    factor = tl.load(scale + row * scale_stride)
    tl.store(out + row * columns + at, tl.load(x + row * columns + at, at < columns) * factor, at < columns)


def run(x, scale, stride):
    x, out = x.contiguous(), torch.empty(x.shape)
    if x.numel():
        block = triton.next_power_of_2(x.shape[1])
        scale_kernel[(x.shape[0],)](x, scale, out, stride, x.shape[1], BLOCK=block)
    return out


def scaled(x, scale):
    return run(x, scale, 1 if scale.numel() > 1 else 0)


def scaled_by_strides(x, scale):
    return run(x, scale, scale.stride(0))


def reference(x, scale):
    return x * scale[:, None]


if __name__ == "__main__":
    x, scale = torch.randn(6, 20), torch.rand(6)
    assert torch.equal(scaled(x, scale), reference(x, scale))
    assert torch.equal(scaled_by_strides(x, scale), reference(x, scale))
