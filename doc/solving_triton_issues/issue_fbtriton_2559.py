"""A product whose rows the compiler splits among two warp groups of Hopper. fbtriton 3.7.4 gives the tiles
that both store by TMA one buffer (facebookexperimental/triton#2559); Triton leaves the loop as it is."""

import os

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

os.environ["TRITON_USE_META_WS"] = "1"
FORK = tl.constexpr(triton.__version__.endswith("+fb"))


@triton.jit
def product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * M
    column = tl.program_id(1) * N
    sums = tl.zeros((M, N), dtype=tl.float32)
    if FORK:
        for k in tl.range(
            tl.cdiv(K, BLOCK), warp_specialize=True, data_partition_factor=2, separate_epilogue_store=True
        ):
            sums = tl.dot(a.load([row, k * BLOCK]), b.load([column, k * BLOCK]).T, sums)
    else:
        for k in tl.range(tl.cdiv(K, BLOCK)):
            sums = tl.dot(a.load([row, k * BLOCK]), b.load([column, k * BLOCK]).T, sums)
    c.store([row, column], sums.to(tl.float16))


def main():
    M, N, K, m, n, k = 256, 128, 256, 128, 128, 64
    a = torch.randn(M, K, dtype=torch.float16, device="cuda")
    b = torch.randn(N, K, dtype=torch.float16, device="cuda")
    c = torch.zeros(M, N, dtype=torch.float16, device="cuda")
    options = {"maxRegAutoWS": 208} if FORK else {}
    tiles = [(a, [m, k]), (b, [n, k]), (c, [m, n])]
    product[(M // m, N // n)](
        *(TensorDescriptor.from_tensor(*tile) for tile in tiles), K, M=m, N=n, BLOCK=k,
        num_stages=3, num_warps=4, **options,
    )  # fmt: skip
    wrong = ~torch.isclose(c.float(), a.float() @ b.float().T, atol=0.03, rtol=0.03)
    assert not wrong.any(), f"{int(wrong.sum())} of {c.numel()} elements are wrong"
    print("right")


main()
