"""Attention of [B, H, T, D] by the strides of each tensor, in blocks of keys, causal."""

import torch
import triton
import triton.language as tl
from triton_runner.testing import dims


@triton.jit
def attention_kernel(
    q, k, v, out, qb, qh, qt, qd, kb, kh, kt, kd, vb, vh, vt, vd, ob, oh, ot, heads, times, D, scale,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BD)
    query = tl.load(
        q + batch * qb + head * qh + m[:, None] * qt + d[None, :] * qd,
        (m[:, None] < times) & (d[None, :] < D), other=0.0,
    ).to(tl.float32)  # fmt: skip
    largest, total = tl.full((BM,), float("-inf"), tl.float32), tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, BD), tl.float32)
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * BM, times), BN):
        n = start + tl.arange(0, BN)
        inside = (n[:, None] < times) & (d[None, :] < D)
        key = tl.load(k + batch * kb + head * kh + n[:, None] * kt + d[None, :] * kd, inside, other=0.0)
        score = tl.dot(query, tl.trans(key.to(tl.float32)), input_precision="ieee") * scale
        score = tl.where((n[None, :] <= m[:, None]) & (n[None, :] < times), score, float("-inf"))
        new = tl.maximum(largest, tl.max(score, 1))
        share, keep = tl.exp(score - new[:, None]), tl.exp(largest - new)
        value = tl.load(v + batch * vb + head * vh + n[:, None] * vt + d[None, :] * vd, inside, other=0.0)
        sums = sums * keep[:, None] + tl.dot(share, value.to(tl.float32), input_precision="ieee")
        total, largest = total * keep + tl.sum(share, 1), new
    at = out + batch * ob + head * oh + m[:, None] * ot + d[None, :]
    tl.store(at, sums / total[:, None], (m[:, None] < times) & (d[None, :] < D))


@dims(q="finite", k="finite", v="finite")
def attention(q, k, v):
    batches, heads, times, D = q.shape
    assert q.shape == k.shape == v.shape and D > 0
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if out.numel():
        grid = (triton.cdiv(times, 16), batches * heads)
        attention_kernel[grid](
            q, k, v, out, *q.stride(), *k.stride(), *v.stride(), *out.stride()[:3], heads, times, D, D**-0.5,
            BM=16, BN=16, BD=max(16, triton.next_power_of_2(D)),
        )  # fmt: skip
    return out


def reference(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


if __name__ == "__main__":
    q, k, v = (torch.randn(2, 3, 32, 16, device="cuda") for _ in range(3))
    assert torch.allclose(attention(q, k, v), reference(q, k, v), atol=1e-4)
