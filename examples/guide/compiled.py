"""A function that torch.compile makes a Triton kernel of (doc/guide/torch-compile.md).

triton-runner run --device cpu examples/guide/compiled.py [--cuda]
"""

import sys

import torch
import torch._inductor.config

device = "cuda" if "--cuda" in sys.argv else "cpu"
torch._inductor.config.cpu_backend = "triton"


def weights(scores, length):
    kept = torch.arange(scores.shape[-1], device=scores.device) < length
    return torch.softmax(scores.masked_fill(~kept, float("-inf")), dim=-1)


scores = torch.randn(64, 512, generator=torch.Generator().manual_seed(0)).to(device)
result = torch.compile(weights)(scores, 300)
difference = (result - weights(scores, 300)).abs().max().item()
print(result.device, "matches eager" if difference < 1e-6 else f"differs by {difference}")
sys.exit(difference >= 1e-6)
