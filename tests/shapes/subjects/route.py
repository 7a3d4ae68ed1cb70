"""The routing of a mixture of experts: the two most likely experts of each token, and their shares."""

import torch
import triton
import triton.language as tl
from triton_runner.testing import dims


@triton.jit
def route_kernel(
    logits, weights, experts, row_stride, column_stride, count, K: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(logits + row * row_stride + at * column_stride, inside, other=float("-inf")).to(
        tl.float32
    )
    share = tl.exp(value - tl.max(value, 0))
    share = share / tl.sum(share, 0)
    share = tl.where(inside, share, -1.0)
    for k in tl.static_range(K):
        best = tl.argmax(share, 0)
        tl.store(weights + row * K + k, tl.max(share, 0))
        tl.store(experts + row * K + k, best.to(tl.int32))
        share = tl.where(at == best, -1.0, share)


@dims(logits="finite")
def route(logits):
    rows, count = logits.shape
    if count < 2:
        raise ValueError("there are two experts at least")
    weights = torch.empty((rows, 2), dtype=torch.float32, device=logits.device)
    experts = torch.empty((rows, 2), dtype=torch.int32, device=logits.device)
    if rows:
        block = triton.next_power_of_2(count)
        route_kernel[(rows,)](logits, weights, experts, *logits.stride(), count, K=2, BLOCK=block)
    return weights, experts


def reference(logits):
    wide = logits if logits.dtype == torch.float64 else logits.float()
    # The first of equal experts is chosen, as tl.argmax has it; topk does not say which.
    weights, experts = torch.sort(torch.softmax(wide, -1), dim=-1, descending=True, stable=True)
    return weights[:, :2], experts[:, :2].int()


if __name__ == "__main__":
    logits = torch.randn(20, 16, device="cuda")
    for one, other in zip(route(logits), reference(logits), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
