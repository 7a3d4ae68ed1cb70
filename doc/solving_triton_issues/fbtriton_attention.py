"""Attention whose products and softmax the compiler gives to partitions of Blackwell. fbtriton 3.7.4 has one
buffer of tensor memory for the scores and for their weights, and with three stages issues the next product of
scores before the weights are used."""

import os
import sys

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

os.environ["TRITON_USE_META_WS"] = "1"


@triton.jit
def attention(
    q_desc, k_desc, v_desc, out_desc, N, BLOCK: tl.constexpr, WIDTH: tl.constexpr, SPLIT: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0) * BLOCK
    largest = tl.zeros([BLOCK], tl.float32) - float("inf")
    total = tl.zeros([BLOCK], tl.float32)
    sums = tl.zeros([BLOCK, WIDTH], tl.float32)
    q = q_desc.load([row, 0])
    for start in tl.range(0, N, BLOCK, warp_specialize=SPLIT):
        scores = tl.dot(q, k_desc.load([start, 0]).T)
        now = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - now[:, None])
        shrink = tl.math.exp2(largest - now)
        sums = tl.dot(weights.to(tl.float16), v_desc.load([start, 0]), sums * shrink[:, None])
        total = total * shrink + tl.sum(weights, 1)
        largest = now
    out_desc.store([row, 0], (sums / total[:, None]).to(tl.float16))


def main(stages: int):
    torch.manual_seed(0)
    M, N, block, width = 128, 512, 128, 64
    q, k, v = (torch.randn(n, width).to(torch.float16).to("cuda") / 4 for n in (M, N, N))
    out = torch.zeros_like(q)
    descriptors = (TensorDescriptor.from_tensor(x, [block, width]) for x in (q, k, v, out))
    attention[(M // block,)](
        *descriptors, N, BLOCK=block, WIDTH=width, SPLIT=True, num_stages=stages, num_warps=4
    )
    weights = torch.exp2((q.float() @ k.float().T) - (q.float() @ k.float().T).amax(1, keepdim=True))
    want = (weights / weights.sum(1, keepdim=True)) @ v.float()
    wrong = ~torch.isclose(out.float(), want, atol=0.01, rtol=0.01)
    assert not wrong.any(), f"{int(wrong.sum())} of {out.numel()} elements are wrong"
    print("right")


main(int(sys.argv[1]) if sys.argv[1:] else 3)
