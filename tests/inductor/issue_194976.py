"""pytorch#194976: a float of Python that became dynamic keeps its first value."""

import torch
import torch.nn.functional as F


@torch.compile
def swiglu(x, limit):
    gate, up = torch.chunk(x, 2, dim=-1)
    gate = F.silu(gate).clamp(max=limit)
    return gate * up.clamp(min=-limit, max=limit)


x = 8 * torch.randn(4, 64, device="cuda")
for limit in (1.0, 2.0, 3.0, 7.0):
    swiglu(x, limit)
