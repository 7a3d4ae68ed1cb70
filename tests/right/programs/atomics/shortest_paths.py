"""Tempts race: edges relax distances by atomic_min into a second buffer; minima do not depend on order."""

import torch
import triton
import triton.language as tl


@triton.jit
def relax(source, target, weight, old, new, edges, B: tl.constexpr):
    e = tl.program_id(0) * B + tl.arange(0, B)
    inside = e < edges
    s = tl.load(source + e, mask=inside, other=0)
    t = tl.load(target + e, mask=inside, other=0)
    w = tl.load(weight + e, mask=inside, other=0)
    d = tl.load(old + s, mask=inside, other=0)
    tl.atomic_min(new + t, d + w, mask=inside)


torch.manual_seed(0)
nodes, edges = 20, 80
source, target = torch.randint(0, nodes, (2, edges), dtype=torch.int32)
weight = torch.randint(1, 10, (edges,), dtype=torch.int32)
distance = torch.full((nodes,), 10**6, dtype=torch.int32)
distance[0] = 0
expected = distance.clone()
for _ in range(4):
    new = distance.clone()
    relax[(2,)](source, target, weight, distance, new, edges, B=64)
    distance = new
    step = expected.clone()
    for s, t, w in zip(source.tolist(), target.tolist(), weight.tolist(), strict=True):
        step[t] = min(step[t].item(), expected[s].item() + w)
    expected = step
assert torch.equal(distance, expected)
