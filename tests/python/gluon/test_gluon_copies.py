"""Tests Gluon's asynchronous copies, cp.async of Ampere and TMA of Hopper: rings of buffers, barriers,
edges, types, ranks, padding, updates in global memory."""

import pytest
from kernels_for_gluon import (
    ELEMENTS,
    LEVELS,
    TensorDescriptor,
    barriers,
    described,
    gl,
    gluon,
    hopper,
    launch,
    mbarrier,
    places,
    tma,
    torch,
    triton_runner,
    whole,
)

copies = hopper.async_copy
pytestmark = pytest.mark.parametrize("level", LEVELS)


@gluon.jit
def fetch(ring, step, x_ptr, rows, columns, height, width, STEP: gl.constexpr, DEPTH: gl.constexpr):
    at = step * STEP + columns
    inside = (rows < height)[:, None] & (at < width)[None, :]
    copies.async_load(ring.index(step % DEPTH), x_ptr + rows[:, None] * width + at[None, :], mask=inside)


@triton_runner.jit
@gluon.jit
def add_by_copies(x_ptr, y_ptr, out_ptr, height, width, DEPTH: gl.constexpr, shared: gl.constexpr):
    ROWS: gl.constexpr = 16
    STEP: gl.constexpr = 64
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [2, 2], [1, 0])
    rows = gl.program_id(0) * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, layout))
    columns = gl.arange(0, STEP, gl.SliceLayout(0, layout))
    x_ring = gl.allocate_shared_memory(x_ptr.dtype.element_ty, [DEPTH, ROWS, STEP], shared)
    y_ring = gl.allocate_shared_memory(y_ptr.dtype.element_ty, [DEPTH, ROWS, STEP], shared)
    for ahead in gl.static_range(DEPTH - 1):
        fetch(x_ring, ahead, x_ptr, rows, columns, height, width, STEP, DEPTH)
        fetch(y_ring, ahead, y_ptr, rows, columns, height, width, STEP, DEPTH)
        copies.commit_group()
    for step in range(gl.cdiv(width, STEP)):
        fetch(x_ring, step + DEPTH - 1, x_ptr, rows, columns, height, width, STEP, DEPTH)
        fetch(y_ring, step + DEPTH - 1, y_ptr, rows, columns, height, width, STEP, DEPTH)
        copies.commit_group()
        copies.wait_group(DEPTH - 1)
        total = x_ring.index(step % DEPTH).load(layout) + y_ring.index(step % DEPTH).load(layout)
        at = step * STEP + columns
        inside = (rows < height)[:, None] & (at < width)[None, :]
        gl.store(out_ptr + rows[:, None] * width + at[None, :], total, mask=inside)
    copies.wait_group(0)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize("depth, swizzle", [(1, (1, 1, 1)), (2, (4, 2, 4)), (3, (4, 1, 8))])
def test_a_ring_of_copies(depth, swizzle, target, level):
    x, y = torch.randn(37, 150), torch.randn(37, 150)
    out = torch.zeros_like(x)
    shared = gl.SwizzledSharedLayout(*swizzle, [1, 0])
    launch(level, add_by_copies, (3,), x, y, out, 37, 150, depth, shared, target=target)
    assert torch.equal(out, x + y)


@triton_runner.jit
@gluon.jit
def copy_by_barrier(x_ptr, out_ptr, n, BLOCK: gl.constexpr):
    line: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, line)
    buffer = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    copies.async_load(buffer, x_ptr + at, mask=at < n)
    copies.mbarrier_arrive(here)
    mbarrier.arrive(here)
    mbarrier.wait(here, 0)
    mbarrier.invalidate(here)
    gl.store(out_ptr + at, buffer.load(line), mask=at < n)


def test_copies_that_arrive_at_a_barrier(level):
    x = torch.randn(1500)
    out = torch.zeros_like(x)
    launch(level, copy_by_barrier, (3,), x, out, 1500, 512)
    assert torch.equal(out, x)


# TMA


