"""A kernel that Helion writes, through triton_runner: dumped, and launched with its TTIR edited.

python examples/compile/with_helion.py            on a GPU
triton-runner run --device cpu --pretend-cuda examples/compile/with_helion.py

Needs helion; 1.0 fits torch 2.11.
"""

import helion
import helion.language as hl
import torch
import triton_runner
from steps import compared, edited

triton_runner.configure_jit_backend()


@helion.kernel(config=helion.Config(block_sizes=[16, 64]), static_shapes=True)
def shifted(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size()):
        moved = x[tile] + y[tile]
        out[tile] = moved * 2.0
    return out


x = torch.randn(64, 256, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
y = torch.randn(64, 256, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
compared("helion", shifted(x, y), (x + y) * 2, 1e-6)

with triton_runner.dumping(None, "arith.addf") as dump:
    shifted(x, y)
print(dump)
added = dump["arith.addf"].to_torch().flatten().sort().values
compared("dumped", added, (x + y).cpu().flatten().sort().values, 1e-6)

# The kernel with a difference in place of the sum.
name = dump["arith.addf"].kernel
with triton_runner.using(replace={name: edited(name, "arith.addf", "arith.subf")}):
    compared("replaced", shifted(x, y), (x - y) * 2, 1e-6)
compared("as before", shifted(x, y), (x + y) * 2, 1e-6)
