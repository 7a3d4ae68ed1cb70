"""Has small kernels, one for each shape that Triton's pipeliner and its automatic warp specialisation make:
what test_pipelines.py runs. They take whole numbers, whose sums are exact in any order."""

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402


@triton.jit
def tile(ptr, rows, columns, stride):
    return ptr + rows[:, None] * stride + columns[None, :]


@triton_runner.jit
def by_pointers(a, b, c, N, K, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
                SPECIAL: tl.constexpr = False, FLAT: tl.constexpr = False, UNROLL: tl.constexpr = None,
                ONE: tl.constexpr = False):  # fmt: skip
    """A product whose operands are loaded through pointers."""
    rows, columns = tl.arange(0, M), tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((M, BN), tl.float32)
    for k in tl.range(
        0, K, BK, num_stages=STAGES, warp_specialize=SPECIAL, flatten=FLAT, loop_unroll_factor=UNROLL,
        disallow_acc_multi_buffer=ONE,
    ):  # fmt: skip
        x = tl.load(tile(a, rows, k + tl.arange(0, BK), K))
        y = tl.load(tile(b, k + tl.arange(0, BK), columns, N))
        total = tl.dot(x, y, total)
    tl.store(tile(c, rows, columns, N), total)


@triton_runner.jit
def by_masks(a, b, c, N, K, limit, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
             SPECIAL: tl.constexpr = False):  # fmt: skip
    """The last turn is cut off by a mask; each turn's tile of y is reduced, and stored in the loop."""
    rows, columns = tl.arange(0, M), tl.arange(0, BN)
    total = tl.zeros((M, BN), tl.float32)
    sums = tl.zeros((BN,), tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES, warp_specialize=SPECIAL):
        inner = k + tl.arange(0, BK)
        x = tl.load(tile(a, rows, inner, K), mask=inner[None, :] < limit, other=0.0)
        y = tl.load(tile(b, inner, columns, N), mask=inner[:, None] < limit, other=0.0)
        total = tl.dot(x, y, total)
        sums += tl.sum(y.to(tl.float32), 0)
    tl.store(tile(c, rows, columns, N), total + sums[None, :])


@triton_runner.jit
def by_descriptors(a, b, c, K, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
                   SPECIAL: tl.constexpr = False, FLAT: tl.constexpr = False, UNROLL: tl.constexpr = None,
                   ONE: tl.constexpr = False):  # fmt: skip
    """The same by the host's descriptors (TMA)."""
    column = tl.program_id(0) * BN
    total = tl.zeros((M, BN), tl.float32)
    for k in tl.range(
        0, K, BK, num_stages=STAGES, warp_specialize=SPECIAL, flatten=FLAT, loop_unroll_factor=UNROLL,
        disallow_acc_multi_buffer=ONE,
    ):  # fmt: skip
        total = tl.dot(a.load([0, k]), b.load([k, column]), total)
    c.store([0, column], total)


