"""Has a kernel as triton_runner.bench.cross_version takes it; of Triton 3.0 and later."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)


kernel = scaled


def prepare_args(M):
    return torch.randn(M), torch.zeros(M), M


def get_grid(M):
    return (triton.cdiv(M, 256), 1, 1)


def get_kernel_kwargs(M):
    return {"BLOCK": 256}


def get_problem_space():
    return {"M": [256, 1024]}
