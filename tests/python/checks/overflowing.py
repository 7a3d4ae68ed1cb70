"""Has kernels for check="overflow": each overflows for some of its arguments, and wraps nothing for others.
`x` and `lengths` are tables of i32, `a` and `b` integers of the launch."""

import triton
import triton.language as tl

BLOCK = tl.constexpr(32)


@triton.jit
def _product(u, v):
    return u * v


@triton.jit(noinline=True)
def _offset(row, stride):
    return row * stride


@triton.jit
def row_times_stride(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + a * b + r))


@triton.jit
def shifted(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (a << b) + r))


@triton.jit
def times_four(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (a * b) * 4 + r))


@triton.jit
def difference(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (a - b) + r))


@triton.jit
def negative(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + -(a + b) + r))


@triton.jit
def carried(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    offset = 0
    for _ in range(b):
        offset += a
    tl.store(out + r, tl.load(x + offset + r))


@triton.jit
def mask_of_products(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + r, mask=r * a < b, other=0))


@triton.jit
def mask_at_the_end(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + r, mask=a + r < b, other=0))


@triton.jit
def loop_count(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    for i in range(0, a * b):
        tl.store(out + r, i)


@triton.jit
def rounded_up(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    for i in range(0, tl.minimum(tl.cdiv(a, b), 2)):
        tl.store(out + r, i)


@triton.jit
def branch(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    if a * b > 0:
        tl.store(out + r, r)


@triton.jit
def chosen(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + tl.where(r < 16, a * b, 0) + r))


@triton.jit
def smaller(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + tl.minimum(r * a, b)))


@triton.jit
def larger(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + tl.maximum(a * b, 0) + r))


@triton.jit
def quotient(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (a * b) // b % 8 + r))


@triton.jit
def remainder(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (a * b + 5) % 100 + r))


