"""Gluon's tensors and shared memory: every pair of layouts, views of shared memory, reductions, scans,
gathers, atomics and autotuning, on both engines."""

import functools
import operator

import pytest
from kernels_for_gluon import LEVELS, gl, gluon, launch, places, torch, triton_runner, whole

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.parametrize("level", LEVELS)

M, N = 32, 64
MMA = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
LAYOUTS = {
    "rows": gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]),
    "columns": gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1]),
    "copies": gl.BlockedLayout([8, 8], [8, 4], [2, 2], [1, 0]),  # each element in several threads
    "mma": MMA,
    "wgmma": gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16]),
    "operand 0": gl.DotOperandLayout(0, MMA, 2),
    "operand 1": gl.DotOperandLayout(1, MMA, 4),
    "slice": gl.SliceLayout(1, gl.BlockedLayout([1, 2, 2], [2, 2, 8], [2, 2, 1], [2, 0, 1])),
    "linear": gl.DistributedLinearLayout(
        reg_bases=[[0, 1], [8, 0], [16, 0], [0, 32]],
        lane_bases=[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
        warp_bases=[[0, 8], [0, 16]],
        block_bases=[],
        shape=[M, N],
    ),
}
SHARED = {
    "plain": gl.SwizzledSharedLayout(1, 1, 1, [1, 0]),
    "swizzled": gl.SwizzledSharedLayout(4, 2, 4, [1, 0]),
    "by columns": gl.SwizzledSharedLayout(2, 1, 8, [0, 1]),
    "mma 128": gl.NVMMASharedLayout(128, 16, 2),
    "mma 32": gl.NVMMASharedLayout(32, 16, 2),
    "mma 0": gl.NVMMASharedLayout(0, 16, 2),
    "mma transposed": gl.NVMMASharedLayout(64, 16, 2, transposed=True),
    "padded": gl.PaddedSharedLayout.with_identity_for([[64, 8], [256, 16]], [M, N], [1, 0]),
    "linear": gl.SharedLinearLayout(
        [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 0], [8, 0], [16, 0]]
    ),
}


@triton_runner.jit
@gluon.jit
def copy(
    x_ptr, out_ptr, height, width, x_down, x_right, out_down, out_right, ROWS: gl.constexpr,
    COLUMNS: gl.constexpr, layout: gl.constexpr,
):  # fmt: skip
    rows = (gl.program_id(0) * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, layout)))[:, None]
    columns = (gl.program_id(1) * COLUMNS + gl.arange(0, COLUMNS, gl.SliceLayout(0, layout)))[None, :]
    inside = (rows < height) & (columns < width)
    x = gl.load(x_ptr + rows * x_down + columns * x_right, mask=inside)
    gl.store(out_ptr + rows * out_down + columns * out_right, x, mask=inside)


