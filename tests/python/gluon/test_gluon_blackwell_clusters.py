"""Tests Gluon kernels of clusters, for Blackwell: sums over blocks, multicast copies, products of pairs of
blocks, cluster launch control, a warp-specialised program of all that; on both engines against torch, bit
for bit."""

import pytest
from kernels_for_blackwell import TensorMemoryLayout, blackwell, tma
from kernels_for_gluon import (
    LEVELS,
    barriers,
    described,
    gl,
    gluon,
    launch,
    mbarrier,
    ring,
    torch,
    triton_runner,
    whole,
)
from triton.language.core import _aggregate as aggregate

clc = blackwell.clc
pytestmark = pytest.mark.parametrize("level", LEVELS)


@triton_runner.jit
@gluon.jit
def exponentials(x_ptr, out_ptr, total_ptr, N: gl.constexpr, shares: gl.constexpr):
    line: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0], cga_layout=shares)
    at = gl.program_id(0) * N + gl.arange(0, N, line)
    x = gl.load(x_ptr + at)
    weights = gl.exp2(x - gl.max(x, axis=0))
    gl.store(out_ptr + at, weights)
    gl.store(total_ptr + gl.program_id(0), gl.sum(weights, axis=0))


@pytest.mark.parametrize("ctas", [2, 4, 8])
def test_a_row_of_several_blocks(ctas, level):
    x = torch.randint(-6, 3, (3, 4096)).float()
    out, total = torch.zeros_like(x), torch.zeros(3)
    shares = tuple((1 << i,) for i in range(ctas.bit_length() - 1))
    launch(level, exponentials, (3,), x, out, total, x.shape[1], shares, target="cuda:100", num_ctas=ctas)
    wanted = torch.exp2(x - x.amax(1, keepdim=True))
    assert torch.equal(out, wanted)
    assert torch.equal(total, wanted.sum(1))


@triton_runner.jit
@gluon.jit
def multicast(from_desc, to_desc):
    tile = gl.allocate_shared_memory(from_desc.dtype, from_desc.block_shape, from_desc.layout)
    there = barriers(1).index(0)
    mbarrier.expect(there, from_desc.nbytes_per_cta)
    tma.async_load(from_desc, [0, 0], there, tile, multicast=True)
    mbarrier.wait(there, 0, deps=[tile])
    mbarrier.invalidate(there)
    tma.async_store(to_desc, [0, 0], tile)
    tma.store_wait(0)


@pytest.mark.parametrize("shares", [((0, 0),), ((1, 0), (0, 0)), ((0, 0), (0, 1))])
def test_a_multicast_copy(shares, level):
    x = whole(128, 128, top=99)
    out = torch.zeros_like(x)
    descs = [described(t, (128, 128), shares) for t in (x, out)]
    launch(level, multicast, (1,), *descs, target="cuda:100", num_ctas=1 << len(shares))
    assert torch.equal(out, x)


@triton_runner.jit
@gluon.jit
def product(a_desc, b_desc, c_desc, layout: gl.constexpr, commits: gl.constexpr):
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    loaded = mbarrier.allocate_mbarrier(two_ctas=layout.two_ctas)
    mbarrier.init(loaded, count=1)
    count: gl.constexpr = blackwell.tcgen05_mma_barrier_count([a, b], True, layout.two_ctas)
    used = barriers(1, count).index(0)
    sums = blackwell.allocate_tensor_memory(gl.float32, c_desc.block_shape, layout)
    phase = 0
    for k in range(0, a_desc.shape[1], a_desc.block_shape[1]):
        mbarrier.expect(loaded, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, k], loaded, a, multicast=True)
        tma.async_load(b_desc, [k, 0], loaded, b, multicast=True)
        mbarrier.wait(loaded, phase, deps=[a, b])
        if commits:
            blackwell.tcgen05_mma(a, b, sums, use_acc=k > 0)
            blackwell.tcgen05_commit(used, descs=[a, b])
        else:
            blackwell.tcgen05_mma(a, b, sums, use_acc=k > 0, multicast=True, mbarriers=[used])
        mbarrier.wait(used, phase, deps=[a, b])
        phase ^= 1
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(used)
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_shape, c_desc.layout)
    c.store(sums.load().to(c_desc.dtype))
    blackwell.fence_async_shared()
    tma.async_store(c_desc, [0, 0], c)
    tma.store_wait(0)


