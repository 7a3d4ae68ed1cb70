"""A sum of two vectors, of any length that there is."""

import torch
import triton
import triton.language as tl
from triton_runner.testing import dims


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@dims(n=(0, 1 << 33), x="float[n]", y="float[n]")
def add(x, y):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out


def reference(x, y):
    return x + y


if __name__ == "__main__":
    x, y = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
    assert torch.allclose(add(x, y), reference(x, y))
