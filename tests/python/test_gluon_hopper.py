"""Gluon kernels for Ampere and Hopper: asynchronous copies, TMA, wgmma, persistent and warp-specialised kernels, on both
engines against torch, bit for bit (whole numbers, whose sums are exact in any order); and clean under the checks."""

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
gluon = pytest.importorskip("triton.experimental.gluon")
import triton_runner  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

hopper = pytest.importorskip("triton.experimental.gluon.language.nvidia.hopper")
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor  # noqa: E402

tma, mbarrier = hopper.tma, hopper.mbarrier
if not hasattr(tma, "async_load"):
    pytest.skip("tma.async_load came with Triton 3.9", allow_module_level=True)

LEVELS = ["ttgir", "ptx"]


def whole(*shape, dtype=torch.float16, top=4):
    return torch.randint(-top, top + 1, shape).to(dtype)


def described(tensor, block, element=None):
    names = {
        torch.float16: gl.float16,
        torch.float32: gl.float32,
        torch.int8: gl.int8,
        torch.bfloat16: gl.bfloat16,
    }
    layout = gl.NVMMASharedLayout.get_default_for(block, element or names[tensor.dtype])
    return TensorDescriptor.from_tensor(tensor, block, layout)


def run(level, kernel, grid, *args, target="cuda:90", check=False, **options):
    """One launch; with `check` two more of the tile engine's, which look for races and run in an odd order."""
    with triton_runner.using(target=target, level=level):
        compiled = kernel[grid](*args, **options)
    if check and level == "ttgir":
        with triton_runner.using(target=target, level=level, check="race,uninit"):
            kernel[grid](*args, **options)
        with triton_runner.using(target=target, level=level, shuffle=1):
            kernel[grid](*args, **options)
    return compiled


# Ampere: cp.async in a ring of buffers


@gluon.jit
def fetch_rows(ring, step, x_ptr, rows, columns, height, width, STEP: gl.constexpr, DEPTH: gl.constexpr):
    at = step * STEP + columns
    inside = (rows < height)[:, None] & (at < width)[None, :]
    hopper.async_copy.async_load(
        ring.index(step % DEPTH), x_ptr + rows[:, None] * width + at[None, :], mask=inside
    )


@triton_runner.jit
@gluon.jit
def add_by_copies(
    x_ptr, y_ptr, out_ptr, height, width, ROWS: gl.constexpr, STEP: gl.constexpr, DEPTH: gl.constexpr,
    layout: gl.constexpr, shared: gl.constexpr,
):  # fmt: skip
    rows = gl.program_id(0) * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, layout))
    columns = gl.arange(0, STEP, gl.SliceLayout(0, layout))
    x_ring = gl.allocate_shared_memory(x_ptr.dtype.element_ty, [DEPTH, ROWS, STEP], shared)
    y_ring = gl.allocate_shared_memory(y_ptr.dtype.element_ty, [DEPTH, ROWS, STEP], shared)
    for ahead in gl.static_range(DEPTH - 1):
        fetch_rows(x_ring, ahead, x_ptr, rows, columns, height, width, STEP, DEPTH)
        fetch_rows(y_ring, ahead, y_ptr, rows, columns, height, width, STEP, DEPTH)
        hopper.async_copy.commit_group()
    for step in range(gl.cdiv(width, STEP)):
        fetch_rows(x_ring, step + DEPTH - 1, x_ptr, rows, columns, height, width, STEP, DEPTH)
        fetch_rows(y_ring, step + DEPTH - 1, y_ptr, rows, columns, height, width, STEP, DEPTH)
        hopper.async_copy.commit_group()
        hopper.async_copy.wait_group(DEPTH - 1)
        total = x_ring.index(step % DEPTH).load(layout) + y_ring.index(step % DEPTH).load(layout)
        at = step * STEP + columns
        inside = (rows < height)[:, None] & (at < width)[None, :]
        gl.store(out_ptr + rows[:, None] * width + at[None, :], total, mask=inside)
    hopper.async_copy.wait_group(0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize(
    "depth, shared",
    [
        (1, gl.SwizzledSharedLayout(1, 1, 1, [1, 0])),
        (2, gl.SwizzledSharedLayout(4, 2, 4, [1, 0])),
        (3, gl.SwizzledSharedLayout(4, 1, 8, [1, 0])),
    ],
)
def test_copies_in_a_ring(depth, shared, target, level):
    x, y = torch.randn(37, 150), torch.randn(37, 150)
    out = torch.zeros_like(x)
    layout = gl.BlockedLayout([1, 1], [1, 32], [2, 2], [1, 0])
    run(
        level,
        add_by_copies,
        (3,),
        x,
        y,
        out,
        37,
        150,
        16,
        64,
        depth,
        layout,
        shared,
        target=target,
        check=True,
    )
    assert torch.equal(out, x + y)


@triton_runner.jit
@gluon.jit
def copy_by_barrier(x_ptr, out_ptr, n, BLOCK: gl.constexpr):
    line: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, line)
    buffer = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    hopper.async_copy.async_load(buffer, x_ptr + at, mask=at < n)
    hopper.async_copy.mbarrier_arrive(here)
    mbarrier.arrive(here)
    mbarrier.wait(here, 0)
    mbarrier.invalidate(here)
    gl.store(out_ptr + at, buffer.load(line), mask=at < n)


