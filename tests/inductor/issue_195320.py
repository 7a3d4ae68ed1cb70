"""pytorch#195320: attention written by hand with another permutation of K becomes
scaled_dot_product_attention."""

import math

import torch


def attention(q, k, v):
    q, v = q.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3)
    scores = torch.matmul(q, k.permute(0, 2, 3, 1)) / math.sqrt(16)
    return torch.matmul(scores.softmax(dim=-1), v)


def other(q, k, v):
    scores = torch.matmul(q, k.permute(2, 0, 3, 1)) / math.sqrt(16)
    return torch.matmul(scores.softmax(dim=-1), v)


q, k, v = (torch.rand(4, 8, 4, 16, device="cuda") for _ in range(3))
torch.compile(attention)(q, k, v)
q, v = torch.rand(4, 4, 8, 16, device="cuda"), torch.rand(4, 4, 8, 16, device="cuda")
torch.compile(other)(q, torch.rand(4, 8, 4, 16, device="cuda"), v)
