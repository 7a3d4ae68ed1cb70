"""A program with a tuned kernel: of its configurations some are fast, one cannot win, one is not compiled."""

import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK": 32, "TIMES": 1}, num_warps=1),
    triton.Config({"BLOCK": 1024, "TIMES": 1}, num_warps=4),
    triton.Config({"BLOCK": 96, "TIMES": 1}, num_warps=4),  # no power of two
    triton.Config({"BLOCK": 1024, "TIMES": 400}, num_warps=4),
]


@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def norm(x, out, n, BLOCK: tl.constexpr, TIMES: tl.constexpr):
    row = x + tl.program_id(0) * n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        part = tl.load(row + start + tl.arange(0, BLOCK))
        total += part * part
    for _ in range(TIMES):
        total = tl.sqrt(total * total)
    tl.store(out + tl.program_id(0), tl.sqrt(tl.sum(total)))
    tl.store(out + 8, BLOCK)


if __name__ == "__main__":
    torch.manual_seed(0)
    x, out = torch.randn(8, 4096), torch.empty(9)
    norm[(8,)](x, out, 4096)
    assert torch.allclose(out[:8], x.norm(dim=1))
    print("BLOCK was", int(out[8]))
