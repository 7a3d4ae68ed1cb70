"""triton#11151: products of fp4 for sm_100 whose pairs lie along M or N, not along K. A is a permutation, so
that the product moves rows of B about and is exact.

$ run --device cpu --target cuda:100 --level ttgir FILE
status  0
says  four of four
$ run --device cpu --target cuda:100 --level ptx FILE
status  0
says  four of four
"""

import torch
import triton
import triton.language as tl

VALUES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@triton.jit
def multiply(a, b, c, N: tl.constexpr, A_ALONG_K: tl.constexpr, B_ALONG_K: tl.constexpr):
    whole, half = tl.arange(0, N), tl.arange(0, N // 2)
    if A_ALONG_K:
        x = tl.load(a + whole[:, None] * (N // 2) + half[None, :])
    else:
        x = tl.load(a + half[:, None] * N + whole[None, :])
    if B_ALONG_K:
        y = tl.load(b + half[:, None] * N + whole[None, :])
    else:
        y = tl.load(b + whole[:, None] * (N // 2) + half[None, :])
    ones = tl.full((N, N // 32), 127, tl.uint8)
    product = tl.dot_scaled(x, ones, "e2m1", y, ones, "e2m1", lhs_k_pack=A_ALONG_K, rhs_k_pack=B_ALONG_K)
    tl.store(c + whole[:, None] * N + whole[None, :], product)


def pairs(codes, dim):
    even, odd = codes.unfold(dim, 2, 2).unbind(-1)
    return (even | odd << 4).to(torch.uint8).contiguous()


torch.manual_seed(3)
N, right = 128, 0
selection = torch.zeros(N, N, dtype=torch.int64)
selection[torch.arange(N), torch.randperm(N)] = 2  # the code of 1.0
numbers = torch.randint(0, 16, (N, N))
for a_along_k in (False, True):
    for b_along_k in (False, True):
        result = torch.empty(N, N)
        a, b = pairs(selection, int(a_along_k)), pairs(numbers, int(not b_along_k))
        multiply[(1,)](a, b, result, N, a_along_k, b_along_k)
        assert torch.equal(result, VALUES[selection] @ VALUES[numbers]), (a_along_k, b_along_k)
        right += 1
print({4: "four of four"}[right])
