"""pytorch#187018: abs of uint8 on the CPU."""

import torch


def negated(x):
    y = -x.abs()
    return torch.cat([y, y]).sum()


torch.compile(negated)(torch.tensor([200, 200], dtype=torch.uint8))
