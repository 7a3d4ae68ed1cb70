"""pytorch#193265: cumsum of a constant without dimensions."""

import torch


def total():
    return torch.tensor(5.0).cumsum(0)


torch.compile(total)()
