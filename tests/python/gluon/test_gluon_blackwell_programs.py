"""Tests whole Gluon programs for Blackwell, on both engines against torch, bit for bit, and clean under the
checks: pipelined and warp-specialised products, products of gathered rows, attention in tensor memory."""

import pytest
from kernels_for_blackwell import TensorMemoryLayout, blackwell, tma
from kernels_for_gluon import (
    LEVELS,
    TensorDescriptor,
    barriers,
    described,
    gl,
    gluon,
    launch,
    mbarrier,
    places,
    ring,
    torch,
    triton_runner,
    whole,
)
from triton.language.core import _aggregate as aggregate

pytestmark = pytest.mark.parametrize("level", LEVELS)


@triton_runner.jit
@gluon.jit
def pipelined(a_desc, b_desc, c_desc, DEPTH: gl.constexpr):
    M: gl.constexpr = c_desc.block_shape[0]
    N: gl.constexpr = c_desc.block_shape[1]
    STEP: gl.constexpr = a_desc.block_shape[1]
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    a, b, loaded, used = ring(a_desc, DEPTH), ring(b_desc, DEPTH), barriers(DEPTH), barriers(DEPTH)
    sums = blackwell.allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    steps = gl.cdiv(a_desc.shape[1], STEP)
    for i in range(steps + DEPTH - 1):
        here = loaded.index(i % DEPTH)
        ahead = i < steps
        mbarrier.wait(used.index(i % DEPTH), (i // DEPTH & 1) ^ 1, pred=ahead)
        mbarrier.expect(here, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, pred=ahead)
        tma.async_load(a_desc, [row, i * STEP], here, a.index(i % DEPTH), pred=ahead)
        tma.async_load(b_desc, [i * STEP, column], here, b.index(i % DEPTH), pred=ahead)
        j = i - (DEPTH - 1)
        if j >= 0:
            mbarrier.wait(loaded.index(j % DEPTH), j // DEPTH & 1)
            blackwell.tcgen05_mma(a.index(j % DEPTH), b.index(j % DEPTH), sums, use_acc=j > 0)
            blackwell.tcgen05_commit(used.index(j % DEPTH))
    last = steps - 1
    mbarrier.wait(used.index(last % DEPTH), last // DEPTH & 1)
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_shape, c_desc.layout)
    c.store(sums.load().to(c_desc.dtype))
    blackwell.fence_async_shared()
    tma.async_store(c_desc, [row, column], c)
    tma.store_wait(0)


@pytest.mark.parametrize("depth", [1, 3])
def test_a_pipeline(depth, level):
    a, b, c = whole(100, 168), whole(168, 72), torch.zeros(100, 72, dtype=torch.float16)
    descs = [described(t, (64, 32)) for t in (a, b, c)]
    descs[1] = described(b, (32, 32))
    launch(level, pipelined, (2, 3), *descs, depth, target="cuda:100")
    assert torch.equal(c.float(), a.float() @ b.float())


@triton_runner.jit
@gluon.jit
def of_gathered_rows(x_desc, w_desc, out_desc, rows_ptr, count, ROWS: gl.constexpr):
    """The product of w and the rows of x that a list names, to the same rows."""
    STEP: gl.constexpr = x_desc.block_shape[1]
    N: gl.constexpr = w_desc.block_shape[1]
    four: gl.constexpr = gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, gl.num_warps()], [1, 0]))
    at = gl.program_id(0) * ROWS + gl.arange(0, ROWS, four)
    rows = gl.load(rows_ptr + at, mask=at < count, other=1 << 20)
    a = gl.allocate_shared_memory(x_desc.dtype, [2, ROWS, STEP], x_desc.layout)
    b, loaded, used = ring(w_desc, 2), barriers(2), barriers(2)
    sums = blackwell.allocate_tensor_memory(gl.float32, [ROWS, N], TensorMemoryLayout([ROWS, N], 1))
    steps = gl.cdiv(x_desc.shape[1], STEP)
    for i in range(steps + 1):
        if i < steps:
            here = loaded.index(i % 2)
            mbarrier.wait(used.index(i % 2), (i // 2 & 1) ^ 1)
            mbarrier.expect(here, ROWS * x_desc.nbytes_per_cta + w_desc.nbytes_per_cta)
            tma.async_gather(x_desc, rows, i * STEP, here, a.index(i % 2))
            tma.async_load(w_desc, [i * STEP, 0], here, b.index(i % 2))
        if i > 0:
            slot = (i - 1) % 2
            mbarrier.wait(loaded.index(slot), (i - 1) // 2 & 1)
            blackwell.tcgen05_mma(a.index(slot), b.index(slot), sums, use_acc=i > 1)
            blackwell.tcgen05_commit(used.index(slot))
    mbarrier.wait(used.index((steps - 1) % 2), (steps - 1) // 2 & 1)
    c = gl.allocate_shared_memory(out_desc.dtype, [ROWS, N], out_desc.layout)
    c.store(sums.load().to(out_desc.dtype))
    blackwell.fence_async_shared()
    tma.async_scatter(out_desc, rows, 0, c)
    tma.store_wait(0)


@pytest.mark.parametrize("block", [64, 128])
def test_a_product_of_gathered_rows(block, level):
    x, w, out = whole(300, 192), whole(192, 64), torch.zeros(300, 64, dtype=torch.float16)
    rows = torch.randperm(300, dtype=torch.int32)[:200].contiguous()
    layout = described(x, (block, 64)).layout
    descs = [TensorDescriptor.from_tensor(t, [1, 64], layout) for t in (x, out)]
    descs.insert(1, described(w, (64, 64)))
    launch(level, of_gathered_rows, (-(-200 // block),), *descs, rows, 200, block, target="cuda:100")
    wanted = torch.zeros(300, 64)
    wanted[rows.long()] = x[rows.long()].float() @ w.float()
    assert torch.equal(out.float(), wanted)


# Partitions that load, multiply and store; the tiles' first values are copied into tensor memory.


@aggregate
class Turn:
    slot: gl.tensor
    phase: gl.tensor
    DEPTH: gl.constexpr

    @gluon.jit
    def first(phase: gl.constexpr, DEPTH: gl.constexpr):
        return Turn(gl.to_tensor(0), gl.to_tensor(phase), DEPTH)

    @gluon.must_use_result
    @gluon.jit
    def next(self):
        over = self.slot + 1 == self.DEPTH
        return Turn(gl.where(over, 0, self.slot + 1), gl.where(over, self.phase ^ 1, self.phase), self.DEPTH)


@aggregate
class Product:
    a_desc: tma.tensor_descriptor
    b_desc: tma.tensor_descriptor
    c_desc: tma.tensor_descriptor
    out_desc: tma.tensor_descriptor
    a: gl.shared_memory_descriptor
    b: gl.shared_memory_descriptor
    c: gl.shared_memory_descriptor
    loaded: gl.shared_memory_descriptor
    used: gl.shared_memory_descriptor
    c_loaded: gl.shared_memory_descriptor
    c_used: gl.shared_memory_descriptor
    sums: blackwell.tensor_memory_descriptor
    summed: gl.shared_memory_descriptor
    taken: gl.shared_memory_descriptor

    @gluon.jit
    def tiles(self):
        return gl.cdiv(self.c_desc.shape[0], self.c_desc.block_shape[0]) * self.across()

    @gluon.jit
    def across(self):
        return gl.cdiv(self.c_desc.shape[1], self.c_desc.block_shape[1])

    @gluon.jit
    def place(self, tile):
        row = tile // self.across() * self.c_desc.block_shape[0]
        return row, tile % self.across() * self.c_desc.block_shape[1]


@gluon.jit
def load_tiles(p):
    turn, c_phase = Turn.first(1, p.a.shape[0]), 1
    for tile in range(gl.program_id(0), p.tiles(), gl.num_programs(0)):
        row, column = p.place(tile)
        mbarrier.wait(p.c_used, c_phase)
        mbarrier.expect(p.c_loaded, p.c_desc.nbytes_per_cta)
        tma.async_load(p.c_desc, [row, column], p.c_loaded, p.c)
        c_phase ^= 1
        for k in range(0, p.a_desc.shape[1], p.a_desc.block_shape[1]):
            here = p.loaded.index(turn.slot)
            mbarrier.wait(p.used.index(turn.slot), turn.phase)
            mbarrier.expect(here, p.a_desc.nbytes_per_cta + p.b_desc.nbytes_per_cta)
            tma.async_load(p.a_desc, [row, k], here, p.a.index(turn.slot))
            tma.async_load(p.b_desc, [k, column], here, p.b.index(turn.slot))
            turn = turn.next()


@gluon.jit
def multiply_tiles(p):
    turn, sums_turn, c_phase = Turn.first(0, p.a.shape[0]), Turn.first(1, p.sums.shape[0]), 0
    for _ in range(gl.program_id(0), p.tiles(), gl.num_programs(0)):
        mbarrier.wait(p.taken.index(sums_turn.slot), sums_turn.phase)
        mbarrier.wait(p.c_loaded, c_phase)
        c_phase ^= 1
        sums = p.sums.index(sums_turn.slot)
        blackwell.tcgen05_copy(p.c, sums)
        blackwell.tcgen05_commit(p.c_used)
        for _k in range(0, p.a_desc.shape[1], p.a_desc.block_shape[1]):
            mbarrier.wait(p.loaded.index(turn.slot), turn.phase)
            blackwell.tcgen05_mma(p.a.index(turn.slot), p.b.index(turn.slot), sums)
            blackwell.tcgen05_commit(p.used.index(turn.slot))
            turn = turn.next()
        blackwell.tcgen05_commit(p.summed.index(sums_turn.slot))
        sums_turn = sums_turn.next()


@gluon.jit
def store_tiles(p):
    turn = Turn.first(0, p.sums.shape[0])
    width: gl.constexpr = p.out_desc.block_shape[1]
    buffer = gl.allocate_shared_memory(p.out_desc.dtype, p.out_desc.block_shape, p.out_desc.layout)
    for tile in range(gl.program_id(0), p.tiles(), gl.num_programs(0)):
        row, column = p.place(tile)
        mbarrier.wait(p.summed.index(turn.slot), turn.phase)
        for half in gl.static_range(2):
            sums = p.sums.index(turn.slot).slice(half * width, width).load()
            tma.store_wait(0)
            buffer.store(sums)
            blackwell.fence_async_shared()
            tma.async_store(p.out_desc, [row, column + half * width], buffer)
        mbarrier.arrive(p.taken.index(turn.slot), count=1)
        turn = turn.next()
    tma.store_wait(0)


@triton_runner.jit
@gluon.jit
def specialised(a_desc, b_desc, c_desc, out_desc, DEPTH: gl.constexpr):
    layout: gl.constexpr = TensorMemoryLayout(c_desc.block_shape, 1)
    shape: gl.constexpr = c_desc.block_shape
    sums = blackwell.allocate_tensor_memory(gl.float32, [2, shape[0], shape[1]], layout)
    p = Product(
        a_desc, b_desc, c_desc, out_desc, ring(a_desc, DEPTH), ring(b_desc, DEPTH),
        gl.allocate_shared_memory(c_desc.dtype, shape, c_desc.layout), barriers(DEPTH), barriers(DEPTH),
        barriers(1).index(0), barriers(1).index(0), sums, barriers(2), barriers(2),
    )  # fmt: skip
    gl.warp_specialize([(store_tiles, (p,)), (load_tiles, (p,)), (multiply_tiles, (p,))], [1, 1], [24, 24])


@pytest.mark.parametrize("programs", [1, 4])
def test_partitions_that_add_to_tiles(programs, level):
    a, b, c = whole(384, 80), whole(80, 96), whole(384, 96, dtype=torch.float32, top=99)
    out = torch.zeros_like(c)
    descs = (
        described(a, (128, 32)),
        described(b, (32, 64)),
        described(c, (128, 64)),
        described(out, (128, 32)),
    )
    launch(level, specialised, (programs,), *descs, 3, target="cuda:100")
    assert torch.equal(out, a.float() @ b.float() + c)


# Attention: weights in the place of the scores' first half, what sums are rescaled by in one of the other


@aggregate
class Attention:
    q_desc: tma.tensor_descriptor
    k_desc: tma.tensor_descriptor
    v_desc: tma.tensor_descriptor
    q: gl.shared_memory_descriptor
    k: gl.shared_memory_descriptor
    v: gl.shared_memory_descriptor
    loaded: gl.shared_memory_descriptor
    used: gl.shared_memory_descriptor
    scores: blackwell.tensor_memory_descriptor
    sums: blackwell.tensor_memory_descriptor
    scored: gl.shared_memory_descriptor
    weighed: gl.shared_memory_descriptor
    added: gl.shared_memory_descriptor

    @gluon.jit
    def weights(self):
        M: gl.constexpr = self.scores.shape[0]
        N: gl.constexpr = self.scores.shape[1]
        return self.scores.slice(0, N // 2).reinterpret(gl.float16, [M, N], TensorMemoryLayout([M, N], 1))

    @gluon.jit
    def factors(self):
        M: gl.constexpr = self.scores.shape[0]
        column = self.scores.slice(self.scores.shape[1] // 2 + 1, 1)
        return column.reinterpret(gl.float32, [M, 1], TensorMemoryLayout([M, 1], 1))


@gluon.jit
def load_heads(p, steps):
    N: gl.constexpr = p.k_desc.block_shape[0]
    mbarrier.expect(p.loaded.index(2), p.q_desc.nbytes_per_cta)
    tma.async_load(p.q_desc, [gl.program_id(0) * p.q_desc.block_shape[0], 0], p.loaded.index(2), p.q)
    for i in range(steps):
        here = p.loaded.index(i % 2)
        mbarrier.wait(p.used.index(i % 2), (i // 2 & 1) ^ 1)
        mbarrier.expect(here, p.k_desc.nbytes_per_cta + p.v_desc.nbytes_per_cta)
        tma.async_load(p.k_desc, [i * N, 0], here, p.k.index(i % 2))
        tma.async_load(p.v_desc, [i * N, 0], here, p.v.index(i % 2))


@gluon.jit
def multiply_heads(p, steps):
    mbarrier.wait(p.loaded.index(2), 0)
    for i in range(steps):
        mbarrier.wait(p.loaded.index(i % 2), i // 2 & 1)
        k = p.k.index(i % 2).permute((1, 0))
        blackwell.tcgen05_mma(p.q, k, p.scores, use_acc=False, mbarriers=[p.scored])
        mbarrier.wait(p.weighed, i & 1)
        done = [p.used.index(i % 2), p.added]
        blackwell.tcgen05_mma(p.weights(), p.v.index(i % 2), p.sums, use_acc=i > 0, mbarriers=done)


@gluon.jit
def weigh(p, out_ptr, total_ptr, steps):
    M: gl.constexpr = p.scores.shape[0]
    D: gl.constexpr = p.sums.shape[1]
    layout: gl.constexpr = p.scores.get_reg_layout(instr_variant="32x32b_splitn")
    column: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [gl.num_warps(), 1], [0, 1])
    rows: gl.constexpr = gl.SliceLayout(1, p.sums.slice(0, D // 2).get_reg_layout())
    high = gl.full([M], -float("inf"), gl.float32, gl.SliceLayout(1, layout))
    total = gl.full([M], 0.0, gl.float32, gl.SliceLayout(1, layout))
    for i in range(steps):
        mbarrier.wait(p.scored, i & 1)
        scores = p.scores.load(layout)
        higher = gl.maximum(high, gl.max(scores, 1))
        factors = gl.exp2(high - higher)
        weights = gl.exp2(blackwell.fma2(scores, 1.0, -higher[:, None]))
        total = total * factors + gl.sum(weights, 1)
        high = higher
        p.factors().store(gl.convert_layout(factors.expand_dims(1), column))
        p.weights().store(gl.convert_layout(weights.to(gl.float16), p.weights().get_reg_layout()))
        if i > 0:
            mbarrier.wait(p.added, (i - 1) & 1)
            for half in gl.static_range(2):
                sums = p.sums.slice(half * (D // 2), D // 2)
                by = gl.convert_layout(p.factors().load(column).reshape([M]), rows)
                sums.store(blackwell.mul2(sums.load(), by[:, None]))
        mbarrier.arrive(p.weighed, count=1)
    mbarrier.wait(p.added, (steps - 1) & 1)
    flat: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0])
    line: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    row = gl.program_id(0) * M
    gl.store(out_ptr + row * D + places(M, D, flat), gl.convert_layout(p.sums.load(), flat))
    gl.store(total_ptr + row + gl.arange(0, M, line), gl.convert_layout(total, line))


@triton_runner.jit
@gluon.jit
def attention(q_desc, k_desc, v_desc, out_ptr, total_ptr):
    M: gl.constexpr = q_desc.block_shape[0]
    N: gl.constexpr = k_desc.block_shape[0]
    D: gl.constexpr = v_desc.block_shape[1]
    p = Attention(
        q_desc, k_desc, v_desc, gl.allocate_shared_memory(q_desc.dtype, q_desc.block_shape, q_desc.layout),
        ring(k_desc, 2), ring(v_desc, 2), barriers(3), barriers(2),
        blackwell.allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1)),
        blackwell.allocate_tensor_memory(gl.float32, [M, D], TensorMemoryLayout([M, D], 1)),
        barriers(1).index(0), barriers(1).index(0), barriers(1).index(0),
    )  # fmt: skip
    steps = gl.cdiv(k_desc.shape[0], N)
    gl.warp_specialize(
        [(weigh, (p, out_ptr, total_ptr, steps)), (load_heads, (p, steps)), (multiply_heads, (p, steps))],
        [1, 1],
        [24, 24],
    )


@pytest.mark.parametrize("warps", [4, 8])
def test_attention(warps, level):
    q, k, v = torch.zeros(256, 64, dtype=torch.float16), whole(160, 64, top=2), whole(160, 64, top=3)
    q[:, :4] = whole(256, 4, top=1)  # scores of at most 8: weights are powers of two that f16 has
    out, total = torch.zeros(256, 64), torch.zeros(256)
    descs = described(q, (128, 64)), described(k, (32, 64)), described(v, (32, 64))
    launch(level, attention, (2,), *descs, out, total, target="cuda:100", num_warps=warps)
    scores = q.float() @ k.float().T
    weights = torch.exp2(scores - scores.amax(1, keepdim=True))
    assert torch.equal(total, weights.sum(1))
    assert torch.equal(out, weights @ v.float())
