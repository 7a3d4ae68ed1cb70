"""Tests Gluon's warp specialisation: partitions that load, compute and store, and wait for each other at
mbarriers, on both engines."""

import pytest
from kernels_for_gluon import (
    LEVELS,
    barriers,
    described,
    gl,
    gluon,
    hopper,
    launch,
    mbarrier,
    places,
    ring,
    tma,
    torch,
    triton_runner,
    whole,
)

pytestmark = pytest.mark.parametrize("level", LEVELS)


@gluon.jit
def add_loads(descs, rings, bars, row, steps):
    x_desc, y_desc, _ = descs
    x_ring, y_ring, _ = rings
    full, empty, _, _ = bars
    DEPTH: gl.constexpr = x_ring.shape[0]
    for step in range(steps):
        at = step % DEPTH
        mbarrier.wait(empty.index(at), (step // DEPTH & 1) ^ 1)
        mbarrier.expect(full.index(at), x_desc.nbytes_per_cta + y_desc.nbytes_per_cta)
        tma.async_load(x_desc, [row, step * x_ring.shape[2]], full.index(at), x_ring.index(at))
        tma.async_load(y_desc, [row, step * x_ring.shape[2]], full.index(at), y_ring.index(at))


@gluon.jit
def add_stores(descs, rings, bars, row, steps):
    _, _, out_desc = descs
    _, _, out_ring = rings
    _, _, full, empty = bars
    DEPTH: gl.constexpr = out_ring.shape[0]
    for step in range(steps):
        mbarrier.wait(full.index(step % DEPTH), step // DEPTH & 1)
        tma.async_store(out_desc, [row, step * out_ring.shape[2]], out_ring.index(step % DEPTH))
        tma.store_wait(DEPTH - 1)
        done = step - (DEPTH - 1)
        mbarrier.arrive(empty.index((done + DEPTH) % DEPTH), pred=done >= 0)
    tma.store_wait(0)


@gluon.jit
def add_sums(rings, bars, steps, layout: gl.constexpr):
    x_ring, y_ring, out_ring = rings
    full, empty, out_full, out_empty = bars
    IN: gl.constexpr = x_ring.shape[0]
    OUT: gl.constexpr = out_ring.shape[0]
    for step in range(steps):
        mbarrier.wait(full.index(step % IN), step // IN & 1)
        total = x_ring.index(step % IN).load(layout) + y_ring.index(step % IN).load(layout)
        hopper.fence_async_shared()
        mbarrier.arrive(empty.index(step % IN))
        mbarrier.wait(out_empty.index(step % OUT), (step // OUT & 1) ^ 1)
        out_ring.index(step % OUT).store(total)
        hopper.fence_async_shared()
        mbarrier.arrive(out_full.index(step % OUT))


@triton_runner.jit
@gluon.jit
def add_by_partitions(x_desc, y_desc, out_desc, IN: gl.constexpr, OUT: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, num_warps], [1, 0])
    rings = (ring(x_desc, IN), ring(y_desc, IN), ring(out_desc, OUT))
    bars = (barriers(IN), barriers(IN), barriers(OUT), barriers(OUT))
    descs = (x_desc, y_desc, out_desc)
    row = gl.program_id(0) * x_desc.block_shape[0]
    steps = gl.cdiv(x_desc.shape[1], x_desc.block_shape[1])
    gl.warp_specialize(
        [
            (add_sums, (rings, bars, steps, layout)),
            (add_loads, (descs, rings, bars, row, steps)),
            (add_stores, (descs, rings, bars, row, steps)),
        ],
        [1, 1],
        [24, 24],
    )


@pytest.mark.parametrize("ins, outs, warps", [(1, 1, 4), (2, 2, 4), (3, 2, 8)])
def test_a_sum_by_partitions(ins, outs, warps, level):
    x, y = torch.randn(70, 200), torch.randn(70, 200)
    out = torch.zeros_like(x)
    descs = [described(t, [32, 64]) for t in (x, y, out)]
    launch(level, add_by_partitions, (3,), *descs, ins, outs, num_warps=warps, maxnreg=128)
    assert torch.equal(out, x + y)


@gluon.jit
def product_loads(a_desc, b_desc, a_ring, b_ring, full, empty, tiles, tiles_m, k_steps):
    DEPTH: gl.constexpr = a_ring.shape[0]
    count = 0
    for own in range(tiles):
        tile = gl.program_id(0) + own * gl.num_programs(0)
        for k in range(k_steps):
            at = count % DEPTH
            mbarrier.wait(empty.index(at), (count // DEPTH & 1) ^ 1)
            mbarrier.expect(full.index(at), a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
            k_at = k * a_ring.shape[2]
            tma.async_load(a_desc, [tile % tiles_m * a_ring.shape[1], k_at], full.index(at), a_ring.index(at))
            tma.async_load(
                b_desc, [tile // tiles_m * b_ring.shape[1], k_at], full.index(at), b_ring.index(at)
            )
            count += 1


@gluon.jit
def product_sums(
    out_desc, result, a_ring, b_ring, full, empty, tiles, tiles_m, k_steps, of_c: gl.constexpr,
    IN_FLIGHT: gl.constexpr,
):  # fmt: skip
    """A buffer is given back behind the next product: `IN_FLIGHT` above 1 is too many then."""
    DEPTH: gl.constexpr = a_ring.shape[0]
    count = 0
    for own in range(tiles):
        acc = gl.zeros(out_desc.block_shape, gl.float32, of_c)
        for _ in range(k_steps):
            mbarrier.wait(full.index(count % DEPTH), count // DEPTH & 1)
            b = b_ring.index(count % DEPTH).permute((1, 0))
            acc = hopper.warpgroup_mma(a_ring.index(count % DEPTH), b, acc, is_async=True)
            acc = hopper.warpgroup_mma_wait(IN_FLIGHT, deps=(acc,))
            mbarrier.arrive(empty.index((count + DEPTH - 1) % DEPTH), pred=count > 0)
            count += 1
        acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
        tile = gl.program_id(0) + own * gl.num_programs(0)
        tma.store_wait(0)
        result.store(acc)
        hopper.fence_async_shared()
        tma.async_store(
            out_desc,
            [tile % tiles_m * out_desc.block_shape[0], tile // tiles_m * out_desc.block_shape[1]],
            result,
        )
    tma.store_wait(0)


@triton_runner.jit
@gluon.jit
def product_by_partitions(
    a_desc, b_desc, out_desc, DEPTH: gl.constexpr, of_c: gl.constexpr, IN_FLIGHT: gl.constexpr
):
    a_ring = ring(a_desc, DEPTH)
    b_ring = ring(b_desc, DEPTH)
    result = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_shape, out_desc.layout)
    full = barriers(DEPTH)
    empty = barriers(DEPTH)
    tiles_m = gl.cdiv(out_desc.shape[0], out_desc.block_shape[0])
    tiles_n = gl.cdiv(out_desc.shape[1], out_desc.block_shape[1])
    tiles = gl.cdiv(tiles_m * tiles_n - gl.program_id(0), gl.num_programs(0))
    k_steps = gl.cdiv(a_desc.shape[1], a_desc.block_shape[1])
    gl.warp_specialize(
        [
            (
                product_sums,
                (out_desc, result, a_ring, b_ring, full, empty, tiles, tiles_m, k_steps, of_c, IN_FLIGHT),
            ),
            (product_loads, (a_desc, b_desc, a_ring, b_ring, full, empty, tiles, tiles_m, k_steps)),
        ],
        [1],
        [24],
    )


@pytest.mark.parametrize("depth, warps", [(2, 4), (3, 8)])
def test_a_product_by_partitions(depth, warps, level):
    torch.manual_seed(0)
    a, b, out = whole(200, 96), whole(136, 96), torch.zeros(200, 136)
    descs = [
        described(t, block) for t, block in ((a, [16 * warps, 32]), (b, [64, 32]), (out, [16 * warps, 64]))
    ]
    of_c = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, 64, 16])
    launch(level, product_by_partitions, (3,), *descs, depth, of_c, 1, num_warps=warps)
    assert torch.equal(out, a.float() @ b.float().T)


def test_a_buffer_that_is_given_back_too_early_is_a_race(level):
    a, b, out = whole(200, 96), whole(136, 96), torch.zeros(200, 136)
    descs = [described(t, block) for t, block in ((a, [64, 32]), (b, [64, 32]), (out, [64, 64]))]
    of_c = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    with pytest.raises(triton_runner.KernelTrap, match=r"data race in (ttng|cp\.async)"):
        launch(level, product_by_partitions, (3,), *descs, 2, of_c, 2, num_warps=4)


# Consumers that share a ring: two halves of the queries of an attention whose weights are whole numbers


@gluon.jit
def attention_loads(q_desc, k_desc, v_desc, q, k_ring, v_ring, q_full, full, empty, n):
    DEPTH: gl.constexpr = k_ring.shape[0]
    KEYS: gl.constexpr = k_ring.shape[1]
    mbarrier.expect(q_full, 2 * q_desc.nbytes_per_cta)
    tma.async_load(q_desc, [0, 0], q_full, q.index(0))
    tma.async_load(q_desc, [q.shape[1], 0], q_full, q.index(1))
    for i in range(n):
        at = i % DEPTH
        mbarrier.wait(empty.index(at), (i // DEPTH & 1) ^ 1)
        mbarrier.expect(full.index(at), k_desc.nbytes_per_cta + v_desc.nbytes_per_cta)
        tma.async_load(k_desc, [i * KEYS, 0], full.index(at), k_ring.index(at))
        tma.async_load(v_desc, [i * KEYS, 0], full.index(at), v_ring.index(at))


@gluon.jit
def attention_sums(out_ptr, best_ptr, q, k_ring, v_ring, q_full, full, empty, n, HALF: gl.constexpr):
    DEPTH: gl.constexpr = k_ring.shape[0]
    KEYS: gl.constexpr = k_ring.shape[1]
    WIDTH: gl.constexpr = k_ring.shape[2]
    of_s: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KEYS, 16])
    of_o: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, WIDTH, 16])
    acc = gl.zeros([64, WIDTH], gl.float32, of_o)
    best = gl.full([64], -1000, gl.float32, gl.SliceLayout(1, of_s))
    mbarrier.wait(q_full, 0)
    for i in range(n):
        at = i % DEPTH
        mbarrier.wait(full.index(at), i // DEPTH & 1)
        s = gl.zeros([64, KEYS], gl.float32, of_s)
        s = hopper.warpgroup_mma(q.index(HALF), k_ring.index(at).permute((1, 0)), s, is_async=True)
        s = hopper.warpgroup_mma_wait(0, deps=(s,))
        best = gl.maximum(best, gl.max(s, axis=1))
        p = gl.convert_layout(gl.maximum(s, 0.0).to(gl.float16), gl.DotOperandLayout(0, of_o, 2))
        acc = hopper.warpgroup_mma(p, v_ring.index(at), acc, is_async=True)
        acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(empty.index(at))
    gl.store(out_ptr + HALF * 64 * WIDTH + places(64, WIDTH, of_o), acc)
    gl.store(best_ptr + HALF * 64 + gl.arange(0, 64, gl.SliceLayout(1, of_s)), best)


@triton_runner.jit
@gluon.jit
def attention(q_desc, k_desc, v_desc, out_ptr, best_ptr, n, DEPTH: gl.constexpr):
    q = ring(q_desc, 2)
    k = ring(k_desc, DEPTH)
    v = ring(v_desc, DEPTH)
    q_full = mbarrier.allocate_mbarrier()
    mbarrier.init(q_full, count=1)
    full = barriers(DEPTH)
    empty = barriers(DEPTH, count=2)
    gl.warp_specialize(
        [
            (attention_sums, (out_ptr, best_ptr, q, k, v, q_full, full, empty, n, 0)),
            (attention_sums, (out_ptr, best_ptr, q, k, v, q_full, full, empty, n, 1)),
            (attention_loads, (q_desc, k_desc, v_desc, q, k, v, q_full, full, empty, n)),
        ],
        [4, 1],
        [160, 24],
    )


def test_two_consumers_of_a_ring(level):
    torch.manual_seed(0)
    q, k, v = whole(128, 32, top=1), whole(5 * 32, 32, top=1), whole(5 * 32, 32)
    out, best = torch.zeros(128, 32), torch.zeros(128)
    descs = described(q, [64, 32]), described(k, [32, 32]), described(v, [32, 32])
    launch(level, attention, (1,), *descs, out, best, 5, 2)
    s = q.float() @ k.float().T
    assert torch.equal(out, s.clamp(min=0) @ v.float())
    assert torch.equal(best, s.max(1).values)


# Partitions of different sizes: reductions, conversions and barriers of their own, values in and out


@gluon.jit
def own_sums(x_ptr, out_ptr, part, N: gl.constexpr):
    by_rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0])
    by_columns: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, gl.num_warps()], [0, 1])
    x = gl.load(x_ptr + part * N * N + places(N, N, by_rows))
    rows = gl.max(gl.convert_layout(x, by_columns), axis=1)
    gl.store(out_ptr + part * 2 * N + gl.arange(0, N, gl.SliceLayout(0, by_rows)), gl.sum(x, axis=0))
    gl.store(out_ptr + part * 2 * N + N + gl.arange(0, N, gl.SliceLayout(1, by_columns)), rows)


@triton_runner.jit
@gluon.jit
def sums_of_partitions(x_ptr, out_ptr, N: gl.constexpr):
    gl.warp_specialize(
        [
            (own_sums, (x_ptr, out_ptr, 0, N)),
            (own_sums, (x_ptr, out_ptr, 1, N)),
            (own_sums, (x_ptr, out_ptr, 2, N)),
            (own_sums, (x_ptr, out_ptr, 3, N)),
        ],
        [4, 2, 1],
        [64, 64, 64],
    )


@pytest.mark.parametrize("warps", [4, 8])
def test_partitions_of_different_sizes(warps, level):
    n = 32
    x, out = whole(4, n, n, dtype=torch.int32, top=99), torch.zeros(4, 2, n, dtype=torch.int32)
    launch(level, sums_of_partitions, (1,), x, out, n, num_warps=warps)
    assert torch.equal(out, torch.stack([x.sum(1).int(), x.max(2).values], dim=1))


@gluon.jit
def adds(x, buffer, full, empty, n):
    for i in range(n):
        mbarrier.wait(full, i & 1)
        x += buffer.load(x.type.layout)
        mbarrier.arrive(empty, count=2)
    return x, n * 2


@gluon.jit
def hands_over(buffer, y_ptr, full, empty, n):
    line: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    at = gl.arange(0, buffer.shape[0], line)
    for i in range(n):
        mbarrier.wait(empty, (i & 1) ^ 1)
        mbarrier.arrive(empty, pred=i % 2 == 0)
        mbarrier.arrive(empty, pred=i % 2 == 1)
        buffer.store(gl.load(y_ptr + i * buffer.shape[0] + at))
        gl.barrier()
        buffer.store(buffer.gather(buffer.shape[0] - 1 - at, 0))
        mbarrier.arrive(full)


@gluon.jit
def squares(buffer, out_ptr, part):
    line: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    v = buffer.load(line)
    gl.store(out_ptr + part * buffer.shape[0] + gl.arange(0, buffer.shape[0], line), v * v)


@gluon.jit
def nothing():
    pass


@triton_runner.jit
@gluon.jit
def values_of_partitions(x_ptr, y_ptr, out_ptr, n, B: gl.constexpr):
    """One region gives values back, one stands in a loop, and the default partition may do nothing."""
    line: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.arange(0, B, line)
    buffer = gl.allocate_shared_memory(gl.int32, [B], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    full = mbarrier.allocate_mbarrier()
    empty = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=3)
    x = gl.load(x_ptr + at)
    x, factor = gl.warp_specialize(
        [(adds, (x, buffer, full, empty, n)), (hands_over, (buffer, y_ptr, full, empty, n))], [2], [64]
    )
    gl.store(out_ptr + at, x * factor)
    for i in range(1, 4):
        buffer.store(x + i)
        gl.warp_specialize([(nothing, ()), (squares, (buffer, out_ptr, i))], [1], [64])


def test_values_of_partitions(level):
    x, y = whole(256, dtype=torch.int32), whole(5, 256, dtype=torch.int32)
    out = torch.zeros(4, 256, dtype=torch.int32)
    launch(level, values_of_partitions, (1,), x, y, out, 5, 256)
    total = x + y.flip(1).sum(0).int()
    assert torch.equal(out, torch.stack([total * 10, *((total + i) ** 2 for i in (1, 2, 3))]))
