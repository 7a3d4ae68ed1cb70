"""A kernel that torch.compile writes, through triton_runner: dumped, and launched with its TTIR edited.

python examples/compile/with_inductor.py            on a GPU
triton-runner run --device cpu --pretend-cuda examples/compile/with_inductor.py
"""

import torch
import triton_runner
from steps import compared, edited

triton_runner.configure_jit_backend()


def weights(scores, bias):
    return torch.softmax(scores + bias, dim=-1)


scores = torch.randn(64, 512, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
bias = torch.randn(512, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
compiled = torch.compile(weights)
compared("compiled", compiled(scores, bias), weights(scores, bias), 1e-6)

# Every value that the kernel's additions give, of all programs.
with triton_runner.dumping(None, "arith.addf") as dump:
    compiled(scores, bias)
print(dump)
added = dump["arith.addf"].to_torch().flatten().sort().values
compared("dumped", added, (scores + bias).cpu().flatten().sort().values, 1e-6)

# The kernel with the bias subtracted, in its place.
name = dump["arith.addf"].kernel
with triton_runner.using(replace={name: edited(name, r"arith\.addf (.*tensor)", r"arith.subf \1")}):
    compared("replaced", compiled(scores, bias), weights(scores, -bias), 1e-6)
compared("as before", compiled(scores, bias), weights(scores, bias), 1e-6)
