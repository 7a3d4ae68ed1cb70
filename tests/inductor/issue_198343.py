"""pytorch#198343: lerp with a weight of more than a half has the other strides."""

import torch


def moved(x, end):
    x.lerp_(end, 0.75)
    return x.view(-1)


torch.compile(moved)(torch.rand(4, 16, 16), torch.rand(4, 16, 16).transpose(-1, -2))
