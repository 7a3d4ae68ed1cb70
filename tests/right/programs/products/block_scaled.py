"""Tempts levels: tl.dot_scaled with scales of e8m0 that every 32 elements share."""

# verify: --target cuda:100
import torch
import triton
import triton.language as tl


@triton.jit
def scaled(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    s = tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    sx = tl.load(sa + m[:, None] * (K // 32) + s[None, :])
    sy = tl.load(sb + n[:, None] * (K // 32) + s[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(x, sx, "e4m3", y, sy, "e4m3"))


torch.manual_seed(0)
M, N, K = 128, 64, 128
a, b = torch.randn(M, K).to(torch.float8_e4m3fn), torch.randn(K, N).to(torch.float8_e4m3fn)
sa = torch.randint(120, 130, (M, K // 32), dtype=torch.uint8)
sb = torch.randint(120, 130, (N, K // 32), dtype=torch.uint8)
c = torch.empty(M, N)
scaled[(1,)](a, sa, b, sb, c, M=M, N=N, K=K)
x = a.float() * torch.exp2(sa.float() - 127).repeat_interleave(32, 1)
y = b.float() * torch.exp2(sb.float() - 127).repeat_interleave(32, 1).T
torch.testing.assert_close(c, x @ y, rtol=1e-2, atol=1e-1)
