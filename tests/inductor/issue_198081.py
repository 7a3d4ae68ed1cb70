"""pytorch#198081: torch.any of uint8 is bool in compiled code."""

import torch


def scaled(x):
    return torch.any(x) * 200 + 100


torch.compile(scaled)(torch.tensor([[0, 3], [0, 0]], dtype=torch.uint8, device="cuda"))
