"""Tests Gluon's products of block-scaled operands, mxfp8, mxfp4 and nvfp4: scales that threads write into
tensor memory, and scales that TMA brings in pieces and tcgen05_copy takes there."""

import pytest
from kernels_for_blackwell import TensorMemoryLayout, blackwell, tma
from kernels_for_gluon import (
    LEVELS,
    TensorDescriptor,
    barriers,
    gl,
    gluon,
    launch,
    mbarrier,
    places,
    ring,
    torch,
    triton_runner,
)

ScalesLayout = blackwell.TensorMemoryScalesLayout
pytestmark = pytest.mark.parametrize("level", LEVELS)

ELEMENTS = {"mxfp8": "e4m3", "mxfp4": "e2m1", "nvfp4": "e2m1"}
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def group_of(form):
    """How many elements have a scale in common."""
    return 16 if form == "nvfp4" else 32


def operand(rows, columns, form):
    """Elements and scales as they are stored, and what they stand for. All sums of that are exact."""
    groups = columns // group_of(form)
    if form == "mxfp8":
        values = torch.randint(-4, 5, (rows, columns)).float()
        data = values.to(torch.float8_e4m3fn)
    else:
        codes = torch.randint(0, 16, (rows, columns))
        values, data = FP4[codes], (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8)
    if form == "nvfp4":
        factors = torch.randint(1, 5, (rows, groups)).float()
        scales = factors.to(torch.float8_e4m3fn)
    else:
        exponents = torch.randint(126, 130, (rows, groups))
        factors, scales = torch.exp2(exponents - 127.0), exponents.to(torch.uint8)
    return data, scales, values * factors.repeat_interleave(group_of(form), 1)


