"""pytorch#185382: addcdiv_ after .item() has broken the graph, in a loop."""

import torch


def update(p, g, m, v, count):
    count.add_(1)
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    n = count.item()
    scale = (1 - 0.999**n) ** 0.5
    p.addcdiv_(m, (v.sqrt() / scale).add_(1e-8), value=-0.001 / (1 - 0.9**n))


def train(p, g):
    p, m, v, count = p.clone(), torch.zeros_like(p), torch.zeros_like(p), torch.zeros(())
    for _ in range(5):
        update(p, g, m, v, count)
    return p


torch.compile(train)(torch.randn(16), torch.randn(16))
