"""Has kernels with one fault each, and the checks that see them: what a report looks like."""

from __future__ import annotations

import dataclasses

import numpy
import triton.language as tl

import triton_runner
from triton_runner._base.errors import KernelTrap, with_source


@triton_runner.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < n), tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + y)


@triton_runner.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), 0)
    tl.store(out_ptr, tl.load(out_ptr) + part)


@triton_runner.jit
def largest(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.max(tl.load(x_ptr + i, mask=i < n), 0))


@triton_runner.jit
def row(x_ptr, out_ptr, at, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + at * stride + i))


def _zeros(count: int) -> numpy.ndarray:
    return numpy.zeros(count, numpy.float32)


def _add():
    add[(2,)](_zeros(40), _zeros(40), _zeros(40), 40, BLOCK=32)


def _total():
    total[(4,)](numpy.arange(100, dtype=numpy.float32), _zeros(1), 100, BLOCK=32)


def _largest():
    largest[(1,)](_zeros(20), _zeros(1), 20, BLOCK=32)


def _row():
    row[(1,)](_zeros(64), _zeros(32), 1 << 16, 1 << 16, BLOCK=32)


@dataclasses.dataclass(frozen=True)
class Shown:
    """A fault, the check that is to see it, and what was reported: the whole message, or None."""

    what: str
    check: str
    report: str | None


_FAULTS = (
    ("a store without its mask", "oob", _add),
    ("a sum into one element by four programs, without an atomic update", "race", _total),
    ("a maximum over elements that the mask turned off", "uninit", _largest),
    ("an offset that does not fit into 32 bits", "overflow", _row),
)


def shown():
    """Runs each of them, one after the other."""
    for what, check, launch in _FAULTS:
        try:
            with triton_runner.using(device="cpu", level="ttir", check=check):
                launch()
            yield Shown(what, check, None)
        except KernelTrap as trap:
            yield Shown(what, check, with_source(trap))