@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize(
    "M, N, of_a, of_b, of_c, pairs",
    [
        (256, 64, ((1, 0),), ((0, 1),), ((1, 0),), True),
        (512, 64, ((1, 0), (2, 0)), ((0, 1), (0, 0)), ((1, 0), (2, 0)), True),
        (256, 128, ((1, 0), (0, 0)), ((0, 1), (0, 2)), ((1, 0), (0, 1)), True),
        (256, 128, ((1, 0), (0, 0)), ((0, 0), (0, 1)), ((1, 0), (0, 1)), False),
        (256, 64, ((1, 0),), ((0, 0),), ((1, 0),), False),
    ],
)
def test_a_product_of_several_blocks(M, N, of_a, of_b, of_c, pairs, commits, level):
    a, b, c = whole(M, 128), whole(128, N), torch.zeros(M, N, dtype=torch.float16)
    descs = described(a, (M, 64), of_a), described(b, (64, N), of_b), described(c, (M, N), of_c)
    columns = N >> sum(basis[1] != 0 for basis in of_c)
    layout = TensorMemoryLayout((128, columns), 1, cga_layout=of_c, two_ctas=pairs)
    launch(level, product, (1,), *descs, layout, commits, target="cuda:100", num_ctas=1 << len(of_a))
    assert torch.equal(c.float(), a.float() @ b.float())


# Cluster launch control


@triton_runner.jit
@gluon.jit
def asks_for_work(x_ptr, out_ptr, BLOCK: gl.constexpr, everywhere: gl.constexpr):
    """Twice x plus the tile's number; each answer is asked for before the tile that it comes after."""
    line: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0], everywhere)
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0], cga_layout=everywhere)
    answer, there = gl.allocate_shared_memory(gl.int64, [2], shared), barriers(1).index(0)
    tile, phase, more = gl.program_id(0), 0, gl.to_tensor(True)
    while more:
        mbarrier.expect(there, 16)
        clc.try_cancel(answer, there)
        at = tile * BLOCK + gl.arange(0, BLOCK, line)
        gl.store(out_ptr + at, gl.load(x_ptr + at) * 2 + tile)
        mbarrier.wait(there, phase)
        phase ^= 1
        reply = clc.load_result(answer)
        more = reply.is_canceled()
        tile = reply.program_id(0)
    mbarrier.invalidate(there)


@pytest.mark.parametrize("ctas", [1, 2])
def test_programs_that_ask_for_work(ctas, level):
    x = torch.arange(1024, dtype=torch.int32)
    out, everywhere = torch.zeros_like(x), ((0,),) * (ctas - 1)
    launch(level, asks_for_work, (8,), x, out, 128, everywhere, target="cuda:100", num_ctas=ctas)
    assert torch.equal(out, 2 * x + x // 128)


# One program: a partition asks for work and tells the others, which load, multiply and store.


@aggregate
class Work:
    a_desc: tma.tensor_descriptor
    b_desc: tma.tensor_descriptor
    c_desc: tma.tensor_descriptor
    a: gl.shared_memory_descriptor
    b: gl.shared_memory_descriptor
    loaded: gl.shared_memory_descriptor
    used: gl.shared_memory_descriptor
    sums: blackwell.tensor_memory_descriptor
    summed: gl.shared_memory_descriptor
    taken: gl.shared_memory_descriptor
    answer: gl.shared_memory_descriptor
    answered: gl.shared_memory_descriptor
    number: gl.shared_memory_descriptor
    numbered: gl.shared_memory_descriptor
    read: gl.shared_memory_descriptor

    @gluon.jit
    def place(self, tile):
        across = gl.cdiv(self.c_desc.shape[1], self.b_desc.block_shape[1])
        return tile // across * self.a_desc.block_shape[0], tile % across * self.b_desc.block_shape[1]

    @gluon.jit
    def next(self, phase):
        """The number of the next tile, or -1, as the asking partition wrote it down."""
        mbarrier.wait(self.numbered, phase)
        one: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0], ((0,),))
        tile = self.number.load(one).reshape([])
        mbarrier.arrive(self.read)
        return tile.to(gl.int32)


@gluon.jit
def ask(p):
    more, phase = gl.to_tensor(True), 0
    one: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0], ((0,),))
    while more:
        # Both blocks get the next answer: all that read what the last one said must have done so.
        mbarrier.wait(p.read, phase ^ 1)
        mbarrier.expect(p.answered, 16)
        clc.try_cancel(p.answer, p.answered)
        mbarrier.wait(p.answered, phase)
        reply = clc.load_result(p.answer)
        more = reply.is_canceled()
        tile = gl.to_tensor(-1)
        if more:
            tile = reply.program_id(0)
        p.number.store(gl.full([1], tile.to(gl.int64), gl.int64, one))
        mbarrier.arrive(p.numbered)
        phase ^= 1


