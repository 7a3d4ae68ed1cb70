"""pytorch#189895: a pad is fused into the second step of a split reduction."""

import torch
import torch.nn.functional as F


def starts(mask):
    return F.pad(mask.sum(dim=-1, dtype=torch.int32).cumsum(0, dtype=torch.int32), (1, 0))


torch.compile(starts)(torch.ones(1, 16384, dtype=torch.bool, device="cuda"))
