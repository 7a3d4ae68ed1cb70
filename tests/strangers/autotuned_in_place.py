"""An autotuner times an in-place kernel and then launches the configuration that it chose with one array
twice, which is a race: the launches that only time take no place of that one.

    $ verify --launches 1 FILE
    status  1
    says  launches by which an autotuner chooses
    says  fault, race at
    says  verdict: wrong
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": size}) for size in (32, 64)], key=["n"], restore_value=["out"])
@triton.jit
def flipped(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + n - 1 - at))


x = torch.arange(256, dtype=torch.float32)
flipped[lambda meta: (256 // meta["BLOCK"],)](x, x, 256)