@pytest.mark.parametrize("level", LEVELS)
def test_copies_that_arrive_at_a_barrier(level):
    x = torch.randn(1500)
    out = torch.zeros_like(x)
    run(level, copy_by_barrier, (3,), x, out, 1500, 512, check=True)
    assert torch.equal(out, x)


# TMA


@triton_runner.jit
@gluon.jit
def copy_line(x_desc, out_desc, BLOCK: gl.constexpr):
    at = gl.program_id(0) * BLOCK
    buffer = gl.allocate_shared_memory(x_desc.dtype, [BLOCK], x_desc.layout)
    here = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(here, count=1)
    mbarrier.expect(here, x_desc.nbytes_per_cta)
    tma.async_load(x_desc, [at], here, buffer)
    mbarrier.wait(here, 0)
    mbarrier.invalidate(here)
    tma.async_store(out_desc, [at], buffer)
    tma.store_wait(0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [40, 500])
def test_a_line_by_tma(n, level):
    x = torch.randn(n)
    out = torch.zeros(n + 8)[:n]
    run(
        level,
        copy_line,
        (triton.cdiv(n, 64),),
        described(x, [64]),
        described(out, [64]),
        64,
        num_warps=1,
        check=True,
    )
    assert torch.equal(out, x)


@gluon.jit
def fetch_pair(
    step, x_desc, y_desc, row, STEP: gl.constexpr, x_ring, y_ring, ready, DEPTH: gl.constexpr, pred
):
    here = ready.index(step % DEPTH)
    mbarrier.expect(here, x_desc.nbytes_per_cta + y_desc.nbytes_per_cta, pred=pred)
    tma.async_load(x_desc, [row, step * STEP], here, x_ring.index(step % DEPTH), pred)
    tma.async_load(y_desc, [row, step * STEP], here, y_ring.index(step % DEPTH), pred)


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
    ready = mbarrier.allocate_mbarrier(batch=DEPTH)
    for i in gl.static_range(DEPTH):
        mbarrier.init(ready.index(i), count=1)
    for ahead in gl.static_range(DEPTH - 1):
        fetch_pair(ahead, x_desc, y_desc, row, STEP, x_ring, y_ring, ready, DEPTH, ahead < steps)
    for step in range(steps):
        later = step + DEPTH - 1
        fetch_pair(later, x_desc, y_desc, row, STEP, x_ring, y_ring, ready, DEPTH, later < steps)
        mbarrier.wait(ready.index(step % DEPTH), step // DEPTH & 1)
        total = x_ring.index(step % DEPTH).load(layout) + y_ring.index(step % DEPTH).load(layout)
        tma.store_wait(0)
        sums.store(total)
        hopper.fence_async_shared()
        tma.async_store(out_desc, [row, step * STEP], sums)
    for i in gl.static_range(DEPTH):
        mbarrier.invalidate(ready.index(i))
    tma.store_wait(0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("height, width", [(70, 200), (33, 32)])
def test_a_sum_by_tma(height, width, depth, level):
    x, y = torch.randn(height, width), torch.randn(height, width)
    out = torch.zeros_like(x)
    descs = [described(t, [32, 64]) for t in (x, y, out)]
    run(level, add_by_tma, (triton.cdiv(height, 32),), *descs, depth, check=True)
    assert torch.equal(out, x + y)


# wgmma


@triton_runner.jit
@gluon.jit
def small_product(
    a_desc, b_desc, c_desc, out_desc, FROM_REGISTERS: gl.constexpr, ASYNC: gl.constexpr, of_c: gl.constexpr,
):  # fmt: skip
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_shape, c_desc.layout)
    here = mbarrier.allocate_mbarrier()
    mbarrier.init(here, count=1)
    mbarrier.expect(here, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta + c_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], here, a)
    tma.async_load(b_desc, [0, 0], here, b)
    tma.async_load(c_desc, [0, 0], here, c)
    mbarrier.wait(here, 0)
    mbarrier.invalidate(here)
    if FROM_REGISTERS:
        left = a.load(gl.DotOperandLayout(0, of_c, 32 // a_desc.dtype.primitive_bitwidth))
    else:
        left = a
    out = hopper.warpgroup_mma(left, b, c.load(of_c), is_async=ASYNC)
    if ASYNC:
        out = hopper.warpgroup_mma_wait(num_outstanding=0, deps=(out,))
    result = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_shape, out_desc.layout)
    result.store(out)
    hopper.fence_async_shared()
    tma.async_store(out_desc, [0, 0], result)
    tma.store_wait(0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("from_registers", [False, True])
@pytest.mark.parametrize(
    "shape, instruction, warps, dtype",
    [
        ((64, 32, 32), 16, [4, 1], torch.float16),
        ((64, 256, 128), 64, [4, 1], torch.float16),
        ((64, 256, 64), 256, [4, 1], torch.bfloat16),
        ((64, 64, 32), 32, [4, 2], torch.float16),
        ((128, 64, 64), 64, [8, 1], torch.float16),
    ],
)
def test_a_small_product(shape, instruction, warps, dtype, from_registers, level):
    m, n, k = shape
    torch.manual_seed(0)
    a, b, c = whole(m, k, dtype=dtype), whole(k, n, dtype=dtype), whole(m, n, dtype=torch.float32, top=99)
    out = torch.zeros_like(c)
    args = [described(t, list(t.shape)) for t in (a, b, c, out)]
    of_c = gl.NVMMADistributedLayout([3, 0], warps, [16, instruction, 16])
    wait_for_it = not from_registers or n < 64
    options = dict(num_warps=warps[0] * warps[1], check=True)
    compiled = run(level, small_product, (1,), *args, from_registers, wait_for_it, of_c, **options)
    if level == "ptx":
        assert f"wgmma.mma_async.sync.aligned.m64n{instruction}k16" in compiled.asm["ptx"]
    assert torch.equal(out, a.float() @ b.float() + c)


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
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [DEPTH] + a_desc.block_shape, a_desc.layout)
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [DEPTH] + b_desc.block_shape, b_desc.layout)
    result = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_shape, out_desc.layout)
    ready = mbarrier.allocate_mbarrier(batch=DEPTH)
    for i in gl.static_range(DEPTH):
        mbarrier.init(ready.index(i), count=1)
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


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("depth, warps", [(3, 4), (4, 8)])
def test_a_persistent_product(depth, warps, level):
    torch.manual_seed(0)
    a, b, out = whole(200, 96), whole(96, 136), torch.zeros(200, 136, dtype=torch.float16)
    descs = [
        described(t, block) for t, block in ((a, [16 * warps, 32]), (b, [32, 64]), (out, [16 * warps, 64]))
    ]
    run(level, persistent_product, (3,), *descs, depth, num_warps=warps, check=True)
    assert torch.equal(out.float(), a.float() @ b.float())


