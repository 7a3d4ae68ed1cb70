"""Tests Gluon's instructions for Blackwell, on both engines against torch, bit for bit: tensor memory,
tcgen05 products, copies, rows by TMA, packed arithmetic, and what a thread does with its own elements."""

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
    torch,
    triton_runner,
    whole,
)

pytestmark = pytest.mark.parametrize("level", LEVELS)


@gluon.constexpr_function
def flat_layout(warps):
    return gl.BlockedLayout([1, 4], [4, 8], [warps, 1], [1, 0])


# Tensor memory


@triton_runner.jit
@gluon.jit
def through_tensor_memory(
    x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr, form: gl.constexpr
):
    flat: gl.constexpr = flat_layout(gl.num_warps())
    x = gl.load(x_ptr + places(M, N, flat))
    tile = blackwell.allocate_tensor_memory(x.dtype, [M, N], layout)
    registers: gl.constexpr = tile.get_reg_layout(instr_variant=form)
    tile.store(gl.convert_layout(x, registers))
    gl.store(out_ptr + places(M, N, flat), gl.convert_layout(tile.load(), flat))


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize(
    "shape, block, dtype, stride, form",
    [
        ((128, 64), (128, 32), torch.float32, 1, "32x32b"),
        ((128, 64), (128, 64), torch.float32, 1, "32x32b_splitn"),
        ((128, 64), (128, 64), torch.float32, 1, "16x256b"),
        ((64, 64), (64, 64), torch.float32, 1, "16x64b"),
        ((64, 64), (64, 64), torch.float32, 1, "16x128b"),
        ((256, 64), (64, 32), torch.float32, 1, "32x32b"),
        ((128, 64), (128, 64), torch.float16, 1, "16x128b"),
        ((128, 64), (128, 64), torch.float16, 2, "32x32b"),
        ((128, 64), (128, 64), torch.int8, 4, "32x32b"),
        ((128, 1), (128, 1), torch.float32, 1, "32x32b"),
    ],
)
def test_through_tensor_memory(shape, block, dtype, stride, form, warps, level):
    x = (torch.arange(shape[0] * shape[1]).reshape(shape) % 251 - 120).to(dtype)
    out = torch.zeros_like(x)
    layout = TensorMemoryLayout(block, stride)
    launch(
        level, through_tensor_memory, (1,), x, out, *shape, layout, form, target="cuda:100", num_warps=warps
    )
    assert torch.equal(out, x)


