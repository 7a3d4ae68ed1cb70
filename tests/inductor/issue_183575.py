"""pytorch#183575: a buffer that lerp_ wrote is reused while it is still read."""

import torch


def step(p1, p2, x, m1, m2):
    y = x.bfloat16() @ p1.bfloat16() @ p2.bfloat16()
    g2 = ((x.bfloat16() @ p1.bfloat16()).t() @ y).float()
    g1 = (x.bfloat16().t() @ (y @ p2.bfloat16().t())).float()
    m1.lerp_(g1, 0.05)
    m2.lerp_(g2, 0.05)
    p1.add_(m1, alpha=-0.01)
    p2.add_(m2, alpha=-0.01)
    return y


given = [torch.randn(64, 64, device="cuda") / 8 for _ in range(5)]
torch.compile(step)(*given)
