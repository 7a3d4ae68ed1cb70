"""A kernel with configurations of which some are not right (doc/guide/configs.md).

python examples/guide/tuned.py
"""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()
CONFIGS = [
    triton.Config({"BLOCK": 64}, num_warps=1),
    triton.Config({"BLOCK": 256}, num_warps=4),
    triton.Config({"BLOCK": 96}, num_warps=4),  # no power of two
    triton.Config({"BLOCK": 2048}, num_warps=4),  # more than a row has
]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def norm(x, out, n, BLOCK: tl.constexpr):
    row = x + tl.program_id(0) * n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        part = tl.load(row + start + tl.arange(0, BLOCK))
        total += part * part
    tl.store(out + tl.program_id(0), tl.sqrt(tl.sum(total)))


torch.manual_seed(0)
x = torch.randn(4, 1024, device=DEVICE)
out = torch.empty(4, device=DEVICE)
norm[(4,)](x, out, 1024)