@pytest.mark.parametrize("layout", ["rows", "columns", "copies", "linear"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("step", [1, 2])
def test_copies_of_strided_arrays(step, turned, layout, level):
    x = torch.randn(70, 150)
    x = (x.T if turned else x)[::step]
    out = torch.zeros_like(x)
    grid = triton.cdiv(x.shape[0], M), triton.cdiv(x.shape[1], N)
    launch(level, copy, grid, x, out, *x.shape, *x.stride(), *out.stride(), M, N, LAYOUTS[layout])
    assert torch.equal(out, x)


@triton_runner.jit
@gluon.jit
def convert(x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, one: gl.constexpr, other: gl.constexpr):
    x = gl.load(x_ptr + places(M, N, one))
    gl.store(out_ptr + places(M, N, other), gl.convert_layout(x, other))


@pytest.mark.parametrize("one", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
def test_conversions(one, other, level):
    dtype = (torch.int8, torch.int16, torch.int32, torch.int64)[len(one + other) % 4]
    x = torch.randint(-100, 100, (M, N)).to(dtype)
    out = torch.zeros_like(x)
    with triton_runner.using(target="cuda:90", level=level):
        convert[(1,)](x, out, M, N, LAYOUTS[one], LAYOUTS[other])
    assert torch.equal(x, out)


@triton_runner.jit
@gluon.jit
def through_shared(
    x_ptr, out_ptr, turned_ptr, M: gl.constexpr, N: gl.constexpr, one: gl.constexpr, other: gl.constexpr,
    shared: gl.constexpr,
):  # fmt: skip
    buffer = gl.allocate_shared_memory(gl.int16, [M, N], shared, gl.load(x_ptr + places(M, N, one)))
    gl.store(out_ptr + places(M, N, other), buffer.load(other))
    by_rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    gl.store(turned_ptr + places(N, M, by_rows), buffer.permute((1, 0)).load(by_rows))


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("one, other", [("rows", "columns"), ("linear", "operand 0"), ("wgmma", "slice")])
def test_shared_layouts(one, other, shared, level):
    x = whole(M, N, dtype=torch.int16, top=999)
    out, turned = torch.zeros_like(x), torch.zeros(N, M, dtype=torch.int16)
    launch(level, through_shared, (1,), x, out, turned, M, N, LAYOUTS[one], LAYOUTS[other], SHARED[shared])
    assert torch.equal(out, x)
    assert torch.equal(turned, x.T)


@triton_runner.jit
@gluon.jit
def views(
    x_ptr, right_ptr, out_ptr, turned_ptr, words_ptr, M: gl.constexpr, N: gl.constexpr, shared: gl.constexpr
):
    by_rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    cube: gl.constexpr = gl.BlockedLayout([1, 1, 4], [1, 2, 16], [2, 2, 1], [2, 1, 0])
    line: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    x = gl.load(x_ptr + places(M, N, by_rows))
    buffer = gl.allocate_shared_memory(gl.int32, [M, N], shared, x)
    gl.store(right_ptr + places(M, N // 2, by_rows), buffer.slice(N // 2, N // 2, dim=1).load(by_rows))
    corner = buffer.slice(8, 8).slice(0, 32, dim=1)
    corner.store(corner.load(by_rows) * 2)
    gl.store(out_ptr + places(M, N, by_rows), buffer.load(by_rows))
    turned = buffer.reshape((M // 4, 4, N)).permute((1, 0, 2))
    i = gl.arange(0, 4, gl.SliceLayout(1, gl.SliceLayout(2, cube)))[:, None, None]
    j = gl.arange(0, M // 4, gl.SliceLayout(0, gl.SliceLayout(2, cube)))[None, :, None]
    k = gl.arange(0, N, gl.SliceLayout(0, gl.SliceLayout(1, cube)))[None, None, :]
    gl.store(turned_ptr + (i * (M // 4) + j) * N + k, turned.load(cube))
    lines = gl.allocate_shared_memory(gl.int32, [2, 128], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    for half in gl.static_range(2):
        lines.index(half).store(gl.load(x_ptr + half * 128 + gl.arange(0, 128, line)))
    words = lines.reinterpret(gl.int16, [512], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    gl.store(words_ptr + gl.arange(0, 512, line), words.load(line))


@pytest.mark.parametrize(
    "shared", [SHARED["plain"], SHARED["swizzled"], gl.NVMMASharedLayout(128, 32, 2)], ids=str
)
def test_views_of_shared_memory(shared, level):
    x = whole(M, N, dtype=torch.int32, top=10**9)
    right, out = torch.zeros(M, N // 2).int(), torch.zeros(M, N).int()
    turned, words = torch.zeros(4, M // 4, N).int(), torch.zeros(512, dtype=torch.int16)
    launch(level, views, (1,), x, right, out, turned, words, M, N, shared)
    doubled = x.clone()
    doubled[8:16, :32] *= 2
    assert torch.equal(right, x[:, N // 2 :])
    assert torch.equal(out, doubled)
    assert torch.equal(turned, doubled.view(M // 4, 4, N).permute(1, 0, 2))
    assert torch.equal(words, x[:4].view(torch.int16).flatten())


@gluon.jit
def first_of_the_largest(a, i, b, j):
    left = (a > b) | ((a == b) & (i < j))
    return gl.where(left, a, b), gl.where(left, i, j)


@gluon.jit
def one_after_the_other(a, b, c, d):
    """x -> a x + b, and then x -> c x + d."""
    return a * c, b * c + d


@triton_runner.jit
@gluon.jit
def reductions(x_ptr, rows_ptr, columns_ptr, one_ptr, M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    x = gl.load(x_ptr + places(M, N, layout))
    rows = gl.arange(0, M, gl.SliceLayout(1, layout))
    columns = gl.arange(0, N, gl.SliceLayout(0, layout))
    largest, where = gl.reduce((x, gl.zeros_like(x) + columns[None, :]), 1, first_of_the_largest)
    gl.store(rows_ptr + rows, gl.sum(x, axis=1))
    gl.store(rows_ptr + M + rows, largest)
    gl.store(rows_ptr + 2 * M + rows, where)
    gl.store(columns_ptr + columns, gl.max(x, axis=0))
    gl.store(columns_ptr + N + columns, gl.xor_sum(x, axis=0))
    gl.store(one_ptr, gl.sum(x))
    gl.store(one_ptr + 1, gl.reduce_or(gl.reduce_or(x, axis=0), axis=0))
    gl.store(one_ptr + 2, gl.min(gl.min(x, axis=1), axis=0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reductions(layout, level):
    x = whole(M, N, dtype=torch.int32, top=100)
    rows, columns, one = torch.zeros(3, M).int(), torch.zeros(2, N).int(), torch.zeros(3).int()
    launch(level, reductions, (1,), x, rows, columns, one, M, N, LAYOUTS[layout])
    where = torch.from_numpy(x.cpu().numpy().argmax(1)).to(x.device)  # of several
    assert torch.equal(rows, torch.stack([x.sum(1), x.max(1).values, where]).int())
    assert torch.equal(columns, torch.stack([x.max(0).values, functools.reduce(operator.xor, x)]))
    assert one.tolist() == [x.sum(), functools.reduce(operator.or_, x.flatten().tolist()), x.min()]


@triton_runner.jit
@gluon.jit
def scans(x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    x = gl.load(x_ptr + places(M, N, layout))
    at = places(M, N, layout)
    gl.store(out_ptr + at, gl.cumsum(x, axis=1))
    gl.store(out_ptr + M * N + at, gl.cumsum(x, axis=0, reverse=True))
    _, chain = gl.associative_scan((x & 3, x), 1, one_after_the_other)
    gl.store(out_ptr + 2 * M * N + at, chain)


@pytest.mark.parametrize("layout", ["rows", "columns", "copies"])  # Triton scans no others
def test_scans(layout, level):
    x, out = whole(M, N, dtype=torch.int32, top=100), torch.zeros(3, M, N).int()
    launch(level, scans, (1,), x, out, M, N, LAYOUTS[layout])
    chain = [torch.zeros(M, dtype=torch.int32)]
    for column in x.T:
        chain.append(chain[-1] * (column & 3) + column)
    backwards = x.flip(0).cumsum(0).flip(0).int()
    assert torch.equal(out, torch.stack([x.cumsum(1).int(), backwards, torch.stack(chain[1:], dim=1)]))


@gluon.jit
def product_or_difference(a, b):
    if a > 0:
        return a * b
    else:
        return a - b


@triton_runner.jit
@gluon.jit
def elements(x_ptr, i_ptr, out_ptr, bins_ptr, updated_ptr, N: gl.constexpr):
    pairs: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    line: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    linear: gl.constexpr = gl.to_linear_layout(pairs, [N])
    at = gl.arange(0, N, pairs)
    x, i = gl.load(x_ptr + at), gl.load(i_ptr + at)
    gl.store(out_ptr + at, gl.gather(x, i, 0))
    a, b = gl.split(gl.join(x, i))
    gl.store(out_ptr + N + at, gl.convert_layout(a + 2 * b, pairs))
    turned = gl.reshape(gl.permute(gl.reshape(x, [N // 16, 16]), (1, 0)), [N])
    gl.store(out_ptr + 2 * N + at, gl.convert_layout(turned, pairs))
    trivial = gl.convert_layout(x, linear, assert_trivial=True)
    gl.store(out_ptr + 3 * N + gl.arange(0, N, linear), trivial)
    gl.store(out_ptr + 4 * N + at, gl.map_elementwise(product_or_difference, x, i))
    automatic = gl.set_auto_layout(gl.arange(0, N) * 3, pairs)
    gl.store(out_ptr + 5 * N + at, gl.clamp((x + automatic).to(gl.float32), -50.0, 50.0).to(gl.int32))
    bins = gl.histogram(i, 128, mask=i % 3 != 0, layout=line)
    gl.store(bins_ptr + gl.arange(0, 128, line), bins)
    gl.atomic_add(updated_ptr + i % 16, x)
    gl.atomic_max(updated_ptr + 16 + i % 16, x, mask=x > 0)
    gl.atomic_xor(updated_ptr + 32 + i % 16, x)
    gl.atomic_add(updated_ptr + 49, gl.atomic_cas(updated_ptr + 48, 7, 5))


def test_elements(level):
    n = 512
    x, i = whole(n, dtype=torch.int32, top=100), torch.randint(0, 128, (n,), dtype=torch.int32)
    out, bins, updated = torch.zeros(6, n).int(), torch.zeros(128).int(), torch.zeros(50).int()
    updated[48] = 7
    with triton_runner.using(target="cuda:90", level=level):
        elements[(1,)](x, i, out, bins, updated, n)
    steps = torch.arange(n, dtype=torch.int32) * 3
    expected = [x[i.long()], x + 2 * i, x.view(n // 16, 16).T.flatten(), x, torch.where(x > 0, x * i, x - i)]
    assert torch.equal(out, torch.stack([*expected, (x + steps).clamp(-50, 50)]))
    assert torch.equal(bins, torch.bincount(i[i % 3 != 0], minlength=128).int())
    at = (i % 16).long()
    largest = torch.zeros(16).int().scatter_reduce(0, at, x.clamp(min=0), "amax")
    mixed = [functools.reduce(operator.xor, x[at == k].tolist(), 0) for k in range(16)]
    sums = torch.zeros(16).int().index_add(0, at, x)
    assert updated.tolist() == [*sums.tolist(), *largest.tolist(), *mixed, 5, 7]


@triton_runner.jit
@gluon.jit
def scatters(x_ptr, i_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, shared: gl.constexpr):
    by_rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    at = places(M, N, by_rows)
    x, i = gl.load(x_ptr + at), gl.load(i_ptr + at)
    buffer = gl.allocate_shared_memory(gl.int32, [M, N], shared, x)
    gl.store(out_ptr + at, buffer.gather(i, 1))
    gl.store(out_ptr + M * N + at, buffer.gather(i % M, 0))
    buffer.scatter(x, i * 0 + (gl.arange(0, N, gl.SliceLayout(0, by_rows))[None, :] ^ 5), 1)
    buffer.atomic_scatter_add(x, i, 1)
    gl.store(out_ptr + 2 * M * N + at, buffer.load(by_rows))
    buffer.atomic_scatter_max(x, i, 1, mask=x > 50)
    gl.store(out_ptr + 3 * M * N + at, buffer.load(by_rows))


@pytest.mark.parametrize("shared", ["plain", "swizzled", "by columns"])
def test_scatters_in_shared_memory(shared, level):
    x, out = whole(M, N, dtype=torch.int32, top=100), torch.zeros(4, M, N).int()
    i = torch.randint(0, N, (M, N), dtype=torch.int32)
    launch(level, scatters, (1,), x, i, out, M, N, SHARED[shared])
    at = i.long()
    sums = x[:, torch.arange(N) ^ 5].scatter_add(1, at, x)
    largest = sums.scatter_reduce(1, at, torch.where(x > 50, x, -(2**31)), "amax")
    assert torch.equal(out, torch.stack([x.gather(1, at), x.gather(0, at % M), sums, largest]))


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block, "EACH": each}, num_warps=warps)
        for block, each, warps in ((128, 1, 1), (512, 4, 4), (256, 8, 2))
    ],
    key=["n"],
)
@gluon.jit
def tuned_copy(arrays, n, BLOCK: gl.constexpr, EACH: gl.constexpr, num_warps: gl.constexpr):
    x_ptr, out_ptr = arrays
    line: gl.constexpr = gl.BlockedLayout([EACH], [32], [num_warps], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, line)
    gl.store(out_ptr + at, gl.load(x_ptr + at, mask=at < n), mask=at < n)


def test_an_autotuned_copy(level):
    x, out = torch.randn(1000), torch.zeros(1000)
    with triton_runner.using(target="cuda:90", level=level):
        tuned_copy[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)]((x, out), 1000)
    assert torch.equal(out, x)
