"""autocast("cuda") with float32 is silent with a GPU; the CPU's autocast warns of it.

$ run --device cpu --pretend-cuda FILE
status  0
says  torch.float32
"""

import warnings

import torch

warnings.simplefilter("error")
with torch.autocast("cuda", dtype=torch.float32):
    x = torch.ones(4, 4, device="cuda") @ torch.ones(4, 4, device="cuda")
print(x.dtype)