def tiles_of(data, step, padded=False, cga_layout=()):
    """A descriptor of blocks of all rows and `step` elements, two a byte where they are fp4."""
    fp4 = data.dtype == torch.uint8
    block = [data.shape[0], step // 2 if fp4 else step]
    element = gl.uint8 if fp4 else gl.float8e4nv
    layout = gl.NVMMASharedLayout.get_default_for(
        block, element, fp4_padded=padded and fp4, cga_layout=list(cga_layout)
    )
    return TensorDescriptor.from_tensor(data, block, layout)


@gluon.jit
def step_operands(a_desc, b_desc, k, loaded, a, b, a_form: gl.constexpr, b_form: gl.constexpr):
    """Loads the tiles of elements k and on; two of fp4 are one of the descriptor's."""
    tma.async_load(a_desc, [0, k // 2 if a_form == "e2m1" else k], loaded, a)
    tma.async_load(b_desc, [0, k // 2 if b_form == "e2m1" else k], loaded, b)


@gluon.jit
def store_sums(c_ptr, sums, M: gl.constexpr, N: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0])
    gl.store(c_ptr + places(M, N, flat), gl.convert_layout(sums.load(), flat))


@triton_runner.jit
@gluon.jit
def by_threads(
    a_desc, b_desc, c_ptr, a_scales, b_scales, STEP: gl.constexpr, GROUP: gl.constexpr, forms: gl.constexpr
):
    M: gl.constexpr = a_desc.block_shape[0]
    N: gl.constexpr = b_desc.block_shape[0]
    S: gl.constexpr = STEP // GROUP
    a_groups = a_desc.shape[1] // a_desc.block_shape[1] * S
    b_groups = b_desc.shape[1] // b_desc.block_shape[1] * S
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    scale: gl.constexpr = a_scales.dtype.element_ty
    a_tile = blackwell.allocate_tensor_memory(scale, [M, S], ScalesLayout())
    b_tile = blackwell.allocate_tensor_memory(scale, [N, S], ScalesLayout())
    sums = blackwell.allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    loaded, done = barriers(1).index(0), barriers(1).index(0)
    flat: gl.constexpr = gl.BlockedLayout([1, 1], [8, 4], [gl.num_warps(), 1], [1, 0])
    phase = 0
    for k in range(0, a_groups * GROUP, STEP):
        mbarrier.expect(loaded, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        step_operands(a_desc, b_desc, k, loaded, a, b, forms[0], forms[1])
        column = k // GROUP + gl.arange(0, S, gl.SliceLayout(0, flat))[None, :]
        row = a_groups * gl.arange(0, M, gl.SliceLayout(1, flat))[:, None]
        a_tile.store(gl.convert_layout(gl.load(a_scales + row + column), a_tile.get_reg_layout()))
        row = b_groups * gl.arange(0, N, gl.SliceLayout(1, flat))[:, None]
        b_tile.store(gl.convert_layout(gl.load(b_scales + row + column), b_tile.get_reg_layout()))
        mbarrier.wait(loaded, phase)
        blackwell.tcgen05_mma_scaled(
            a, b.permute((1, 0)), sums, a_tile, b_tile, forms[0], forms[1], use_acc=k > 0, mbarriers=[done]
        )
        mbarrier.wait(done, phase)
        phase ^= 1
    store_sums(c_ptr, sums, M, N)


@pytest.mark.parametrize("N, step", [(32, 128), (64, 256)])
@pytest.mark.parametrize(
    "a_form, b_form",
    [("mxfp8", "mxfp8"), ("mxfp4", "mxfp4"), ("nvfp4", "nvfp4"), ("mxfp8", "mxfp4"), ("mxfp4", "mxfp8")],
)
def test_scales_that_threads_write(a_form, b_form, N, step, level):
    M, K = 128, 512
    a, a_scales, x = operand(M, K, a_form)
    b, b_scales, y = operand(N, K, b_form)
    out, forms = torch.zeros(M, N), (ELEMENTS[a_form], ELEMENTS[b_form])
    with triton_runner.using(target="cuda:100"):  # whose descriptors may be padded
        descs = [tiles_of(t, step, padded=a_form != b_form) for t in (a, b)]
    scales = out, a_scales, b_scales
    launch(level, by_threads, (1,), *descs, *scales, step, group_of(a_form), forms, target="cuda:100")
    assert torch.equal(out, x @ y.T)


@triton_runner.jit
@gluon.jit
def spread_fp4(codes, b_desc, c_ptr, a_scales, b_scales, M: gl.constexpr, K: gl.constexpr):
    """A in tensor memory, each fp4 in bits 2 to 5 of a byte of its own."""
    N: gl.constexpr = b_desc.block_shape[0]
    a = blackwell.allocate_tensor_memory(gl.uint8, [M, K], TensorMemoryLayout([M, K], 1))
    a.store(gl.load(codes + places(M, K, a.get_reg_layout())) << 2)
    a = a.reinterpret(gl.uint8, [M, K // 2], TensorMemoryLayout([M, K // 2], 1, fp4_padded=True))
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    a_tile = blackwell.allocate_tensor_memory(gl.uint8, [M, K // 32], ScalesLayout())
    b_tile = blackwell.allocate_tensor_memory(gl.uint8, [N, K // 32], ScalesLayout())
    a_tile.store(gl.load(a_scales + places(M, K // 32, a_tile.get_reg_layout())))
    b_tile.store(gl.load(b_scales + places(N, K // 32, b_tile.get_reg_layout())))
    sums = blackwell.allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    loaded, done = barriers(1).index(0), barriers(1).index(0)
    mbarrier.expect(loaded, b_desc.nbytes_per_cta)
    tma.async_load(b_desc, [0, 0], loaded, b)
    mbarrier.wait(loaded, 0)
    blackwell.tcgen05_mma_scaled(
        a, b.permute((1, 0)), sums, a_tile, b_tile, "e2m1", "e4m3", use_acc=False, mbarriers=[done]
    )
    mbarrier.wait(done, 0)
    store_sums(c_ptr, sums, M, N)


def test_fp4_that_lies_apart_in_tensor_memory(level):
    M, N, K = 128, 64, 128
    a, a_scales, x = operand(M, K, "mxfp4")
    b, b_scales, y = operand(N, K, "mxfp8")
    codes, out = torch.stack((a & 15, a >> 4), 2).reshape(M, K), torch.zeros(M, N)
    desc = tiles_of(b, K)
    launch(level, spread_fp4, (1,), codes, desc, out, a_scales, b_scales, M, K, target="cuda:100")
    assert torch.equal(out, x @ y.T)


@gluon.jit
def as_matrix(pieces):
    """Pieces of 32 lines, each with 4 columns of rows 0, 32, 64 and 96 further on, as one matrix."""
    down: gl.constexpr = pieces.shape[1]
    across: gl.constexpr = pieces.shape[2]
    return pieces.reshape([down, across, 32, 4, 4]).permute((0, 3, 2, 1, 4)).reshape([down * 128, across * 4])


@triton_runner.jit
@gluon.jit
def by_tma(
    a_desc, b_desc, c_ptr, a_scales, b_scales, K, STEP: gl.constexpr, DEPTH: gl.constexpr, form: gl.constexpr,
    copies: gl.constexpr,
):  # fmt: skip
    M: gl.constexpr = a_desc.block_shape[0]
    N: gl.constexpr = b_desc.block_shape[0]
    S: gl.constexpr = a_scales.block_shape[2] * 4
    a = ring(a_desc, DEPTH)
    b = ring(b_desc, DEPTH)
    a_pieces = ring(a_scales, DEPTH)
    b_pieces = ring(b_scales, DEPTH)
    a_tile = blackwell.allocate_tensor_memory(a_scales.dtype, [M, S], ScalesLayout())
    b_tile = blackwell.allocate_tensor_memory(b_scales.dtype, [N, S], ScalesLayout())
    sums = blackwell.allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    loaded, used = barriers(DEPTH), barriers(DEPTH)
    steps = gl.cdiv(K, STEP)
    for i in range(steps + DEPTH - 1):
        if i < steps:
            here = loaded.index(i % DEPTH)
            mbarrier.wait(used.index(i % DEPTH), (i // DEPTH & 1) ^ 1)
            bytes_of_scales: gl.constexpr = a_scales.nbytes_per_cta + b_scales.nbytes_per_cta
            mbarrier.expect(here, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta + bytes_of_scales)
            step_operands(a_desc, b_desc, i * STEP, here, a.index(i % DEPTH), b.index(i % DEPTH), form, form)
            column = i * a_scales.block_shape[2]
            tma.async_load(a_scales, [0, 0, column, 0, 0], here, a_pieces.index(i % DEPTH))
            tma.async_load(b_scales, [0, 0, column, 0, 0], here, b_pieces.index(i % DEPTH))
        j = i - (DEPTH - 1)
        if j >= 0:
            slot = j % DEPTH
            mbarrier.wait(loaded.index(slot), j // DEPTH & 1)
            if copies:
                blackwell.tcgen05_copy(as_matrix(a_pieces.index(slot)), a_tile)
                blackwell.tcgen05_copy(as_matrix(b_pieces.index(slot)), b_tile)
            else:
                mbarrier.wait(used.index(i % DEPTH), (i // DEPTH & 1) ^ 1, pred=j > 0)
                a_regs = as_matrix(a_pieces.index(slot).load(gl.AutoLayout()))
                b_regs = as_matrix(b_pieces.index(slot).load(gl.AutoLayout()))
                a_tile.store(gl.set_auto_layout(a_regs, a_tile.get_reg_layout()))
                b_tile.store(gl.set_auto_layout(b_regs, b_tile.get_reg_layout()))
            b_turned = b.index(slot).permute((1, 0))
            blackwell.tcgen05_mma_scaled(
                a.index(slot), b_turned, sums, a_tile, b_tile, form, form, use_acc=j > 0
            )
            blackwell.tcgen05_commit(used.index(slot))
    mbarrier.wait(used.index((steps - 1) % DEPTH), (steps - 1) // DEPTH & 1)
    store_sums(c_ptr, sums, M, N)


def pieces_of(scales, step):
    """Scales in blocks of 128 rows and 4 columns, 512 bytes each; `step` columns of all rows a tile."""
    rows, columns = scales.shape[0] // 128, scales.shape[1] // 4
    turned = scales.view(torch.uint8).reshape(rows, 4, 32, columns, 4).permute(0, 3, 2, 1, 4).contiguous()
    tensor = turned.reshape(1, rows, columns, 2, 256).view(scales.dtype)
    return TensorDescriptor.from_tensor(tensor, [1, rows, step // 4, 2, 256], gl.NVMMASharedLayout(0, 8, 5))


@pytest.mark.parametrize("N", [128, 256])
@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("form", ["mxfp8", "mxfp4", "nvfp4"])
def test_scales_that_tma_brings(form, copies, N, level):
    M, K, step, depth = 128, 768, 256, 2
    a, a_scales, x = operand(M, K, form)
    b, b_scales, y = operand(N, K, form)
    out, per_step = torch.zeros(M, N), step // group_of(form)
    descs = (
        tiles_of(a, step),
        tiles_of(b, step),
        out,
        pieces_of(a_scales, per_step),
        pieces_of(b_scales, per_step),
    )
    launch(level, by_tma, (1,), *descs, K, step, depth, ELEMENTS[form], copies, target="cuda:100")
    assert torch.equal(out, x @ y.T)


@triton_runner.jit
@gluon.jit
def by_pairs(
    a_desc, b_desc, c_ptr, a_scales, b_scales, STEP: gl.constexpr, GROUP: gl.constexpr, forms: gl.constexpr
):
    """Each block of a pair has half of the rows of A, B and the sums, and all scales of B."""
    M: gl.constexpr = a_desc.block_shape[0]
    N: gl.constexpr = b_desc.block_shape[0]
    S: gl.constexpr = STEP // GROUP
    groups = a_desc.shape[1] // a_desc.block_shape[1] * S
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    scale: gl.constexpr = a_scales.dtype.element_ty
    a_tile = blackwell.allocate_tensor_memory(scale, [M, S], ScalesLayout(cga_layout=[[1, 0]]))
    b_tile = blackwell.allocate_tensor_memory(scale, [N, S], ScalesLayout(cga_layout=[[0, 0]]))
    layout: gl.constexpr = TensorMemoryLayout([M // 2, N], 1, cga_layout=[[1, 0]], two_ctas=True)
    sums = blackwell.allocate_tensor_memory(gl.float32, [M, N], layout)
    loaded, done = mbarrier.allocate_mbarrier(two_ctas=True), barriers(1).index(0)
    mbarrier.init(loaded, count=1)
    half: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0], cga_layout=[[1, 0]])
    both: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0], cga_layout=[[0, 0]])
    phase = 0
    for k in range(0, groups * GROUP, STEP):
        mbarrier.expect(loaded, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        step_operands(a_desc, b_desc, k, loaded, a, b, forms[0], forms[1])
        row = k // GROUP + groups * gl.arange(0, M, gl.SliceLayout(1, half))[:, None]
        a_regs = gl.load(a_scales + row + gl.arange(0, S, gl.SliceLayout(0, half))[None, :])
        a_tile.store(gl.convert_layout(a_regs, a_tile.get_reg_layout()))
        row = k // GROUP + groups * gl.arange(0, N, gl.SliceLayout(1, both))[:, None]
        b_regs = gl.load(b_scales + row + gl.arange(0, S, gl.SliceLayout(0, both))[None, :])
        b_tile.store(gl.convert_layout(b_regs, b_tile.get_reg_layout()))
        blackwell.cluster.barrier()
        mbarrier.wait(loaded, phase)
        blackwell.tcgen05_mma_scaled(
            a, b.permute((1, 0)), sums, a_tile, b_tile, forms[0], forms[1], use_acc=k > 0, mbarriers=[done]
        )
        mbarrier.wait(done, phase)
        phase ^= 1
    gl.store(c_ptr + places(M, N, half), gl.convert_layout(sums.load(), half))


@pytest.mark.parametrize(
    "a_form, b_form", [("mxfp8", "mxfp8"), ("mxfp4", "mxfp4"), ("nvfp4", "nvfp4"), ("mxfp8", "mxfp4")]
)
def test_pairs_of_blocks(a_form, b_form, level):
    M, N, K, step = 256, 128, 512, 256
    a, a_scales, x = operand(M, K, a_form)
    b, b_scales, y = operand(N, K, b_form)
    out, forms = torch.zeros(M, N), (ELEMENTS[a_form], ELEMENTS[b_form])
    with triton_runner.using(target="cuda:100"):
        descs = [tiles_of(t, step, a_form != b_form, [[1, 0]]) for t in (a, b)]
    scales = out, a_scales, b_scales
    options = {"target": "cuda:100", "num_ctas": 2}
    launch(level, by_pairs, (1,), *descs, *scales, step, group_of(a_form), forms, **options)
    assert torch.equal(out, x @ y.T)
