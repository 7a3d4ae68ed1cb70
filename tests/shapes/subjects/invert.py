"""A permutation and its inverse: a scatter whose index holds each number once."""

import torch
import triton
import triton.language as tl


@triton.jit
def invert_kernel(order, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + tl.load(order + at, inside, other=0), at, inside)


def invert(order):
    order = order.contiguous()
    out = torch.empty(order.shape[0], dtype=torch.int32, device=order.device)
    if order.shape[0]:
        invert_kernel[(triton.cdiv(order.shape[0], 64),)](order, out, order.shape[0], BLOCK=64)
    return out


def reference(order):
    return torch.argsort(order).int()


if __name__ == "__main__":
    order = torch.randperm(200, device="cuda")
    assert torch.equal(invert(order), reference(order))
