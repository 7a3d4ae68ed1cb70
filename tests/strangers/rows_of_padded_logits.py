"""vllm#42684: the rows of logits are found by the vocabulary's size, so that a view of padded logits is read
and written at other rows.

    $ verify --shapes --cases 6 --vary layouts --reference FILE:reference FILE:keep_largest_
    status  1
    says  fault, result
    says  x padded(1)
    $ verify --shapes --cases 6 --vary layouts --reference FILE:reference FILE:keep_largest_by_strides_
    status  0
    says  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def keep_kernel(x, row_stride, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = x + tl.program_id(0) * row_stride
    value = tl.load(row + at, at < columns, other=float("-inf"))
    largest = tl.max(value, 0)
    tl.debug_barrier()
    tl.store(row + at, tl.where(value == largest, value, float("-inf")), at < columns)


def keep(x, row_stride):
    if x.stride(1) != 1:
        raise ValueError("rows have to be contiguous")
    if x.numel():
        keep_kernel[(x.shape[0],)](x, row_stride, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return x


def keep_largest_(x):
    return keep(x, x.shape[1])


def keep_largest_by_strides_(x):
    return keep(x, x.stride(0))


def reference(x):
    return torch.where(x == x.amax(1, keepdim=True), x, float("-inf"))


if __name__ == "__main__":
    x = torch.randn(4, 50)
    wanted = reference(x)
    assert torch.equal(keep_largest_(x.clone()), wanted)
    assert torch.equal(keep_largest_by_strides_(x.clone()), wanted)