@gluon.jit
def load(p):
    DEPTH: gl.constexpr = p.a.shape[0]
    tile, count, told = gl.program_id(0), 0, 0
    while tile >= 0:
        row, column = p.place(tile)
        for k in range(0, p.a_desc.shape[1], p.a_desc.block_shape[1]):
            slot = count % DEPTH
            mbarrier.wait(p.used.index(slot), (count // DEPTH & 1) ^ 1)
            mbarrier.expect(p.loaded.index(slot), p.a_desc.nbytes_per_cta + p.b_desc.nbytes_per_cta)
            tma.async_load(p.a_desc, [row, k], p.loaded.index(slot), p.a.index(slot), multicast=True)
            tma.async_load(p.b_desc, [k, column], p.loaded.index(slot), p.b.index(slot), multicast=True)
            count += 1
        tile = p.next(told)
        told ^= 1


@gluon.jit
def multiply(p):
    DEPTH: gl.constexpr = p.a.shape[0]
    tile, count, told = gl.program_id(0), 0, 0
    while tile >= 0:
        mbarrier.wait(p.taken, told ^ 1)
        for k in range(0, p.a_desc.shape[1], p.a_desc.block_shape[1]):
            slot = count % DEPTH
            mbarrier.wait(p.loaded.index(slot), count // DEPTH & 1)
            a, b = p.a.index(slot), p.b.index(slot)
            blackwell.tcgen05_mma(a, b, p.sums, use_acc=k > 0, multicast=True, mbarriers=[p.used.index(slot)])
            count += 1
        blackwell.tcgen05_commit(p.summed, descs=[p.a.index(0), p.b.index(0)])
        tile = p.next(told)
        told ^= 1


@gluon.jit
def store(p):
    width: gl.constexpr = p.c_desc.block_shape[1]
    c = gl.allocate_shared_memory(p.c_desc.dtype, p.c_desc.block_shape, p.c_desc.layout)
    tile, told = gl.program_id(0), 0
    while tile >= 0:
        row, column = p.place(tile)
        mbarrier.wait(p.summed, told)
        for part in gl.static_range(p.b_desc.block_shape[1] // width):
            sums = p.sums.slice(part * width, width).load()
            tma.store_wait(0)
            c.store(sums.to(p.c_desc.dtype))
            blackwell.fence_async_shared()
            tma.async_store(p.c_desc, [row, column + part * width], c)
        mbarrier.arrive(p.taken)
        tile = p.next(told)
        told ^= 1
    tma.store_wait(0)


@gluon.jit
def of_a_pair(DEPTH: gl.constexpr, count: gl.constexpr = 1):
    made = mbarrier.allocate_mbarrier(batch=DEPTH, two_ctas=True)
    for i in gl.static_range(DEPTH):
        mbarrier.init(made.index(i), count=count)
    return made


@triton_runner.jit
@gluon.jit
def program(a_desc, b_desc, c_desc, layout: gl.constexpr, DEPTH: gl.constexpr):
    shape: gl.constexpr = [a_desc.block_shape[0], b_desc.block_shape[1]]
    a, b = ring(a_desc, DEPTH), ring(b_desc, DEPTH)
    commits: gl.constexpr = blackwell.tcgen05_mma_barrier_count([a.index(0), b.index(0)], True, True)
    everywhere: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0], cga_layout=((0,),))
    p = Work(
        a_desc, b_desc, c_desc, a, b, of_a_pair(DEPTH), barriers(DEPTH, commits),
        blackwell.allocate_tensor_memory(gl.float32, shape, layout), barriers(1, commits).index(0),
        of_a_pair(1).index(0), gl.allocate_shared_memory(gl.int64, [2], everywhere), barriers(1).index(0),
        gl.allocate_shared_memory(gl.int64, [1], everywhere), barriers(1).index(0), of_a_pair(1, 3).index(0),
    )  # fmt: skip
    parts: gl.constexpr = [1, 1, 1]
    gl.warp_specialize([(store, (p,)), (load, (p,)), (multiply, (p,)), (ask, (p,))], parts, [24, 24, 24])


def test_a_program_of_pairs_of_blocks(level):
    a, b, c = whole(512, 160), whole(160, 128), torch.zeros(512, 128, dtype=torch.float16)
    descs = (
        described(a, (256, 32), ((1, 0),)),
        described(b, (32, 64), ((0, 1),)),
        described(c, (256, 32), ((1, 0),)),
    )
    layout = TensorMemoryLayout((128, 64), 1, cga_layout=((1, 0),), two_ctas=True)
    launch(level, program, (4,), *descs, layout, 3, target="cuda:100", num_ctas=2)
    assert torch.equal(c.float(), a.float() @ b.float())
