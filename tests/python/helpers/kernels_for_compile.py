"""Has kernels whose parts come from everywhere that a worker has to fetch them from."""

import math

import kernels_for_tests
import triton
import triton.language as tl
import triton_runner
from kernels_for_tests import add  # noqa: F401  (a name that no kernel here uses)
from triton.language import where

HALF = tl.constexpr(0.5)
WIDTH = tl.constexpr(64)
TYPE = tl.constexpr(tl.float16)


@triton.jit
def inner(x):
    return where(x > 0, x, -x) * HALF


@triton.jit
def outer(x):
    return inner(x) + tl.cdiv(WIDTH, 2)


@triton_runner.jit
def uses_everything(x, out, n, BLOCK: tl.constexpr, ROUND: tl.constexpr = TYPE):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = outer(tl.load(x + offsets, mask=offsets < n))
    tl.store(out + offsets, value.to(ROUND).to(tl.float32), mask=offsets < n)


def make(factor):
    """A kernel that uses a variable of the function around it."""
    scale = tl.constexpr(factor)

    @triton.jit
    def closed(x, out, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(out + offsets, tl.load(x + offsets) * scale)

    return closed


@triton.autotune([triton.Config({"BLOCK": 64})], key=[])
@triton.heuristics({"ROUND": lambda _: tl.float32})
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr, ROUND: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n).to(ROUND), mask=offsets < n)


table = {"of": math.pi}
pick = lambda x: x  # noqa: E731


@triton.jit
def uses_a_lambda(x):
    tl.store(x, pick(1.0))


@triton.jit
def uses_a_dict(x):
    tl.store(x, table["of"])


@triton.jit
def calls_through_a_module(x, out, BLOCK: tl.constexpr):
    kernels_for_tests.reverse(x, out, BLOCK)


@triton.jit
def many_steps(x, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    for i in tl.static_range(STEPS):
        value = tl.cumsum(tl.sort(value), 0) + i
    tl.store(x + tl.arange(0, BLOCK), value)