# Warp specialisation


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


@gluon.jit
def barriers(DEPTH: gl.constexpr, count: gl.constexpr = 1):
    made = mbarrier.allocate_mbarrier(batch=DEPTH)
    for i in gl.static_range(DEPTH):
        mbarrier.init(made.index(i), count=count)
    return made


@triton_runner.jit
@gluon.jit
def add_by_partitions(x_desc, y_desc, out_desc, IN: gl.constexpr, OUT: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, num_warps], [1, 0])
    rings = (
        gl.allocate_shared_memory(x_desc.dtype, [IN] + x_desc.block_shape, x_desc.layout),
        gl.allocate_shared_memory(y_desc.dtype, [IN] + y_desc.block_shape, y_desc.layout),
        gl.allocate_shared_memory(out_desc.dtype, [OUT] + out_desc.block_shape, out_desc.layout),
    )
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


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("ins, outs, warps", [(1, 1, 4), (2, 2, 4), (3, 2, 8)])
def test_a_sum_by_partitions(ins, outs, warps, level):
    x, y = torch.randn(70, 200), torch.randn(70, 200)
    out = torch.zeros_like(x)
    descs = [described(t, [32, 64]) for t in (x, y, out)]
    run(level, add_by_partitions, (3,), *descs, ins, outs, num_warps=warps, maxnreg=128, check=True)
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
def product_sums(out_desc, result, a_ring, b_ring, full, empty, tiles, tiles_m, k_steps, of_c: gl.constexpr):
    DEPTH: gl.constexpr = a_ring.shape[0]
    count = 0
    for own in range(tiles):
        acc = gl.zeros(out_desc.block_shape, gl.float32, of_c)
        for _ in range(k_steps):
            mbarrier.wait(full.index(count % DEPTH), count // DEPTH & 1)
            b = b_ring.index(count % DEPTH).permute((1, 0))
            acc = hopper.warpgroup_mma(a_ring.index(count % DEPTH), b, acc, is_async=True)
            acc = hopper.warpgroup_mma_wait(1, deps=(acc,))
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
def product_by_partitions(a_desc, b_desc, out_desc, DEPTH: gl.constexpr, of_c: gl.constexpr):
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [DEPTH] + a_desc.block_shape, a_desc.layout)
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [DEPTH] + b_desc.block_shape, b_desc.layout)
    result = gl.allocate_shared_memory(out_desc.dtype, out_desc.block_shape, out_desc.layout)
    full = barriers(DEPTH)
    empty = barriers(DEPTH)
    tiles_m = gl.cdiv(out_desc.shape[0], out_desc.block_shape[0])
    tiles_n = gl.cdiv(out_desc.shape[1], out_desc.block_shape[1])
    tiles = gl.cdiv(tiles_m * tiles_n - gl.program_id(0), gl.num_programs(0))
    k_steps = gl.cdiv(a_desc.shape[1], a_desc.block_shape[1])
    gl.warp_specialize(
        [
            (product_sums, (out_desc, result, a_ring, b_ring, full, empty, tiles, tiles_m, k_steps, of_c)),
            (product_loads, (a_desc, b_desc, a_ring, b_ring, full, empty, tiles, tiles_m, k_steps)),
        ],
        [1],
        [24],
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("depth, warps", [(2, 4), (3, 8)])
def test_a_product_by_partitions(depth, warps, level):
    torch.manual_seed(0)
    a, b, out = whole(200, 96), whole(136, 96), torch.zeros(200, 136)
    descs = [
        described(t, block) for t, block in ((a, [16 * warps, 32]), (b, [64, 32]), (out, [16 * warps, 64]))
    ]
    of_c = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, 64, 16])
    run(level, product_by_partitions, (3,), *descs, depth, of_c, num_warps=warps, check=True)
    assert torch.equal(out, a.float() @ b.float().T)