@triton_runner.jit
@gluon.jit
def parts(x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr):
    flat: gl.constexpr = flat_layout(gl.num_warps())
    at = places(M, N, flat)
    ring = blackwell.allocate_tensor_memory(gl.float32, [2, M, N], TensorMemoryLayout([M, N], 1))
    for i in range(2):
        tile = ring.index(i)
        tile.store(gl.convert_layout(gl.load(x_ptr + i * M * N + at), tile.get_reg_layout()))
    first, second = ring.index(0), ring.slice(1, 1, dim=0).index(0)
    # Halves of both, columns that begin anywhere, 16-bit numbers in the place of a half, one column.
    halves = first.slice(N // 2, N // 2).load() + second.slice(0, N // 2).load()
    middle = second.slice(N // 8, N // 2).load()
    halfwords = first.slice(0, N // 2).reinterpret(gl.float16, [M, N], TensorMemoryLayout([M, N], 1))
    x = gl.load(x_ptr + M * N + at).to(gl.float16)
    halfwords.store(gl.convert_layout(x, halfwords.get_reg_layout()))
    column = second.slice(N // 2 + 1, 1).reinterpret(gl.float32, [M, 1], TensorMemoryLayout([M, 1], 1))
    column.store(gl.full([M, 1], 77.0, gl.float32, column.get_reg_layout()))
    half = places(M, N // 2, flat)
    gl.store(out_ptr + half, gl.convert_layout(halves, flat))
    gl.store(out_ptr + M * N // 2 + half, gl.convert_layout(middle, flat))
    gl.store(out_ptr + M * N + at, gl.convert_layout(halfwords.load(), flat).to(gl.float32))
    gl.store(out_ptr + 2 * M * N + at, gl.convert_layout(second.load(), flat))
    gl.store(out_ptr + 3 * M * N + half, gl.convert_layout(first.slice(N // 2, N // 2).load(), flat))


@pytest.mark.parametrize("M", [64, 128])
def test_parts_of_tensor_memory(M, level):
    N = 64
    x, out = whole(2, M, N, dtype=torch.float32, top=99), torch.zeros(4 * M * N)
    launch(level, parts, (1,), x, out, M, N, target="cuda:100")
    with_column = x[1].clone()
    with_column[:, N // 2 + 1] = 77
    wanted = [x[0, :, 32:] + x[1, :, :32], x[1, :, 8:40], x[1], with_column, x[0, :, 32:]]
    assert torch.equal(out[: sum(w.numel() for w in wanted)], torch.cat([w.flatten() for w in wanted]))


@triton_runner.jit
@gluon.jit
def extremes(x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, magnitudes: gl.constexpr):
    flat: gl.constexpr = flat_layout(gl.num_warps())
    tile = blackwell.allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    tile.store(gl.convert_layout(gl.load(x_ptr + places(M, N, flat)), tile.get_reg_layout()))
    x, low = tile.load_min(abs=magnitudes)
    y, high = tile.load_max(abs=magnitudes)
    line: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    at = gl.arange(0, M, line)
    gl.store(out_ptr + at, gl.convert_layout(low, line))
    gl.store(out_ptr + M + at, gl.convert_layout(high, line))
    gl.store(out_ptr + 2 * M + at, gl.convert_layout(gl.sum(x + y, 1), line))


@pytest.mark.parametrize("magnitudes", [False, True])
def test_loads_that_reduce(magnitudes, level):
    x, out = whole(128, 64, dtype=torch.float32, top=999), torch.zeros(3, 128)
    launch(level, extremes, (1,), x, out, *x.shape, magnitudes, target="cuda:103")
    y = x.abs() if magnitudes else x
    assert torch.equal(out, torch.stack([y.amin(1), y.amax(1), 2 * x.sum(1)]))


# Products


@triton_runner.jit
@gluon.jit
def product(a_desc, b_desc, c_desc, out_desc, a_in_tensor_memory: gl.constexpr, commits: gl.constexpr):
    M: gl.constexpr = c_desc.block_shape[0]
    N: gl.constexpr = c_desc.block_shape[1]
    K: gl.constexpr = a_desc.block_shape[1]
    block: gl.constexpr = [min(M, 128), N]
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_shape, c_desc.layout)
    loaded, done = barriers(1).index(0), barriers(1).index(0)
    mbarrier.expect(loaded, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta + c_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], loaded, a)
    tma.async_load(b_desc, [0, 0], loaded, b)
    tma.async_load(c_desc, [0, 0], loaded, c)
    mbarrier.wait(loaded, 0)
    sums = blackwell.allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout(block, 1))
    sums.store(c.load(sums.get_reg_layout()))
    left = a
    if a_in_tensor_memory:
        left = blackwell.allocate_tensor_memory(a_desc.dtype, [M, K], TensorMemoryLayout([block[0], K], 1))
        left.store(a.load(left.get_reg_layout()))
    if commits:
        blackwell.tcgen05_mma(left, b.permute((1, 0)), sums)
        blackwell.tcgen05_commit(done)
    else:
        blackwell.tcgen05_mma(left, b.permute((1, 0)), sums, mbarriers=[done], mbarrier_preds=[True])
    mbarrier.wait(done, 0)
    c.store(sums.load())
    blackwell.fence_async_shared()
    tma.async_store(out_desc, [0, 0], c)
    tma.store_wait(0)


@pytest.mark.parametrize(
    "shape, dtype, in_tensor_memory, commits",
    [
        ((128, 64, 64), torch.float16, False, False),
        ((64, 128, 64), torch.float16, False, True),
        ((256, 32, 32), torch.bfloat16, True, True),
        ((128, 128, 64), torch.float8_e5m2, True, False),
        ((256, 64, 32), torch.float32, False, True),
    ],
)
def test_a_product(shape, dtype, in_tensor_memory, commits, level):
    M, N, K = shape
    a, b, c = whole(M, K, dtype=dtype), whole(N, K, dtype=dtype), whole(M, N, dtype=torch.float32)
    out = torch.zeros_like(c)
    descs = [described(t, t.shape) for t in (a, b, c, out)]
    launch(level, product, (1,), *descs, in_tensor_memory, commits, target="cuda:100")
    assert torch.equal(out, a.float() @ b.float().T + c)


# Copies


@triton_runner.jit
@gluon.jit
def copy(x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, shared: gl.constexpr, layout: gl.constexpr):
    flat: gl.constexpr = flat_layout(gl.num_warps())
    x = gl.load(x_ptr + places(M, N, flat))
    source = gl.allocate_shared_memory(x.dtype, [M, N], shared, x)
    tile = blackwell.allocate_tensor_memory(x.dtype, [M, N], layout)
    done = barriers(1).index(0)
    blackwell.fence_async_shared()
    blackwell.tcgen05_copy(source, tile)
    blackwell.tcgen05_commit(done)
    mbarrier.wait(done, 0)
    gl.store(out_ptr + places(M, N, flat), gl.convert_layout(tile.load(), flat))


@pytest.mark.parametrize("M, N, width, swizzle", [(128, 32, 32, 128), (128, 64, 4, 32), (256, 64, 16, 64)])
def test_a_copy_into_tensor_memory(M, N, width, swizzle, level):
    x, out = torch.randn(M, N), torch.zeros(M, N)
    layouts = gl.NVMMASharedLayout(swizzle, 32, 2), TensorMemoryLayout((128, width), 1)
    launch(level, copy, (1,), x, out, M, N, *layouts, target="cuda:100")
    assert torch.equal(out, x)


@triton_runner.jit
@gluon.jit
def move_rows(
    from_desc, to_desc, from_ptr, to_ptr, column, to_column, ROWS: gl.constexpr, four: gl.constexpr
):
    line: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    sources = gl.convert_layout(gl.load(from_ptr + gl.arange(0, ROWS, line)), four)
    places = gl.convert_layout(gl.load(to_ptr + gl.arange(0, ROWS, line)), four)
    tile = gl.allocate_shared_memory(from_desc.dtype, [ROWS, from_desc.block_shape[1]], from_desc.layout)
    done = barriers(1).index(0)
    mbarrier.expect(done, ROWS * from_desc.nbytes_per_cta)
    tma.async_gather(from_desc, sources, column, done, tile)
    mbarrier.wait(done, 0)
    tma.async_scatter(to_desc, places, to_column, tile)
    tma.store_wait(0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int8])
@pytest.mark.parametrize(
    "rows, columns, at, every_warp", [(8, 32, 0, False), (32, 64, -16, True), (64, 128, 240, True)]
)
def test_rows_by_tma(rows, columns, at, every_warp, dtype, level):
    x, out = whole(48, 256, dtype=dtype, top=99), torch.zeros(80, 256, dtype=dtype)
    sources = torch.randint(-20, 68, (rows,), dtype=torch.int32)  # rows that are not there give zeros
    places = torch.randperm(100, dtype=torch.int32)[:rows].contiguous()  # and take nothing
    spread = gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, 4], [1, 0]))
    four = spread if every_warp else gl.BlockedLayout([rows], [32], [4], [0])
    layout = described(torch.zeros(rows, columns, dtype=dtype), (rows, columns)).layout
    descs = [TensorDescriptor.from_tensor(t, [1, columns], layout) for t in (x, out)]
    launch(level, move_rows, (1,), *descs, sources, places, at, 192, rows, four, target="cuda:100")
    wide, wanted = torch.zeros(88, 768, dtype=dtype), torch.zeros(100, 512, dtype=dtype)
    wide[20:68, 256:512] = x
    wanted[places.long(), 192 : 192 + columns] = wide[sources.long() + 20, 256 + at : 256 + at + columns]
    assert torch.equal(out, wanted[:80, :256])


# Arithmetic in pairs, and a thread's own elements


@triton_runner.jit
@gluon.jit
def pairs(x_ptr, y_ptr, z_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, extremes: gl.constexpr):
    flat: gl.constexpr = flat_layout(gl.num_warps())
    at = places(M, N, flat)
    x, y, z = gl.load(x_ptr + at), gl.load(y_ptr + at), gl.load(z_ptr + at)
    column = gl.load(z_ptr + N * gl.arange(0, M, gl.SliceLayout(1, flat)))
    gl.store(out_ptr + at, blackwell.add2(x, y))
    gl.store(out_ptr + M * N + at, blackwell.sub2(x, y))
    gl.store(out_ptr + 2 * M * N + at, blackwell.mul2(x, column[:, None]))
    gl.store(out_ptr + 3 * M * N + at, blackwell.fma2(x, y, z))
    gl.store(out_ptr + 4 * M * N + at, blackwell.fma2(x, 0.5, -column[:, None]))
    if extremes:
        gl.store(out_ptr + 5 * M * N + at, blackwell.min2(x, y))
        gl.store(out_ptr + 6 * M * N + at, blackwell.max2(x, y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_arithmetic_in_pairs(dtype, level):
    x, y, z = (whole(32, 64, dtype=dtype, top=9) for _ in range(3))
    halves = dtype != torch.float32
    wanted = [x + y, x - y, x * z[:, :1], x * y + z, x * 0.5 - z[:, :1]]
    if halves:
        wanted += [torch.minimum(x, y), torch.maximum(x, y)]
    out = torch.zeros(len(wanted), *x.shape, dtype=dtype)
    launch(level, pairs, (1,), x, y, z, out, *x.shape, halves, target="cuda:100")
    assert torch.equal(out, torch.stack(wanted))


@triton_runner.jit
@gluon.jit
def wider_pairs(x_ptr, y_ptr, z_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr):
    flat: gl.constexpr = flat_layout(gl.num_warps())
    at = places(M, N, flat)
    x, y, z = gl.load(x_ptr + at), gl.load(y_ptr + at), gl.load(z_ptr + at)
    gl.store(out_ptr + at, blackwell.add2(x, y))
    gl.store(out_ptr + M * N + at, blackwell.sub2(x, y))
    gl.store(out_ptr + 2 * M * N + at, blackwell.fma2(x, y, z))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_pairs_of_halves_beside_f32(dtype, level):
    x, y, z = whole(32, 64, dtype=dtype), torch.randn(32, 64), torch.randn(32, 64)
    out = torch.zeros(3, *x.shape)
    launch(level, wider_pairs, (1,), x, y, z, out, *x.shape, target="cuda:100")
    products = x.double() * y.double() + z.double()  # which f64 holds, so that they are rounded once
    assert torch.equal(out, torch.stack([x.float() + y, x.float() - y, products.float()]))


@gluon.constexpr_function
def columns_of_a_thread(layout):
    return 1 << sum(basis[1] != 0 for basis in layout.reg_bases)


@triton_runner.jit
@gluon.jit
def own_columns(x_ptr, sum_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    at = places(M, N, layout)
    x = gl.load(x_ptr + at)
    own: gl.constexpr = columns_of_a_thread(gl.to_linear_layout(layout, [M, N]))
    groups: gl.constexpr = N // own
    sums = gl.sum(x.reshape([M, groups, own]), axis=2)
    gl.store(sum_ptr + gl.arange(0, M)[:, None] * groups + gl.arange(0, groups)[None, :], sums)
    high = gl.convert_layout(gl.max(x, axis=1), gl.SliceLayout(1, layout), assert_trivial=True)
    gl.store(out_ptr + at, x - high.expand_dims(1))


@pytest.mark.parametrize("mine, across, own", [(8, 1, 32), (32, 1, 32), (2, 16, 2), (4, 4, 8)])
def test_sums_of_a_threads_own_columns(mine, across, own, level):
    x = torch.randint(-9, 10, (64, 32), dtype=torch.int32)
    sums, out = torch.zeros(64, 32 // own, dtype=torch.int32), torch.zeros_like(x)
    layout = gl.BlockedLayout([1, mine], [32 // across, across], [4, 1], [1, 0])
    launch(level, own_columns, (1,), x, sums, out, *x.shape, layout, target="cuda:100")
    assert torch.equal(sums, x.reshape(64, -1, own).sum(2, dtype=torch.int32))
    assert torch.equal(out, x - x.amax(1, keepdim=True))


@gluon.jit
def below(x, limit, group, i):
    return gl.where(((-1 << max(limit - group, 0)) & (1 << i)) == 0, x, -1.0)


@triton_runner.jit
@gluon.jit
def causal_halves(x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, form: gl.constexpr):
    tile = blackwell.allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    layout: gl.constexpr = tile.get_reg_layout(instr_variant=form)
    flat: gl.constexpr = flat_layout(gl.num_warps())
    limit = 1 + gl.arange(0, M, gl.SliceLayout(1, layout))[:, None]
    columns = gl.arange(0, N, gl.SliceLayout(0, layout))[None, :]
    x = gl.load(x_ptr + places(M, N, layout))
    x = gl.map_elementwise(below, x, limit, columns & ~15, columns & 15)
    left, right = x.reshape([M, 2, N // 2]).permute(0, 2, 1).split()
    joined = gl.join(right, left).permute(0, 2, 1).reshape([M, N])
    tile.store(gl.convert_layout(joined, layout))
    gl.store(out_ptr + places(M, N, flat), gl.convert_layout(tile.load(), flat))


@pytest.mark.parametrize("form", ["32x32b", "32x32b_splitn"])
def test_halves_of_a_causal_tile(form, level):
    x = whole(128, 64, dtype=torch.float32, top=9)
    out = torch.zeros_like(x)
    launch(level, causal_halves, (1,), x, out, *x.shape, form, target="cuda:100")
    masked = torch.where(torch.ones_like(x).tril() > 0, x, -1.0)
    assert torch.equal(out, torch.cat([masked[:, 32:], masked[:, :32]], 1))
