"""How often each of 16 numbers is there, counted with atomics by all programs."""

import torch
import triton
import triton.language as tl
from triton_runner.testing import dims


@triton.jit
def histogram_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(out + tl.load(x + at, inside, other=0), 1, inside)


@dims(n=(0, 20000), x="int[n] in 0..16")
def histogram(x):
    x = x.contiguous()
    out = torch.zeros(16, dtype=torch.int32, device=x.device)
    histogram_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
    return out


def reference(x):
    return torch.bincount(x, minlength=16).to(torch.int32)


if __name__ == "__main__":
    x = torch.randint(0, 16, (512,), device="cuda")
    assert torch.equal(histogram(x), reference(x))
