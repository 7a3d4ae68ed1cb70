"""Tempts levels: inline PTX that packs four bytes and counts bits, executed at TTIR and TTGIR too."""

import torch
import triton
import triton.language as tl


@triton.jit
def popcount(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    bits = tl.inline_asm_elementwise(
        "popc.b32 $0, $1;", "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1
    )  # fmt: skip
    tl.store(out + at, bits)


torch.manual_seed(0)
x = torch.randint(-(2**31), 2**31, (128,)).int()
out = torch.empty(128, dtype=torch.int32)
popcount[(1,)](x, out, B=128)
assert out.tolist() == [bin(v % 2**32).count("1") for v in x.tolist()]