@triton_runner.jit
def by_own_descriptors(a, b, c, N, K, ROWS, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                       STAGES: tl.constexpr, SPECIAL: tl.constexpr = False):  # fmt: skip
    """The same by descriptors that the kernel makes."""
    column = tl.program_id(0) * BN
    x = tl.make_tensor_descriptor(a, [M, ROWS], [ROWS, 1], [M, BK])
    y = tl.make_tensor_descriptor(b, [ROWS, N], [N, 1], [BK, BN])
    z = tl.make_tensor_descriptor(c, [M, N], [N, 1], [M, BN])
    total = tl.zeros((M, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES, warp_specialize=SPECIAL):
        total = tl.dot(x.load([0, k]), y.load([k, column]), total)
    z.store([0, column], total)


@triton.jit
def tiles_in_turn(a, b, c, K, TILES, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  STAGES: tl.constexpr, SPECIAL: tl.constexpr = False, FLAT: tl.constexpr = False,
                  ONE: tl.constexpr = False):  # fmt: skip
    """A program takes one tile after another: two nested loops, which `flatten` makes one."""
    for at in tl.range(
        tl.program_id(0), TILES, tl.num_programs(0), num_stages=STAGES, warp_specialize=SPECIAL, flatten=FLAT,
        disallow_acc_multi_buffer=ONE,
    ):  # fmt: skip
        total = tl.zeros((M, BN), tl.float32)
        for k in tl.range(0, K, BK, num_stages=STAGES):
            total = tl.dot(a.load([0, k]), b.load([k, at * BN]), total)
        c.store([0, at * BN], total)


persistent = triton_runner.jit(tiles_in_turn)


@triton_runner.jit
def persistent_own(a, b, c, N, K, ROWS, TILES, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                   STAGES: tl.constexpr, SPECIAL: tl.constexpr = False,
                   FLAT: tl.constexpr = False):  # fmt: skip
    x = tl.make_tensor_descriptor(a, [M, ROWS], [ROWS, 1], [M, BK])
    y = tl.make_tensor_descriptor(b, [ROWS, N], [N, 1], [BK, BN])
    z = tl.make_tensor_descriptor(c, [M, N], [N, 1], [M, BN])
    tiles_in_turn(x, y, z, K, TILES, M, BN, BK, STAGES, SPECIAL, FLAT)


@triton.jit
def product_of_product(q, k, v, c, K, M: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
                       STAGES: tl.constexpr, SPECIAL: tl.constexpr = False):  # fmt: skip
    """As in attention, the first product's result goes into the second, whose sum is scaled at each turn."""
    x = q.load([0, 0])
    total = tl.zeros((M, D), tl.float32)
    top = tl.full((M,), -1.0e6, tl.float32)
    for at in tl.range(0, K, BK, num_stages=STAGES, warp_specialize=SPECIAL):
        s = tl.dot(x, k.load([at, 0]).T)
        above = tl.maximum(top, tl.max(s, 1))
        p = tl.where(s == above[:, None], 1.0, 0.0)  # whole numbers in place of exponentials
        total = total * tl.where(above > top, 0.0, 1.0)[:, None]
        total = tl.dot(p.to(tl.float16), v.load([at, 0]), total)
        top = above
    c.store([0, 0], total)


two_products = triton_runner.jit(product_of_product)


@triton_runner.jit
def two_products_own(q, k, v, c, K, ROWS, M: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
                     STAGES: tl.constexpr, SPECIAL: tl.constexpr = False):  # fmt: skip
    x = tl.make_tensor_descriptor(q, [M, D], [D, 1], [M, D])
    y = tl.make_tensor_descriptor(k, [ROWS, D], [D, 1], [BK, D])
    z = tl.make_tensor_descriptor(v, [ROWS, D], [D, 1], [BK, D])
    w = tl.make_tensor_descriptor(c, [M, D], [D, 1], [M, D])
    product_of_product(x, y, z, w, K, M, BK, D, STAGES, SPECIAL)


@triton_runner.jit
def restarted(a, b, c, K, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
              SPECIAL: tl.constexpr = False):  # fmt: skip
    """The sum is stored and begun anew at each second turn, under an `if` in the loop."""
    total = tl.zeros((M, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES, warp_specialize=SPECIAL):
        total = tl.dot(a.load([0, k]), b.load([k, 0]), total)
        if k // BK % 2 == 1:
            c.store([k // BK // 2 * M, 0], total)
            total = tl.zeros((M, BN), tl.float32)


@triton_runner.jit
def gathered(index, x, y, K, B: tl.constexpr, STAGES: tl.constexpr, UNROLL: tl.constexpr = None,
             FLAT: tl.constexpr = False):  # fmt: skip
    """A load whose addresses are loaded (two stages of loads), and an atomic sum."""
    total = tl.zeros((B,), tl.int32)
    for k in tl.range(0, K, B, num_stages=STAGES, loop_unroll_factor=UNROLL, flatten=FLAT):
        where = tl.load(index + k + tl.arange(0, B))
        value = tl.load(x + where)
        tl.atomic_add(y + where % B, value)
        total += value
    tl.store(y + B + tl.arange(0, B), total)


@triton_runner.jit
def scaled(a, sa, b, sb, c, N, K, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
           SPECIAL: tl.constexpr = False):  # fmt: skip
    """A product of fp8 with a power of two for each 32 elements (Blackwell)."""
    rows, columns = tl.arange(0, M), tl.arange(0, BN)
    total = tl.zeros((M, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES, warp_specialize=SPECIAL):
        groups = k // 32 + tl.arange(0, BK // 32)
        x = tl.load(tile(a, rows, k + tl.arange(0, BK), K))
        y = tl.load(tile(b, k + tl.arange(0, BK), columns, N))
        x_scale = tl.load(tile(sa, rows, groups, K // 32))
        y_scale = tl.load(tile(sb, columns, groups, K // 32))
        total = tl.dot_scaled(x, x_scale, "e4m3", y, y_scale, "e4m3", total)
    tl.store(tile(c, rows, columns, N), total)
