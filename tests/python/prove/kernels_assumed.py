"""Has kernels that are right only under what a hasty proof would take for granted."""

import triton
import triton.language as tl


@triton.jit
def declared_elsewhere(index, out, n, V):
    if n > 0:
        tl.store(out + tl.load(index), 1.0)
    tl.store(out + V - 1, 2.0)


@triton.jit
def declared_and_written(index, out, V):
    tl.store(index, V + 5)
    tl.store(out + tl.load(index), 1.0)


@triton.jit
def declared_bytes(index, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    to = tl.load(index + at, mask=at < n, other=0).to(tl.int32)
    tl.store(out + to, 1.0, mask=at < n)


@triton.jit
def assumed_in_its_branch(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if n <= 128:
        tl.assume(n <= 128)
        tl.store(out + at, 1.0, mask=at < n)


@triton.jit
def assumed_both_ways(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if n > 5:
        tl.assume(n >= 6)
        tl.store(out + at, 1.0, mask=at < n)
    else:
        tl.assume(n < 6)
        tl.store(out + at, 2.0, mask=at < n)


@triton.jit
def waits(flag, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    while tl.atomic_add(flag, 1) < n:
        pass
    tl.store(out + at, 1.0, mask=at < n)


@triton.jit
def reads_a_counter(x, n):
    program = tl.program_id(0)
    value = tl.load(x + (program + 1) % n)
    tl.atomic_add(x + program, value)


@triton.jit
def without_a_sign(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 1.0, mask=at < n.to(tl.int32, bitcast=True))


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def under_a_flag(out, n, flag, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if flag:
        tl.store(out + at, 1.0, mask=at < n)


@triton.jit
def sum_of_lengths(lengths, out, n, COUNT: tl.constexpr):
    last = tl.sum(tl.load(lengths + tl.arange(0, COUNT))) - 1
    tl.store(out + last, 1.0, mask=last < n)


@triton.jit
def reads_by_its_address(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    address = (x + at).to(tl.int64, bitcast=True)
    value = tl.inline_asm_elementwise(
        "ld.global.b32 $0, [$1];", "=f,l", [address + 4096], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + at, value)


@triton.jit
def decides_by_what_it_writes(x, y, out):
    value = tl.load(x)
    tl.store(x, -1.0)
    if value < 0:
        tl.store(out, tl.load(y))


@triton.jit
def taken(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, i < n, other=0)
    tl.store(out + i, tl.load(x + at, i < n), i < n)


@triton.jit
def blocks_of_rows(x, index, out, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    block = tl.load(index + tl.program_id(0)).to(tl.int64)
    row = tl.program_id(0).to(tl.int64) * BLOCK + i
    tl.store(out + row, tl.load(x + (block * BLOCK + i) * stride))


@triton.jit
def sparse_rows(values, columns, offsets, x, out):
    row = tl.program_id(0)
    s = 0.0
    for k in range(tl.load(offsets + row), tl.load(offsets + row + 1)):
        s += tl.load(values + k) * tl.load(x + tl.load(columns + k))
    tl.store(out + row, s)


@triton.jit
def of_two(x, first, second, out, M, N):
    i = tl.program_id(0)
    at = tl.load(first + i).to(tl.int64) * N + tl.load(second + i)
    tl.store(out + i, tl.load(x + at))


@triton.jit
def scrambled(x, index, out):
    i = tl.program_id(0)
    at = tl.load(index + i)
    tl.store(out + i, tl.load(x + ((at * at) ^ 5)))
