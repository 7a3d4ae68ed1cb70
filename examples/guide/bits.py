"""A normalisation whose bits depend on its configuration, and so on the size of the batch
(doc/guide/bits.md).

python examples/guide/bits.py
"""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def norm(x, w, out, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * n + columns, mask=columns < n, other=0.0)
    total = tl.sum(values * values)
    scaled = values * tl.rsqrt(total / n + 1e-6)
    result = scaled * tl.load(w + columns, mask=columns < n, other=0.0) + 1.0
    tl.store(out + row * n + columns, result, mask=columns < n)


def rms_norm(x, w):
    M, n = x.shape
    out = torch.empty_like(x)
    warps = 8 if M < 16 else 4  # a small batch has fewer programs, which get more warps
    norm[(M,)](x, w, out, n, BLOCK=1024, num_warps=warps)
    return out


if __name__ == "__main__":
    numbers = torch.arange(21 * 1000, device=DEVICE) * 2654435761 % 4294967296
    numbers = (numbers.double() / 4294967296 - 0.5).float()  # on every machine the same
    x, w = numbers[:20000].reshape(20, 1000), numbers[20000:]
    expected = x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6) * w + 1.0
    torch.testing.assert_close(rms_norm(x, w), expected, rtol=1e-4, atol=1e-4)
