"""triton#7264: threads that hold one sum of products hold different numbers; a row should have one value."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def row_sums(a, b, o, N: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, N)
    s = tl.sum(tl.load(a + r * N + at) * tl.load(b + r * N + at), axis=0)
    tl.store(o + r * N + at, tl.zeros((N,), tl.float32) + s.to(tl.float32))


def rows_with_several_sums(fusion: bool) -> int:
    """How many of 256 rows hold more than one value for their sum."""
    torch.manual_seed(0)
    a, b = (torch.randn(256, 32) for _ in range(2))
    o = torch.empty(256, 32)
    row_sums[(256,)](a, b, o, N=32, num_warps=1, enable_fp_fusion=fusion)
    return sum(len(set(row.tolist())) > 1 for row in o)


if __name__ == "__main__":
    for fusion in (True, False):
        count = rows_with_several_sums(fusion)
        print(f"enable_fp_fusion={fusion}: {count} of 256 sums have more than one value", flush=True)
    sys.exit(count != 0)