@triton.jit
def sum_of_lengths(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    start = tl.sum(tl.load(lengths + r) * a)
    tl.store(out + r, tl.load(x + start + r))


@triton.jit
def sums_of_rows(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    rows = tl.load(lengths + r[:, None] + 0 * r[None, :]) * a
    tl.store(out + r, tl.load(x + tl.sum(rows, axis=1)))


@triton.jit
def running_sum(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    starts = tl.cumsum(tl.load(lengths + r) * a)
    tl.store(out + r, tl.load(x + starts))


@triton.jit
def running_sum_from_the_end(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    starts = tl.cumsum(tl.load(lengths + r) * a, reverse=True)
    tl.store(out + r, tl.load(x + starts))


@triton.jit
def mask_of_a_sum(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    n = tl.sum(tl.load(lengths + r) * a)
    tl.store(out + r, r, mask=r < n)


@triton.jit
def largest(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + tl.max(r * a) + r))


@triton.jit
def product_of_dimensions(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    count = tl.reduce(tl.load(lengths + r) * 0 + tl.where(r < b, a, 1), 0, _product)
    tl.store(out + r, r, mask=r < count)


@triton.jit
def sixteen_bits(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    offsets = r.to(tl.int16) * a.to(tl.int16)
    tl.store(out + r, tl.load(x + offsets.to(tl.int32)))


@triton.jit
def eight_bits(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    offsets = r.to(tl.int8) * a.to(tl.int8)
    tl.store(out + r, tl.load(x + offsets.to(tl.int32)))


@triton.jit
def sixty_four_bits(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    offset = a.to(tl.int64) * a * b * b
    tl.store(out + r, tl.load(x + offset + r))


@triton.jit
def widened_too_late(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (a * b).to(tl.int64) + r))


@triton.jit
def rows_and_columns(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tile = tl.load(x + r[:, None] * a + r[None, :])
    tl.store(out + r, tl.sum(tile, axis=1))


@triton.jit
def three_strides(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (3 * a + 2 * b + r * 2)))


@triton.jit
def turned(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    offsets = tl.reshape(tl.trans(tl.reshape(r * a, (4, 8))), (32,))
    tl.store(out + r, tl.load(x + offsets))


@triton.jit
def joined(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    offsets = tl.reshape(tl.join(r * a, r), (64,))
    tl.store(out + tl.arange(0, 64), tl.load(x + offsets))


@triton.jit
def gathered(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + tl.gather(r * a, 31 - r, 0)))


@triton.jit
def atomic(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.atomic_add(x + a * b + r, 1)


@triton.jit
def stored_to(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + a * b + r, r)


@triton.jit
def stored_index(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, a * b + r)


@triton.jit
def in_a_function(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + _offset(a, b) + r))


@triton.jit
def pointer_twice(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    row = x + a * b
    tl.store(out + r, tl.load(row + r))


@triton.jit
def descriptor(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    rows = tl.make_tensor_descriptor(x, [a * b + 32], [1], [BLOCK])
    tl.store(out + r, rows.load([0]))


@triton.jit
def block_of_a_descriptor(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    rows = tl.make_tensor_descriptor(x, [64], [1], [BLOCK])
    tl.store(out + r, rows.load([a * b]))


@triton.jit
def ends_of_chunks(x, lengths, out, a, b):
    """LLVM shifts (i - 1) in 64 bits and leaves out the upper bits of -1, which the shift drops."""
    r = tl.arange(0, BLOCK)
    first = tl.program_id(0) + a * b
    rows = tl.zeros((BLOCK,), tl.int32)
    for i in range(4):
        last = tl.minimum((i.to(tl.int64) + 1) * 16, 64) - 1
        rows += tl.load(x + (first + last) * BLOCK + r)
    tl.store(out + r, rows)


# Kernel, arguments with which it overflows, arguments with which it does not.
FAULTS = [
    (row_times_stride, (65536, 65536), (2, 8)),
    (shifted, (4096, 20), (2, 3)),
    (times_four, (32768, 32767), (2, 2)),
    (difference, (-(2**31) + 5, 10), (9, 5)),
    (negative, (-(2**30), -(2**30)), (-2, -3)),
    (carried, (2**30, 4), (2, 4)),
    (mask_of_products, (2**29, 2**30), (2, 40)),
    (mask_at_the_end, (2**31 - 8, 2**31 - 1), (4, 20)),
    (loop_count, (65536, 65537), (2, 3)),
    (rounded_up, (2**31 - 1, 64), (100, 64)),
    (branch, (65536, 65535), (2, 3)),
    (chosen, (65536, 65536), (2, 3)),
    (smaller, (2**29, 7), (2, 7)),
    (larger, (65536, 65535), (2, 3)),
    (quotient, (65536, 65537), (20, 3)),
    (remainder, (65536, 65536), (2, 3)),
    (sum_of_lengths, (2**28, 0), (1, 0)),
    (sums_of_rows, (2**27, 0), (1, 0)),
    (running_sum, (2**28, 0), (1, 0)),
    (running_sum_from_the_end, (2**28, 0), (1, 0)),
    (mask_of_a_sum, (2**28, 0), (1, 0)),
    (largest, (2**28 + 1, 0), (2, 0)),
    (product_of_dimensions, (2**12, 3), (2, 3)),
    (sixteen_bits, (2000, 0), (2, 0)),
    (eight_bits, (10, 0), (2, 0)),
    (sixty_four_bits, (2**16, 2**16), (2, 2)),
    (widened_too_late, (65536, 65536), (2, 8)),
    (rows_and_columns, (2**27, 0), (1, 0)),
    (three_strides, (2**29, 2**29), (3, 2)),
    (turned, (2**27, 0), (1, 0)),
    (joined, (2**27, 0), (1, 0)),
    (gathered, (2**27, 0), (1, 0)),
    (atomic, (65536, 65536), (2, 8)),
    (stored_to, (65536, 65536), (2, 8)),
    (stored_index, (65536, 65536), (2, 8)),
    (in_a_function, (65536, 65536), (2, 8)),
    (pointer_twice, (65536, 65536), (2, 8)),
    (descriptor, (65536, 65536), (2, 8)),
    (block_of_a_descriptor, (65536, 65536), (2, 8)),
    (ends_of_chunks, (65536, 65537), (2, 4)),
]


@triton.jit
def _mixed(h):
    h ^= h >> 16
    h *= 0x85EBCA6B
    h ^= h >> 13
    h *= 0xC2B2AE35
    return h ^ (h >> 16)


@triton.jit
def hash_table(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    slot = _mixed((r + a).to(tl.uint32)) % 64
    tl.store(out + r, tl.load(x + slot))


@triton.jit
def generator(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    state = (r + a) * 1664525 + 1013904223
    tl.store(out + r, tl.load(x + ((state >> 8) & 63)))


@triton.jit
def random_rows(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (tl.randint(a, r) & 63)))


@triton.jit
def dropout(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + r), mask=tl.rand(a, r) > 0.5)


@triton.jit
def in_range(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + r, mask=(r - a).to(tl.uint32) < 8, other=0))


@triton.jit
def there_and_back(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (r + b + b - b - b)))


@triton.jit
def checksum(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.sum(tl.load(x + r) * b))


@triton.jit
def running_checksum(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.cumsum(tl.load(x + r) * b))


@triton.jit
def sum_and_back(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    start = tl.sum(tl.where(r < 16, b, -b))
    tl.store(out + r, tl.load(x + start + r))


@triton.jit
def off_where_too_large(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + r * b, mask=r < 1, other=0))


@triton.jit
def complement(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (~r & 31)))


@triton.jit
def product_of_zero(x, lengths, out, a, b):
    r = tl.arange(0, BLOCK)
    tl.store(out + r, tl.load(x + (b + b) * (a - 5) + r))


@triton.jit
def last_of_heads(x, lengths, out, a, b):  # head % 2 - 2 is "or" with 2^62 - 2 in LLVM's hands
    r = tl.arange(0, BLOCK)
    head = tl.program_id(0).to(tl.int64)
    tl.store(out + r, tl.load(x + (head // 2 * a + a - 1) * 2 + head % 2 + r))


# Nothing of these is a fault: kernel and arguments.
MEANT = [
    (kernel, (5, 2**30)) for kernel in (
        hash_table, generator, random_rows, dropout, in_range, there_and_back, checksum, running_checksum,
        sum_and_back, off_where_too_large, complement, product_of_zero,
    )
] + [(ends_of_chunks, (2, 4)), (ends_of_chunks, (0, 4)), (last_of_heads, (5, 4))]  # fmt: skip
