"""A softmax with dropout that does not scale what it keeps.

$ verify FILE right
status  0
says  verdict: right
$ verify FILE wrong
status  1
says  out_ptr[0, 0] is 0.000965324, and is compared with 0.0012871; 9,613 of 12,800 elements differ
says  each of them is 0.75 times what it is compared with
never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def softmax_dropout_kernel(x_ptr, out_ptr, x_stride, out_stride, n_cols, p, seed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    num = tl.exp(x)
    y = num / tl.sum(num, axis=0)
    keep = tl.rand(seed, row * n_cols + cols) > p
    if WRONG:
        y = tl.where(keep, y, 0.0)
    else:
        y = tl.where(keep, y / (1 - p), 0.0)
    tl.store(out_ptr + row * out_stride + cols, y, mask=mask)


def softmax_dropout(x, p, seed):
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    softmax_dropout_kernel[(n_rows,)](
        x, out, x.stride(0), out.stride(0), n_cols, p, seed, BLOCK=triton.next_power_of_2(n_cols)
    )
    return out


torch.manual_seed(0)
x = torch.randn(64, 200)
out = softmax_dropout(x, 0.25, 42)
keep = out != 0
expected = torch.softmax(x, dim=-1) * keep / 0.75
print("kept", keep.float().mean().item())
torch.testing.assert_close(out, expected)
