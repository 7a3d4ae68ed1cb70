"""A kernel of Liger through triton_runner: dumped, and launched with its TTIR edited. Needs liger-kernel.

python examples/compile/with_liger.py               on a GPU
triton-runner run --device cpu --pretend-cuda examples/compile/with_liger.py
"""

import torch
import triton_runner
from steps import compared, edited

triton_runner.configure_jit_backend()  # before its kernels are made

from liger_kernel.ops import rms_norm  # noqa: E402

x = torch.randn(24, 256, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
w = torch.randn(256, device="cuda", generator=torch.Generator("cuda").manual_seed(1))


def expected(eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * w


def liger():
    return rms_norm.LigerRMSNormFunction.apply(x, w, 1e-6)


compared("liger", liger(), expected(1e-6), 1e-5)

with triton_runner.dumping(None, "rstd") as dump:
    liger()
print(dump)
rstd = torch.rsqrt(x.square().mean(-1) + 1e-6).cpu()
compared("dumped", dump["rstd"].to_torch().flatten(), rstd, 1e-5)

# The kernel with offset - w in place of offset + w; the offset is 0.
name = dump["rstd"].kernel
with triton_runner.using(replace={name: edited(name, r"arith\.addf (.*tensor)", r"arith.subf \1")}):
    compared("replaced", liger(), -expected(1e-6), 1e-5)
compared("as before", liger(), expected(1e-6), 1e-5)
