"""pytorch#185702: slices and stack on the CPU."""

import torch
import torch.nn.functional as F


def stacked(l_c, y, alpha, beta):
    x = l_c[..., 16]
    positive = F.softplus(x) + 0.0001
    rates = F.softplus(y) + 0.0001
    gamma = torch.special.gammaln(positive + alpha.view(1, -1))
    erf = torch.special.erf(x * beta.view(1, -1))
    return torch.stack([gamma, erf, torch.special.xlogy(positive, rates)], dim=-1)


torch.compile(stacked)(torch.randn(4, 8, 32), torch.randn(4, 8), torch.rand(8), torch.rand(8))
