"""Tests Gluon on Hopper: wgmma, persistent kernels and clusters on both engines, against torch, bit for
bit."""

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

cluster = hopper.cluster
pytestmark = pytest.mark.parametrize("level", LEVELS)


@triton_runner.jit
@gluon.jit
def product(
    a_desc, b_desc, out_ptr, A: gl.constexpr, B: gl.constexpr, of_c: gl.constexpr, element: gl.constexpr,
    IMPRECISE: gl.constexpr,
):  # fmt: skip
    """A (shared, transposed, registers) times B (shared, transposed), whose result starts at 3."""
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    mbarrier.expect(here, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], here, a)
    tma.async_load(b_desc, [0, 0], here, b)
    mbarrier.wait(here, 0)
    mbarrier.invalidate(here)
    if A == "transposed":
        a = a.permute((1, 0))
    if B == "transposed":
        b = b.permute((1, 0))
    M: gl.constexpr = a.shape[0]
    N: gl.constexpr = b.shape[1]
    if A == "registers":
        left = a.load(gl.DotOperandLayout(0, of_c, 32 // a_desc.dtype.primitive_bitwidth))
    else:
        left = a
    c = gl.full([M, N], 3, element, of_c)
    c = hopper.warpgroup_mma(left, b, c, is_async=True, max_num_imprecise_acc=IMPRECISE)
    c = hopper.warpgroup_mma_wait(num_outstanding=0, deps=(c,))
    gl.store(out_ptr + places(M, N, of_c), hopper.warpgroup_mma(left, b, c, max_num_imprecise_acc=IMPRECISE))


TYPES = {  # of A and B, of the result
    "f16": (torch.float16, gl.float32, torch.float32),
    "bf16": (torch.bfloat16, gl.float32, torch.float32),
    "f16 in f16": (torch.float16, gl.float16, torch.float16),
    "i8": (torch.int8, gl.int32, torch.int32),
    "e4m3": (torch.float8_e4m3fn, gl.float32, torch.float32),
    "e5m2": (torch.float8_e5m2, gl.float32, torch.float32),
    "tf32": (torch.float32, gl.float32, torch.float32),
}
PLACES = [
    (name, a, b)
    for name, types in TYPES.items()
    for a in ("shared", "transposed", "registers")
    for b in ("shared", "transposed")
    # Only elements of 16 bits may lie either way.
    if types[0].itemsize == 2 or (a != "transposed" and b == "transposed")
]


@pytest.mark.parametrize("name, a_place, b_place", PLACES)
@pytest.mark.parametrize("K", [32, 128])
def test_operands_of_wgmma(K, name, a_place, b_place, level):
    torch.manual_seed(0)
    dtype, element, of_result = TYPES[name]
    a, b, out = whole(64, K, dtype=dtype, top=3), whole(K, 64, dtype=dtype, top=3), torch.zeros(64, 64)
    out = out.to(of_result)
    given_a = a.T.contiguous() if a_place == "transposed" else a
    given_b = b.T.contiguous() if b_place == "transposed" else b
    of_c = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 32 // dtype.itemsize])
    descs = [described(t, t.shape) for t in (given_a, given_b)]
    imprecise = 32 if dtype.itemsize == 1 and dtype.is_floating_point else 0
    launch(level, product, (1,), *descs, out, a_place, b_place, of_c, element, imprecise)
    assert torch.equal(out.float(), 2 * (a.float() @ b.float()) + 3)


@pytest.mark.parametrize("a_place", ["shared", "registers"])
@pytest.mark.parametrize(
    "shape, instruction, warps",
    [
        ((64, 32, 32), 16, [4, 1]),
        ((64, 8, 16), 8, [4, 1]),
        ((64, 256, 64), 256, [4, 1]),
        ((128, 64, 64), 64, [4, 1]),
        ((64, 64, 32), 32, [4, 2]),
        ((128, 64, 64), 64, [8, 1]),
    ],
)
def test_shapes_of_wgmma(shape, instruction, warps, a_place, level):
    torch.manual_seed(0)
    m, n, k = shape
    a, b, out = whole(m, k), whole(k, n), torch.zeros(m, n)
    of_c = gl.NVMMADistributedLayout([3, 0], warps, [16, instruction, 16])
    descs = [described(t, t.shape) for t in (a, b)]
    args = (*descs, out, a_place, "shared", of_c, gl.float32, 0)
    compiled = launch(level, product, (1,), *args, num_warps=warps[0] * warps[1])
    if level == "ptx":
        assert f"wgmma.mma_async.sync.aligned.m64n{instruction}k16" in compiled.asm["ptx"]
    assert torch.equal(out, 2 * (a.float() @ b.float()) + 3)


# Persistent products: the loads of the next tile go on behind the last product of this one


@gluon.jit
def fetch_operands(
    count, total, k_steps, a_desc, b_desc, tiles_m, a_ring, b_ring, ready, DEPTH: gl.constexpr
):
    """Load number `count` of this program, over all of its tiles."""
    tile = gl.program_id(0) + count // k_steps * gl.num_programs(0)
    k = count % k_steps * a_desc.block_shape[1]
    pred = count < total
    here = ready.index(count % DEPTH)
    mbarrier.expect(here, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, pred=pred)
    tma.async_load(
        a_desc, [tile % tiles_m * a_desc.block_shape[0], k], here, a_ring.index(count % DEPTH), pred
    )
    tma.async_load(
        b_desc, [k, tile // tiles_m * b_desc.block_shape[1]], here, b_ring.index(count % DEPTH), pred
    )


@triton_runner.jit
@gluon.jit
def persistent_product(a_desc, b_desc, out_desc, DEPTH: gl.constexpr, num_warps: gl.constexpr):
    M: gl.constexpr = out_desc.block_shape[0]
    N: gl.constexpr = out_desc.block_shape[1]
    of_c: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, N, 16])
    a_ring = ring(a_desc, DEPTH)
    b_ring = ring(b_desc, DEPTH)
    result = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_shape, out_desc.layout)
    ready = barriers(DEPTH)
    tiles_m = gl.cdiv(out_desc.shape[0], M)
    tiles = gl.cdiv(tiles_m * gl.cdiv(out_desc.shape[1], N) - gl.program_id(0), gl.num_programs(0))
    k_steps = gl.cdiv(a_desc.shape[1], a_desc.block_shape[1])
    count = 0
    for i in gl.static_range(DEPTH - 1):
        fetch_operands(i, tiles * k_steps, k_steps, a_desc, b_desc, tiles_m, a_ring, b_ring, ready, DEPTH)
    acc = gl.zeros([M, N], gl.float32, of_c)
    for own in range(tiles):
        for step in range(k_steps):
            mbarrier.wait(ready.index(count % DEPTH), count // DEPTH & 1)
            acc = hopper.warpgroup_mma(
                a_ring.index(count % DEPTH), b_ring.index(count % DEPTH), acc, use_acc=step > 0, is_async=True
            )
            acc = hopper.warpgroup_mma_wait(1, deps=(acc,))
            later = count + DEPTH - 1
            fetch_operands(
                later, tiles * k_steps, k_steps, a_desc, b_desc, tiles_m, a_ring, b_ring, ready, DEPTH
            )
            count += 1
        acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
        tma.store_wait(0)
        result.store(acc.to(out_desc.dtype))
        hopper.fence_async_shared()
        tile = gl.program_id(0) + own * gl.num_programs(0)
        tma.async_store(out_desc, [tile % tiles_m * M, tile // tiles_m * N], result)
    tma.store_wait(0)


@pytest.mark.parametrize("depth, warps", [(3, 4), (4, 8)])
def test_a_persistent_product(depth, warps, level):
    torch.manual_seed(0)
    a, b, out = whole(200, 96), whole(96, 136), torch.zeros(200, 136, dtype=torch.float16)
    descs = [
        described(t, block) for t, block in ((a, [16 * warps, 32]), (b, [32, 64]), (out, [16 * warps, 64]))
    ]
    launch(level, persistent_product, (3,), *descs, depth, num_warps=warps)
    assert torch.equal(out.float(), a.float() @ b.float())


@gluon.aggregate
class Place:
    """A buffer of a ring, and the parity of the phase that its barrier is in."""

    index: gl.tensor
    phase: gl.tensor
    depth: gl.constexpr

    @gluon.constexpr_function
    def __init__(self, index, phase, depth):
        self.index = index
        self.phase = phase
        self.depth = gl.constexpr(depth)

    @gluon.jit
    def first(depth: gl.constexpr):
        return Place(gl.to_tensor(0), gl.to_tensor(0), depth)

    @gluon.must_use_result
    @gluon.jit
    def next(self):
        over = self.index + 1 == self.depth
        phase = gl.where(over, self.phase ^ 1, self.phase)
        return Place(gl.where(over, 0, self.index + 1), phase, self.depth)


@gluon.jit
def fetch(place, a_desc, b_desc, m, n, k, a_ring, b_ring, ready, pred):
    here = ready.index(place.index)
    mbarrier.expect(here, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, pred=pred)
    tma.async_load(a_desc, [m, k], here, a_ring.index(place.index), pred)
    tma.async_load(b_desc, [k, n], here, b_ring.index(place.index), pred)
    return place.next()


@triton_runner.jit
@gluon.jit
def product_in_flight(a_desc, b_desc, out_desc, DEPTH: gl.constexpr, of_c: gl.constexpr):
    """Each product goes on while the operands of the next come, and the result lies in a buffer of B."""
    K: gl.constexpr = a_desc.block_shape[1]
    m = gl.program_id(0) * out_desc.block_shape[0]
    n = gl.program_id(1) * out_desc.block_shape[1]
    a_ring = ring(a_desc, DEPTH)
    b_ring = ring(b_desc, DEPTH)
    ready = barriers(DEPTH)
    loads = Place.first(DEPTH)
    uses = Place.first(DEPTH)
    c = hopper.warpgroup_mma_init(gl.zeros(out_desc.block_shape, gl.float32, of_c))
    for ahead in gl.static_range(DEPTH - 2):
        loads = fetch(loads, a_desc, b_desc, m, n, ahead * K, a_ring, b_ring, ready, True)
    for k in range(0, a_desc.shape[1], K):
        later = k + (DEPTH - 2) * K
        loads = fetch(loads, a_desc, b_desc, m, n, later, a_ring, b_ring, ready, later < a_desc.shape[1])
        mbarrier.wait(ready.index(uses.index), uses.phase)
        c = hopper.warpgroup_mma_wait(0, deps=(c,))
        a, b = a_ring.index(uses.index), b_ring.index(uses.index)
        c = hopper.warpgroup_mma(a, b, c, use_acc=k > 0, is_async=True)
        uses = uses.next()
    c = hopper.warpgroup_mma_wait(0, deps=(c,))
    result = b_ring.index(0).reinterpret(out_desc.dtype, out_desc.block_shape, out_desc.layout)
    result.store(c.to(out_desc.dtype))
    hopper.fence_async_shared()
    tma.async_store(out_desc, [m, n], result)
    tma.store_wait(0)


@pytest.mark.parametrize("depth, warps", [(2, 4), (3, 4), (4, 8)])
def test_a_product_in_flight(depth, warps, level):
    torch.manual_seed(0)
    a, b, out = whole(200, 192), whole(192, 136), torch.zeros(200, 136, dtype=torch.float16)
    of_c = gl.NVMMADistributedLayout([3, 0], [4, warps // 4], [16, 32, 16])
    descs = described(a, [64, 64]), described(b, [64, 64]), described(out, [64, 64])
    launch(level, product_in_flight, (4, 3), *descs, depth, of_c, num_warps=warps)
    assert torch.equal(out.float(), a.float() @ b.float())


# Clusters: blocks that share a load, a product, a sum and a layout


@triton_runner.jit
@gluon.jit
def product_of_a_cluster(a_desc, b_desc, out_ptr, of_c: gl.constexpr, MULTICAST: gl.constexpr):
    """Each block has its rows of A and all of B, which one load brings to all of them."""
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    M: gl.constexpr = a_desc.block_shape[0]
    N: gl.constexpr = b_desc.block_shape[1]
    c = gl.zeros([M, N], gl.float32, of_c)
    for step in range(gl.cdiv(a_desc.shape[1], a_desc.block_shape[1])):
        hopper.fence_async_shared(cluster=True)
        cluster.barrier()
        k = step * a_desc.block_shape[1]
        mbarrier.expect(here, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, k], here, a)
        tma.async_load(b_desc, [k, 0], here, b, multicast=MULTICAST)
        mbarrier.wait(here, step & 1)
        c = hopper.warpgroup_mma(a, b, c)
    gl.store(out_ptr + places(M, N, of_c), c)
    cluster.barrier()


@pytest.mark.parametrize("blocks", [2, 4])
@pytest.mark.parametrize("multicast", [False, True])
def test_a_product_of_a_cluster(multicast, blocks, level):
    torch.manual_seed(0)
    m = 64 * blocks
    a, b, out = whole(m, 96), whole(96, 64), torch.zeros(m, 64)
    by_rows = [[1 << i, 0] for i in range(blocks // 2)]
    of_c = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16], cga_layout=by_rows)
    descs = described(a, [m, 32], by_rows), described(b, [32, 64], [[0, 0]] * len(by_rows))
    launch(level, product_of_a_cluster, (1,), *descs, out, of_c, multicast, num_ctas=blocks)
    assert torch.equal(out, a.float() @ b.float())


@triton_runner.jit
@gluon.jit
def sums_of_a_cluster(x_ptr, sums_ptr, out_ptr, N: gl.constexpr, one: gl.constexpr, other: gl.constexpr):
    x = gl.load(x_ptr + places(N, N, one))
    gl.store(sums_ptr + gl.arange(0, N, gl.SliceLayout(0, one)), gl.sum(x, axis=0))
    gl.store(sums_ptr + N + gl.arange(0, N, gl.SliceLayout(1, one)), gl.sum(x, axis=1))
    gl.store(out_ptr + places(N, N, other), gl.convert_layout(x, other))


@pytest.mark.parametrize("blocks", [2, 4])
def test_sums_of_a_cluster(blocks, level):
    n = 64
    x, sums, out = whole(n, n, dtype=torch.int32), torch.zeros(2, n).int(), torch.zeros(n, n).int()
    rows, columns = ([[1 << i, 0] for i in range(blocks // 2)], [[0, 1 << i] for i in range(blocks // 2)])
    one = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0], cga_layout=rows)
    other = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1], cga_layout=columns)
    launch(level, sums_of_a_cluster, (1,), x, sums, out, n, one, other, num_ctas=blocks)
    assert torch.equal(sums, torch.stack([x.sum(0), x.sum(1)]).int())
    assert torch.equal(out, x)


@triton_runner.jit
@gluon.jit
def store_in_a_cluster(x_ptr, out_ptr, N: gl.constexpr, line: gl.constexpr, shared: gl.constexpr):
    x = gl.load(x_ptr + gl.arange(0, N, line))
    buffer = gl.allocate_shared_memory(gl.float32, [N], shared)
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    hopper.fence_async_shared(cluster=True)
    cluster.barrier()
    mbarrier.expect(here, buffer.nbytes_per_cta)
    hopper.async_store(buffer, x, here)
    mbarrier.wait(here, 0)
    gl.store(out_ptr + gl.arange(0, N, line), buffer.load(line))
    cluster.barrier()


def test_a_store_that_arrives_at_a_barrier(level):
    x, out = torch.randn(512), torch.zeros(512)
    line = gl.BlockedLayout([1], [32], [4], [0], cga_layout=[[1]])
    shared = gl.SwizzledSharedLayout(1, 1, 1, [0], cga_layout=[[1]])
    launch(level, store_in_a_cluster, (1,), x, out, 512, line, shared, num_ctas=2)
    assert torch.equal(out, x)