@triton_runner.jit
@gluon.jit
def copy_block(x_desc, out_desc, at, to):
    """One block through shared memory. A store does not begin before its tensor: the hardware faults."""
    buffer = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_shape, x_desc.layout)
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    mbarrier.expect(here, x_desc.nbytes_per_cta)
    tma.async_load(x_desc, at, here, buffer)
    mbarrier.wait(here, 0)
    mbarrier.invalidate(here)
    tma.async_store(out_desc, to, buffer)
    tma.store_wait(0)


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize(
    "at", [(0,), (32,), (3, 32), (2, 1, 0), (1, 0, 2, 32), (0, 1, 0, 1, 16), (1, -2, 1, 1, -16)]
)
def test_a_block_at_the_edge(at, dtype, level):
    rank = len(at)
    shape, block = (2, 3, 3, 5, 48)[-rank:], (2, 2, 2, 4, 32)[-rank:]
    x = whole(*shape, dtype=dtype)
    out = torch.zeros(shape).to(dtype)
    descs = [described(t, block) for t in (x, out)]
    to = tuple(max(a, 0) for a in at)
    launch(level, copy_block, (1,), *descs, at, to, num_warps=1)
    # As far as the block lies in x, and goes into out.
    sizes = [max(0, min(b - (t - a), n - t)) for a, t, b, n in zip(at, to, block, shape, strict=True)]
    found = torch.zeros(block)
    found[tuple(slice(t - a, t - a + n) for a, t, n in zip(at, to, sizes, strict=True))] = x.float()[
        tuple(slice(t, t + n) for t, n in zip(to, sizes, strict=True))
    ]
    expected = torch.zeros(shape)
    room = tuple(slice(0, min(b, n - t)) for t, b, n in zip(to, block, shape, strict=True))
    expected[tuple(slice(t, t + b) for t, b in zip(to, block, strict=True))] = found[room]
    assert torch.equal(out.float(), expected)


@gluon.jit
def fetch_pair(step, x_desc, y_desc, row, x_ring, y_ring, ready, pred):
    DEPTH: gl.constexpr = x_ring.shape[0]
    here = ready.index(step % DEPTH)
    mbarrier.expect(here, x_desc.nbytes_per_cta + y_desc.nbytes_per_cta, pred=pred)
    tma.async_load(x_desc, [row, step * x_ring.shape[2]], here, x_ring.index(step % DEPTH), pred)
    tma.async_load(y_desc, [row, step * x_ring.shape[2]], here, y_ring.index(step % DEPTH), pred)


