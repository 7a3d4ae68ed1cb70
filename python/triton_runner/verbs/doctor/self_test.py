"""Compiles and runs a kernel at every level that this machine has: doctor's self-test."""

from __future__ import annotations

import numpy
import triton
import triton.language as tl

from triton_runner import _settings
from triton_runner._base.errors import in_a_line
from triton_runner._base.levels import EXECUTED
from triton_runner._kernel.compiling.compile import compile as compile_kernel
from triton_runner._settings import devices


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def run() -> dict[str, str]:
    """ "ok" or what went wrong, by level: run on the CPU, the binary on a GPU if there is one."""
    results = {}
    target = _settings.current().target or _settings.DEFAULT_TARGET
    signature = "*fp32:16, *fp32:16, *fp32:16, i32"
    # In a process of its own: what variables make the compiler print stays there.
    compiled = compile_kernel(add, signature, {"BLOCK": 128}, target=target, isolate=True)
    for level in EXECUTED:
        if level in compiled.asm:
            results[level] = _said(lambda level=level: _on_cpu(compiled, level))
    results[compiled.level] = "ok, compiled"
    if devices.gpu() and compiled.level == "cubin":
        results[compiled.level] = _said(lambda: _on_gpu(compiled))
    return results


def _said(step) -> str:
    try:
        step()
        return "ok"
    except Exception as error:
        return in_a_line(error)


def _on_cpu(compiled, level: str) -> None:
    x, y = numpy.arange(300, dtype=numpy.float32), numpy.full(300, 2, numpy.float32)
    out = numpy.zeros(300, numpy.float32)
    compiled.load(level, "cpu")[(3,)](x, y, out, 300)
    if not (out == x + 2).all():
        raise ValueError("the sum of two vectors is wrong")


def _on_gpu(compiled) -> None:
    import torch

    x = torch.arange(300, dtype=torch.float32, device="cuda")
    out = torch.zeros_like(x)
    compiled.load("cubin", devices.gpu())[(3,)](x, x, out, 300)
    torch.cuda.synchronize()
    if not bool((out == 2 * x).all()):
        raise ValueError("the sum of two vectors is wrong")
