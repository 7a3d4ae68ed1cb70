"""A softmax of rows that descriptors of the host load: the zeros past the last column are part of its sums.

$ verify FILE right
status  0
says  verdict: right
$ verify FILE wrong
status  1
says  y_desc[14, 16] is 0.179932, and is compared with 0.200928
says  the ratio is the same number along axis 1
says  x_desc[14, 0:104] and 24 masked, which are 0
says  as they are outside of the descriptor: tt.descriptor_load at
says  zeros_outside_of_a_descriptor.py:29
never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def softmax_kernel(x_desc, y_desc, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS
    x = x_desc.load([row, 0]).to(tl.float32)
    if not WRONG:
        x = tl.where(tl.arange(0, BLOCK)[None, :] < n_cols, x, -float("inf"))
    x -= tl.max(x, axis=1)[:, None]
    e = tl.exp(x)
    y = e / tl.sum(e, axis=1)[:, None]
    y_desc.store([row, 0], y.to(tl.float16))


def softmax(x):
    M, N = x.shape
    y = torch.empty_like(x)
    rows, block = 8, triton.next_power_of_2(N)
    x_desc = TensorDescriptor.from_tensor(x, [rows, block])
    y_desc = TensorDescriptor.from_tensor(y, [rows, block])
    softmax_kernel[(triton.cdiv(M, rows),)](x_desc, y_desc, N, ROWS=rows, BLOCK=block)
    return y


torch.manual_seed(0)
x = torch.randn(40, 104, dtype=torch.float16)
y = softmax(x)
ref = torch.softmax(x, dim=-1)
diff = (y - ref).abs().max().item()
print(f"max diff {diff:.3e}")
assert diff < 1e-3
