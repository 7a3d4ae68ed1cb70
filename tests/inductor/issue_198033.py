"""pytorch#198033: a foreach update reads x at other places than it writes."""

import torch


def update(x):
    torch._foreach_add_([x], [x.flip(0)])
    return x


torch.compile(update)(torch.rand(64, 64, device="cuda"))
