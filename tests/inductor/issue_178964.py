"""pytorch#178964: the indices of max of a sum, one term of which is transposed."""

import torch


def largest(a, b):
    return (a + b).max(dim=1)


torch.compile(largest)(torch.randn(8, 8, device="cuda").t(), torch.randn(8, 8, device="cuda"))
