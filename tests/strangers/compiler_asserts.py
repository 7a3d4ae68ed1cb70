"""A compiler that stops at an assertion of its own, planted here: eight of 34 public reports have one. It is
no verdict on the kernel, and no traceback.

    $ verify FILE
    status  125
    says  fails on kernel 'twice' in make_ttgir: Pipeline.cpp:7: Assertion `stages > 0' failed.
    says  verdict: unknown
    never  Traceback
    $ verify --json FILE
    status  125
    says  "verdict": "unknown"
"""

import os

import torch
import triton
import triton.backends.nvidia.compiler as nvidia
import triton.language as tl


def make_ttgir(module, metadata, options, capability):
    os.write(2, b"Pipeline.cpp:7: Assertion `stages > 0' failed.\n")
    os.abort()


nvidia.CUDABackend.make_ttgir = staticmethod(make_ttgir)


@triton.jit
def twice(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) * 2)


x, out = torch.arange(64), torch.zeros(64, dtype=torch.int64)
twice[(1,)](x, out, 64)
assert torch.equal(out, x * 2)
