"""A kernel whose PTX is edited by hand (doc/guide/edit-ptx.md).

python examples/guide/quotient.py [--save FILE] [--ptx FILE]
"""

import argparse

import numpy as np
import triton.language as tl
import triton_runner


@triton_runner.jit
def quotient(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) / tl.load(y_ptr + at))


parser = argparse.ArgumentParser()
parser.add_argument("--save", help="write the kernel's PTX to this file")
parser.add_argument("--ptx", help="run this PTX in place of what Triton compiles")
options = parser.parse_args()

random = np.random.default_rng(0)
x, y = (random.uniform(1, 2, 65536).astype(np.float32) for _ in range(2))
out = np.zeros_like(x)
entry = {"ptx_src": options.ptx} if options.ptx else {"level": "ptx"}
compiled = quotient[(64,)](x, y, out, BLOCK=1024, device="cpu", **entry)
print(np.count_nonzero(out != x / y), "of", out.size, "quotients are not correctly rounded")
if options.save:
    with open(options.save, "w") as file:
        file.write(compiled.asm["ptx"])
