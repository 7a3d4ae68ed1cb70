"""The state of a gated delta rule, as flash-linear-attention has it: on Blackwell another one in each run,
triton-lang/triton#10590 and fla-org/flash-linear-attention#945. check="race" says why."""

import torch
import triton
import triton.language as tl
import triton_runner


@triton.jit(do_not_specialize=["T"])
def chunk_state(
    k, v, w, new, g, h, T, K: tl.constexpr, V: tl.constexpr, ROWS: tl.constexpr, BV: tl.constexpr
):
    chunks = tl.cdiv(T, ROWS)
    half: tl.constexpr = K // 2
    t, c, d = tl.arange(0, ROWS), tl.program_id(0) * BV + tl.arange(0, BV), tl.arange(0, half)
    low = tl.zeros([half, BV], tl.float32)
    high = tl.zeros([half, BV], tl.float32)
    for i in range(chunks):
        at = h + i * K * V
        tl.store(at + d[:, None] * V + c[None, :], low.to(h.dtype.element_ty))
        tl.store(at + (half + d)[:, None] * V + c[None, :], high.to(h.dtype.element_ty))
        row = i * ROWS + t
        on = row < T
        rows = row[:, None]
        tile = tl.load(w + rows * K + d[None, :], mask=on[:, None], other=0)
        values = tl.dot(tile, low.to(tile.dtype))
        tile = tl.load(w + rows * K + half + d[None, :], mask=on[:, None], other=0)
        values += tl.dot(tile, high.to(tile.dtype))
        values = tl.load(v + rows * V + c[None, :], mask=on[:, None], other=0) - values
        tl.store(new + rows * V + c[None, :], values.to(new.dtype.element_ty), mask=on[:, None])
        last = tl.load(g + tl.minimum((i + 1) * ROWS, T) - 1)
        gates = tl.load(g + row, mask=on, other=0)
        values *= tl.where(on, tl.exp(last - gates), 0)[:, None]
        low *= tl.exp(last)
        high *= tl.exp(last)
        values = values.to(k.dtype.element_ty)
        tile = tl.load(k + rows * K + d[None, :], mask=on[:, None], other=0)
        low += tl.dot(tl.trans(tile), values)
        tile = tl.load(k + rows * K + half + d[None, :], mask=on[:, None], other=0)
        high += tl.dot(tl.trans(tile), values)


torch.manual_seed(0)
T, K, V = 192, 128, 32
k, w = (torch.randn(T, K).mul(0.1).bfloat16() for _ in range(2))
v, new = torch.randn(T, V).bfloat16(), torch.zeros(T, V).bfloat16()
h = torch.zeros(T // 64, K, V).bfloat16()
g = torch.randn(T).abs().neg().cumsum(0).mul(0.01)
with triton_runner.using(check="race"):
    chunk_state[(1,)](k, v, w, new, g, h, T, K=K, V=V, ROWS=64, BV=32, num_warps=4, num_stages=2)
