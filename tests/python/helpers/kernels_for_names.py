"""Has kernels whose IR uses names again: in both arms of a branch, in loops one after the other, in
functions; and kernels that wait for one another."""

import torch
import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def arms(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    acc = tl.load(x + at)
    for i in range(n):
        if i % 2 == 0:
            acc = acc * 0.5
            acc = acc + 1.0
        else:
            acc = acc - 3.0
            acc = acc * acc
    tl.store(out + at, acc)


@triton_runner.jit
def shapes_and_types(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    acc = tl.load(x + at)
    for i in range(n):
        if i % 3 == 0:
            acc = acc + (tl.sum(acc.to(tl.float64), 0) * 0.25).to(tl.float32)
        elif i % 3 == 1:
            acc = acc - (at * 2 + i).to(tl.float32) * 0.01
        else:
            acc = (acc.to(tl.float16) * 2.0).to(tl.float32)
    tl.store(out + at, acc)


@triton_runner.jit
def nested(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    acc = tl.load(x + at)
    for i in range(n):
        if i % 2 == 0:
            if i % 4 == 0:
                acc = acc * 0.5
                acc = acc + 1.0
            else:
                acc = acc - 3.0
                acc = acc * 0.25
        else:
            for j in range(i):
                if j % 2 == 0:
                    acc = acc + j
                    acc = acc * 0.75
                else:
                    acc = acc - j
                    acc = acc * 1.25
    tl.store(out + at, acc)


@triton_runner.jit
def two_loops(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    acc = tl.load(x + at)
    for i in range(n):
        acc = acc * 0.5
        acc = acc + i
    for i in range(n + 2):
        acc = acc - 0.25
        acc = acc * i
    tl.store(out + at, acc)


@triton_runner.jit
def whiles(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    acc = tl.load(x + at)
    i = n
    while i > 0:
        acc = acc * 0.5
        acc = acc + 1.0
        i = i - 1
    j = n
    while j < 9:
        acc = acc - 0.5
        acc = acc * acc
        j = j + 2
    tl.store(out + at, acc)


@triton_runner.jit
def swapped(x, out, n, N: tl.constexpr):
    """Loops and branches that give several values of one type, which share the place of their op."""
    at = tl.arange(0, N)
    low = tl.load(x + at)
    high = tl.load(x + N + at)
    for i in range(n):
        if i % 2 == 0:
            low = low * 0.5
            high = high + 1.0
        else:
            low = high - 3.0
            high = low * high
    tl.store(out + at, low - high)


@triton.jit(noinline=True)
def shrink(v):
    v = v * 0.5
    v = v + 1.0
    return v


@triton_runner.jit
def called(x, out, n, N: tl.constexpr):
    v = tl.load(x)
    v = shrink(v)
    v = v * 3.0
    for _ in range(n):
        v = shrink(v)
    tl.store(out, v)


@triton.jit
def joined(a, b):
    both = a * b
    return a + b - both * 0.5


@triton.jit
def met(a, b):
    both = a * b
    return both * 0.75


@triton_runner.jit
def combines(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    acc = tl.load(x + at)
    low = tl.reduce(acc, 0, joined)
    high = tl.reduce(acc, 0, met)
    run = tl.associative_scan(acc, 0, joined)
    tl.store(out + at, run + low * high)


@triton_runner.jit
def locked(x, out, turn, N: tl.constexpr):
    """A sum that programs add to one after the other, the last one first."""
    ticket = tl.num_programs(0) - 1 - tl.program_id(0)
    at = tl.arange(0, N)
    mine = tl.load(x + tl.program_id(0) * N + at)
    while tl.atomic_cas(turn, ticket, ticket) != ticket:
        pass
    tl.debug_barrier()
    acc = tl.load(out + at)
    acc = acc + mine
    tl.store(out + at, acc)
    tl.debug_barrier()
    tl.atomic_xchg(turn, ticket + 1)


@triton_runner.jit
def flagged(x, out, flags, N: tl.constexpr):
    """Each program waits for the one after it, which says by a flag that it is done."""
    pid = tl.program_id(0)
    at = tl.arange(0, N)
    mine = tl.load(x + pid * N + at)
    if pid + 1 < tl.num_programs(0):
        seen = tl.load(flags + pid + 1, volatile=True)
        while seen == 0:
            seen = tl.load(flags + pid + 1, volatile=True)
        mine = mine + tl.load(out + (pid + 1) * N + at, volatile=True)
    tl.store(out + pid * N + at, mine)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 1)


SHARED = (arms, shapes_and_types, nested, two_loops, whiles, swapped, called, combines)
WAITING = (locked, flagged)
PROGRAMS, N = 4, 32


def arguments(kernel):
    """The arguments of a launch of `grid(kernel)` programs with N elements each."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(PROGRAMS * N, generator=generator)
    out = torch.zeros(PROGRAMS * N)
    return [x, out, torch.zeros(PROGRAMS, dtype=torch.int32) if kernel in WAITING else 7]


def grid(kernel):
    return (PROGRAMS,) if kernel in WAITING else (1,)


@triton_runner.jit
def on_one_line(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for i in range(n): acc = acc + tl.load(x + at) * i  # fmt: skip  # noqa: E701
    tl.store(out + at, acc)
