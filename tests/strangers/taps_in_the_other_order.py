"""A convolution that takes the taps of its window column by column, where the weights have them row by row.

$ verify FILE right
status  0
says  verdict: right
$ verify FILE wrong
status  1
says  y_ptr[0, 0, 0, 0] is -1.48389, and is compared with 3.90869; 1,400 of 1,400 elements differ
says  tt.dot at
says  taps_in_the_other_order.py:65
says  multiplies x_ptr[0, 0, 0, 0] by w_ptr[0, 0, 0, 4], ..., x_ptr[0, 0, 1, 3] by w_ptr[0, 0, 2, 4]
never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def conv2d(
    x_ptr,
    w_ptr,
    y_ptr,
    C,
    H,
    W,
    OC,
    OH,
    OW,
    total,
    KH: tl.constexpr,
    KW: tl.constexpr,
    STRIDE: tl.constexpr,
    PAD: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    oc = tl.program_id(1) * BN + tl.arange(0, BN)
    n, oh, ow = m // (OH * OW), m // OW % OH, m % OW
    taps = C * KH * KW
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, taps, BK):
        k = k0 + tl.arange(0, BK)
        c = k // (KH * KW)
        if WRONG:
            kh = k % KH
            kw = k // KH % KW
        else:
            kh = k // KW % KH
            kw = k % KW
        ih = oh[:, None] * STRIDE - PAD + kh[None, :]
        iw = ow[:, None] * STRIDE - PAD + kw[None, :]
        inside = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W) & (m[:, None] < total) & (k[None, :] < taps)
        x = tl.load(x_ptr + ((n[:, None] * C + c[None, :]) * H + ih) * W + iw, mask=inside, other=0.0)
        w = tl.load(
            w_ptr + oc[None, :] * taps + k[:, None], mask=(oc[None, :] < OC) & (k[:, None] < taps), other=0.0
        )
        acc = tl.dot(x, w, acc, input_precision="ieee")
    at = ((n[:, None] * OC + oc[None, :]) * OH + oh[:, None]) * OW + ow[:, None]
    tl.store(y_ptr + at, acc, mask=(m[:, None] < total) & (oc[None, :] < OC))


torch.manual_seed(0)
x = torch.randn(2, 3, 14, 12)
w = torch.randn(20, 3, 3, 5)
expected = torch.nn.functional.conv2d(x, w, stride=2, padding=1)
N, OC, OH, OW = expected.shape
y = torch.empty(N, OC, OH, OW)
total = N * OH * OW
grid = (triton.cdiv(total, 16), triton.cdiv(OC, 16))
conv2d[grid](x, w, y, 3, 14, 12, OC, OH, OW, total, KH=3, KW=5, STRIDE=2, PAD=1, BM=16, BN=16, BK=16)
torch.testing.assert_close(y, expected, atol=1e-4, rtol=1e-4)
