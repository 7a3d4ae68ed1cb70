"""Tempts oob: a convolution as a product; windows at the borders take masked zeros from outside of the
image."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def conv3x3(x, w, y, H, W, C: tl.constexpr, OUT: tl.constexpr, BLOCK: tl.constexpr):
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, col = pixel // W, pixel % W
    out = tl.arange(0, OUT)
    channel = tl.arange(0, C)
    acc = tl.zeros((BLOCK, OUT), tl.float32)
    for tap in range(9):
        r, c = row + tap // 3 - 1, col + tap % 3 - 1
        inside = (pixel < H * W) & (r >= 0) & (r < H) & (c >= 0) & (c < W)
        patch = tl.load(x + (r * W + c)[:, None] * C + channel[None, :], mask=inside[:, None], other=0.0)
        acc += tl.dot(patch, tl.load(w + tap * C * OUT + channel[:, None] * OUT + out[None, :]))
    tl.store(y + pixel[:, None] * OUT + out[None, :], acc, mask=pixel[:, None] < H * W)


torch.manual_seed(0)
H, W, C, OUT = 9, 11, 16, 16
x, w = torch.randn(H, W, C).half(), torch.randn(9, C, OUT).half()
y = torch.empty(H, W, OUT)
conv3x3[(triton.cdiv(H * W, 32),)](x, w, y, H, W, C=C, OUT=OUT, BLOCK=32)
weights = w.float().reshape(3, 3, C, OUT).permute(3, 2, 0, 1)
expected = F.conv2d(x.float().permute(2, 0, 1)[None], weights, padding=1)[0].permute(1, 2, 0)
torch.testing.assert_close(y, expected, rtol=1e-3, atol=2e-3)