@triton_runner.jit
@gluon.jit
def add_by_tma(x_desc, y_desc, out_desc, DEPTH: gl.constexpr):
    ROWS: gl.constexpr = x_desc.block_shape[0]
    STEP: gl.constexpr = x_desc.block_shape[1]
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    row = gl.program_id(0) * ROWS
    steps = gl.cdiv(x_desc.shape[1], STEP)
    x_ring = gl.allocate_shared_memory(x_desc.dtype, [DEPTH, ROWS, STEP], x_desc.layout)
    y_ring = gl.allocate_shared_memory(y_desc.dtype, [DEPTH, ROWS, STEP], y_desc.layout)
    sums = gl.allocate_shared_memory(out_desc.dtype, [ROWS, STEP], out_desc.layout)
    ready = barriers(DEPTH)
    for ahead in gl.static_range(DEPTH - 1):
        fetch_pair(ahead, x_desc, y_desc, row, x_ring, y_ring, ready, ahead < steps)
    for step in range(steps):
        later = step + DEPTH - 1
        fetch_pair(later, x_desc, y_desc, row, x_ring, y_ring, ready, later < steps)
        mbarrier.wait(ready.index(step % DEPTH), step // DEPTH & 1)
        total = x_ring.index(step % DEPTH).load(layout) + y_ring.index(step % DEPTH).load(layout)
        tma.store_wait(0)
        sums.store(total)
        hopper.fence_async_shared()
        tma.async_store(out_desc, [row, step * STEP], sums)
    for i in gl.static_range(DEPTH):
        mbarrier.invalidate(ready.index(i))
    tma.store_wait(0)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("height, width", [(70, 200), (33, 32)])
def test_a_ring_of_tma(height, width, depth, level):
    x, y = torch.randn(height, width), torch.randn(height, width)
    out = torch.zeros_like(x)
    descs = [described(t, [32, 64]) for t in (x, y, out)]
    launch(level, add_by_tma, (-(-height // 32),), *descs, depth)
    assert torch.equal(out, x + y)


@triton_runner.jit
@gluon.jit
def update(x_desc, out_desc, OP: gl.constexpr):
    buffer = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_shape, x_desc.layout)
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    mbarrier.expect(here, x_desc.nbytes_per_cta)
    tma.async_load(x_desc, [gl.program_id(0) * x_desc.block_shape[0], 0], here, buffer)
    mbarrier.wait(here, 0)
    if OP == "add":
        tma.async_atomic_add(out_desc, [0, 0], buffer)
    elif OP == "min":
        tma.async_atomic_min(out_desc, [0, 0], buffer)
    elif OP == "max":
        tma.async_atomic_max(out_desc, [0, 0], buffer)
    elif OP == "and":
        tma.async_atomic_and(out_desc, [0, 0], buffer)
    elif OP == "or":
        tma.async_atomic_or(out_desc, [0, 0], buffer)
    else:
        tma.async_atomic_xor(out_desc, [0, 0], buffer)
    tma.store_wait(0, read_only=False)


UPDATES = {
    "add": torch.add,
    "min": torch.minimum,
    "max": torch.maximum,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
}
UPDATED = [(op, torch.int32) for op in UPDATES]
UPDATED += [(op, dtype) for op in ("add", "min", "max") for dtype in (torch.float16, torch.bfloat16)]


@pytest.mark.parametrize("op, dtype", [*UPDATED, ("add", torch.float32)])
def test_updates_in_global_memory(op, dtype, level):
    x, out = whole(64, 32, dtype=dtype, top=30), whole(16, 32, dtype=dtype, top=30)
    expected = out
    for part in x.split(16):
        expected = UPDATES[op](expected, part)
    with triton_runner.using(target="cuda:90", level=level):
        update[(4,)](described(x, [16, 32]), described(out, [16, 32]), op)
    assert torch.equal(out, expected)


@triton_runner.jit
@gluon.jit
def copy_of_pointers(x_ptr, out_ptr, M, N, B: gl.constexpr, PADDING: gl.constexpr):
    of_b: gl.constexpr = gl.NVMMASharedLayout.get_default_for([B, B], gl.float32)
    x_desc = tma.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [B, B], of_b, padding_option=PADDING)
    out_desc = tma.make_tensor_descriptor(out_ptr, [2 * B, 2 * B], [2 * B, 1], [B, B], of_b)
    buffer = gl.allocate_shared_memory(gl.float32, [B, B], of_b)
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    mbarrier.expect(here, x_desc.nbytes_per_cta)
    policy: gl.constexpr = hopper.CachePolicy(l2=hopper.FractionalEvictionPolicy("evict_first", 0.5))
    at = [gl.program_id(0) * B, gl.program_id(1) * B]
    tma.async_load(x_desc, at, here, buffer, cache_policy=policy)
    mbarrier.wait(here, 0)
    tma.async_store(out_desc, at, buffer)
    tma.store_wait(0)


@pytest.mark.parametrize("padding, value", [("zero", 0.0), ("nan", float("nan"))])
def test_descriptors_made_in_the_kernel(padding, value, level):
    x, out = torch.randn(50, 60), torch.zeros(64, 64)
    launch(level, copy_of_pointers, (2, 2), x, out, 50, 60, 32, padding)
    expected = torch.full((64, 64), value)
    expected[:50, :60] = x
    assert torch.equal(out.nan_to_num(nan=99.0), expected.nan_to_num(nan=99.0))


@triton_runner.jit
@gluon.jit
def padded_block(x_desc, out_ptr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    buffer = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_shape, x_desc.layout)
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    mbarrier.expect(here, x_desc.nbytes_per_cta)
    tma.async_load(x_desc, [-4, -8], here, buffer)
    mbarrier.wait(here, 0)
    at = places(x_desc.block_shape[0], x_desc.block_shape[1], layout)
    gl.store(out_ptr + at, buffer.load(layout))


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("padding, value", [("zero", 0.0), ("nan", float("nan"))])
def test_what_the_host_asks_for(padding, value, rounds, level):
    x, out = torch.randn(20, 40), torch.zeros(32, 64)
    layout = gl.NVMMASharedLayout.get_default_for([32, 64], gl.float32)
    how = {"padding": padding, "round_f32_to_tf32": rounds}
    launch(level, padded_block, (1,), TensorDescriptor.from_tensor(x, [32, 64], layout, **how), out)
    bits = x.view(torch.int32)
    rounded = (bits + 0xFFF + (bits >> 13 & 1) & ~0x1FFF).view(torch.float32)
    expected = torch.full((32, 64), value)
    expected[4:24, 8:48] = rounded if rounds else x
    assert torch.equal(out.nan_to_num(nan=99.0), expected.nan_to_num(nan=99.0))
