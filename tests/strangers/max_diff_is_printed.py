"""A matrix product that leaves out the last step along K. The program prints how far it is from the right
result, and checks nothing (the habit of many reports: "max diff 75.1").

    $ verify FILE
    status  0
    says  nothing here compares the result: compare it by an assertion in the program, or by --reference
    says  the program measures how far its result is from another tensor, which is not near:
    says  c[9, 2] is 15.7786, and is compared with 33.9992
    says  1,024 of 4,096 elements of a are read by no program, the first is a[0, 96]
    says  verdict: no fault found
    never  right
    $ verify --strict FILE
    status  125
    $ verify --reference FILE:product FILE
    status  1
    says  fault, reference at
    says  verdict: wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def mm(a, b, c, K, N: tl.constexpr, STEP: tl.constexpr):
    i, k = tl.arange(0, N), tl.arange(0, STEP)
    total = tl.zeros((N, N), tl.float32)
    for start in range(0, K - STEP, STEP):
        x = tl.load(a + i[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k)[:, None] * N + i[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * N + i[None, :], total)


def product(a, b, c):
    c[:] = a.float() @ b.float()


torch.manual_seed(0)
a, b = torch.randn(32, 128).half(), torch.randn(128, 32).half()
c = torch.zeros(32, 32)
mm[(1,)](a, b, c, 128, 32, 32)
print("max diff", (c - a.float() @ b.float()).abs().max().item())
