"""pytorch#183901: a product of int64 overflows in 32 bits."""

import torch


def product(x):
    return torch.arange(0, 9, device=x.device, dtype=torch.int64) * torch.tensor(
        [1500000000], device=x.device
    )


torch.compile(product)(torch.zeros(1, device="cuda"))
