"""pytorch#173987: a comparison of bf16 with a number of Python."""

import torch


def equal(x):
    return torch.ops.aten.eq(x, 3.14)


torch.compile(equal)(torch.full((64,), 3.14, dtype=torch.bfloat16, device="cuda"))
