"""Tests convolutions of one to three dimensions as products: columns of pixels by TMA in im2col mode, wgmma
or tcgen05, against torch, bit for bit; what lies outside; and descriptors that say nothing sensible."""

import dataclasses
import json

import pytest
from kernels_for_gluon import (
    ELEMENTS,
    LEVELS,
    TensorDescriptor,
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

blackwell = pytest.importorskip("triton.experimental.gluon.language.nvidia.blackwell")
Im2Col = pytest.importorskip("triton.experimental.gluon.nvidia.hopper").TensorDescriptorIm2Col
pytestmark = pytest.mark.parametrize("level", LEVELS)
PIXELS = 128


@gluon.jit
def load_pixels(desc, at, tap, bar, to, SPACE: gl.constexpr):
    """A column through a filter's tap; `at` and `tap` have D, H and W, of which the last are there."""
    n, d, h, w, c = at
    i, j, k = tap
    i, j, k = i.to(gl.int16), j.to(gl.int16), k.to(gl.int16)
    if SPACE == 1:
        tma.async_load_im2col(desc, [n, w, c], [k], bar, to)
    elif SPACE == 2:
        tma.async_load_im2col(desc, [n, h, w, c], [j, k], bar, to)
    else:
        tma.async_load_im2col(desc, [n, d, h, w, c], [i, j, k], bar, to)


@triton_runner.jit
@gluon.jit
def convolve(
    x_desc, w_desc, out_ptr, total, C: gl.constexpr, OUT: gl.constexpr, FILTER: gl.constexpr,
    STEP: gl.constexpr, PAD: gl.constexpr, DILATION: gl.constexpr, SPACE: gl.constexpr, TCGEN05: gl.constexpr,
):  # fmt: skip
    """OUT, FILTER and so on are of D, H and W."""
    M: gl.constexpr = x_desc.block_shape[0]
    K: gl.constexpr = x_desc.block_shape[1]
    N: gl.constexpr = w_desc.block_shape[1]
    a = gl.allocate_shared_memory(x_desc.dtype, [M, K], x_desc.layout)
    b = gl.allocate_shared_memory(w_desc.dtype, [K, N], w_desc.layout)
    loaded = mbarrier.allocate_mbarrier()
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    of_c: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    if TCGEN05:
        sums = blackwell.allocate_tensor_memory(gl.float32, [M, N], blackwell.TensorMemoryLayout([M, N], 1))
    else:
        sums = gl.zeros([M, N], gl.float32, of_c)
    first = gl.program_id(0) * M
    w = first % OUT[2]
    h = first // OUT[2] % OUT[1]
    d = first // OUT[2] // OUT[1] % OUT[0]
    n = first // OUT[2] // OUT[1] // OUT[0]
    d, h, w = d * STEP[0] - PAD[0], h * STEP[1] - PAD[1], w * STEP[2] - PAD[2]
    phase = 0
    for tap in range(FILTER[0] * FILTER[1] * FILTER[2]):
        offsets = (
            tap // FILTER[2] // FILTER[1] * DILATION[0],
            tap // FILTER[2] % FILTER[1] * DILATION[1],
            tap % FILTER[2] * DILATION[2],
        )
        for c in range(0, C, K):
            mbarrier.expect(loaded, x_desc.nbytes_per_cta + w_desc.nbytes_per_cta)
            load_pixels(x_desc, (n, d, h, w, c), offsets, loaded, a, SPACE)
            tma.async_load(w_desc, [tap * C + c, 0], loaded, b)
            mbarrier.wait(loaded, phase)
            if TCGEN05:
                blackwell.tcgen05_mma(a, b, sums, use_acc=tap + c > 0, mbarriers=[done])
                mbarrier.wait(done, phase)
            else:
                sums = hopper.warpgroup_mma(a, b, sums)
            phase ^= 1
    if TCGEN05:
        result = gl.convert_layout(sums.load(), of_c)
    else:
        result = sums
    at = first * N + places(M, N, of_c)
    gl.store(out_ptr + at, result, mask=at < total * N)


def im2col(tensor, block, lower, upper, steps=None, padding="zero"):
    layout = gl.NVMMASharedLayout.get_default_for(list(block), ELEMENTS[tensor.dtype])
    return Im2Col.from_tensor(
        tensor, list(block), layout, padding, element_strides=steps,
        pixel_box_lower_corner=list(lower), pixel_box_upper_corner=list(upper),
    )  # fmt: skip


def three(values, missing):
    return (*[missing] * (3 - len(values)), *values)


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
@pytest.mark.parametrize(
    "size, channels, block, filter, step, pad, dilation",
    [
        ((67,), 32, 32, (3,), (1,), (1,), (1,)),
        ((200,), 64, 64, (4,), (3,), (2,), (2,)),
        ((9, 11), 64, 32, (3, 3), (1, 1), (1, 1), (1, 1)),
        ((17, 13), 32, 32, (2, 3), (2, 3), (2, 0), (1, 2)),
        ((8, 8), 128, 128, (1, 2), (1, 1), (0, 1), (1, 1)),
        ((5, 6, 7), 32, 32, (2, 3, 2), (1, 2, 1), (0, 1, 1), (1, 1, 2)),
    ],
)
def test_a_convolution(size, channels, block, filter, step, pad, dilation, target, level):
    torch.manual_seed(0)
    space = len(size)
    x, weights = whole(3, *size, channels), whole(16, channels, *filter)
    of_torch = getattr(torch.nn.functional, f"conv{space}d")
    expected = of_torch(
        x.movedim(-1, 1).double(), weights.double(), stride=step, padding=pad, dilation=dilation
    ).movedim(1, -1)
    upper = [p - (f - 1) * d for p, f, d in zip(pad, filter, dilation, strict=True)]
    x_desc = im2col(x, (PIXELS, block), [-p for p in pad], upper, [1, *step, 1])
    taps = weights.movedim(1, -1).reshape(16, -1).T.contiguous()
    out = torch.full(expected.shape, torch.nan)
    total = out.numel() // 16
    launch(
        level, convolve, (-(-total // PIXELS),), x_desc, described(taps, (block, 16)), out, total,
        target=target,
        C=channels, OUT=three(out.shape[1:-1], 1), FILTER=three(filter, 1), STEP=three(step, 1),
        PAD=three(pad, 0), DILATION=three(dilation, 1), SPACE=space, TCGEN05=target == "cuda:100",
    )  # fmt: skip
    torch.testing.assert_close(out, expected.float(), rtol=0, atol=0)


@triton_runner.jit
@gluon.jit
def load_column(in_desc, out_desc, n, h, w, c, off_h, off_w):
    to = gl.allocate_shared_memory(in_desc.dtype, in_desc.block_shape, in_desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, in_desc.nbytes_per_cta)
    offsets = [gl.to_tensor(off_h).to(gl.int16), gl.to_tensor(off_w).to(gl.int16)]
    tma.async_load_im2col(in_desc, [n, h, w, c], offsets, bar, to)
    mbarrier.wait(bar, 0)
    tma.async_store(out_desc, [0, 0], to)
    tma.store_wait(0)


def column(level, desc, at, offsets=(0, 0)):
    out = torch.full(desc.block_shape, -1, dtype=desc.base.dtype)
    launch(
        level,
        load_column,
        (1,),
        desc,
        TensorDescriptor.from_tensor(out, desc.block_shape, desc.layout),
        *at,
        *offsets,
    )
    return out


def test_the_border_is_zero_or_nan(level):
    x = torch.arange(1.0, 2 * 4 * 4 * 32 + 1).reshape(2, 4, 4, 32)
    for padding, border in (("zero", 0.0), ("nan", torch.nan)):
        desc = im2col(x, (32, 32), (-1, -1), (-1, -1), padding=padding)
        expected = torch.nn.functional.pad(x, (0, 0, 1, 0, 1, 0), value=border)[:, :4, :4].reshape(32, 32)
        torch.testing.assert_close(
            column(level, desc, (0, -1, -1, 0)), expected, equal_nan=True, rtol=0, atol=0
        )
        past = torch.full((32, 32), border)
        torch.testing.assert_close(column(level, desc, (2, -1, -1, 0)), past, equal_nan=True, rtol=0, atol=0)


def test_offsets_count_by_their_low_bits_without_a_sign(level):
    # As an H100 takes them: 8 bits each in tensors of rank 4.
    x = whole(1, 4, 4, 32)
    desc = im2col(x, (16, 32), (-1, -1), (-1, -1))
    start = (0, -1, -1, 0)
    assert torch.equal(column(level, desc, start, (1, 257)), x.reshape(16, 32))
    assert not column(level, desc, start, (1, -1)).any()


def test_what_begins_outside_is_a_fault(level):
    desc = im2col(whole(1, 4, 4, 32), (16, 32), (0, 0), (-1, -1))
    with pytest.raises(triton_runner.KernelTrap, match=r"begins at H = 3, outside .* pixel box: 0 to 2"):
        column(level, desc, (0, 3, 0, 0))
    with pytest.raises(triton_runner.KernelTrap, match="8 bytes into the channels, not a multiple of 16"):
        column(level, desc, (0, 0, 0, 4))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"pixel_box_upper_corner": [0, -5]}, "the pixel box is empty along dimension 2"),
        ({"pixel_box_lower_corner": [-200, 0]}, "corner -200 .* it is -128 to 127"),
        ({"pixel_box_lower_corner": [0]}, "corners of the pixel box have 1 and 2 numbers"),
        ({"element_strides": [1, 0, 1, 1]}, "element stride 0: it is 1 to 8"),
        ({"element_strides": [1, 1]}, "element_strides has 2 numbers"),
        ({"element_strides": [1, 2**64, 1, 1]}, "18446744073709551616 does not fit into 64 bits"),
    ],
)
def test_a_descriptor_is_looked_at(change, message, level):
    # Triton's class refuses them when it is made; somebody may change it afterwards.
    desc = im2col(whole(1, 4, 4, 32), (16, 32), (0, 0), (0, 0))
    for name, value in change.items():
        setattr(desc, name, value)
    with pytest.raises(triton_runner.DiagnosticError, match=message):
        column(level, desc, (0, 0, 0, 0))


def test_the_mode_of_a_loaded_kernel(level, tmp_path):
    x = whole(1, 4, 4, 32)
    desc = im2col(x, (16, 32), (0, 0), (0, 0))
    out = torch.zeros(16, 32, dtype=x.dtype)
    tiled = TensorDescriptor.from_tensor(out, [16, 32], desc.layout)
    compiled = launch(level, load_column, (1,), desc, tiled, 0, 0, 0, 0, 0, 0)
    file = tmp_path / f"load_column.{level}"
    file.write_text(compiled.asm[level])
    file.with_suffix(".json").write_text(json.dumps(compiled.metadata._asdict(), default=vars))
    kernel = triton_runner.load(file, device="cpu")
    out.zero_()
    kernel[(1,)](desc, tiled, 0, 0, 0, 0, 0, 0)
    assert torch.equal(out, x.reshape(16, 32))
    wrong = {"ttgir": "expected a TensorDescriptorIm2Col, got TensorDescriptor", "ptx": "do not fit"}
    with pytest.raises(triton_runner.DiagnosticError, match=wrong[level]):
        kernel[(1,)](tiled, tiled, 0, 0, 0, 0, 0, 0)


@triton_runner.jit
@gluon.jit
def load_for_a_cluster(in_desc, out_desc):
    to = gl.allocate_shared_memory(in_desc.dtype, in_desc.block_shape, in_desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    hopper.cluster.barrier()
    mbarrier.expect(bar, in_desc.nbytes_per_cta)
    tma.async_load_im2col(in_desc, [0, 0, 0, 0], [0, 0], bar, to)
    mbarrier.wait(bar, 0)
    tma.async_store(out_desc, [0, 0], to)
    tma.store_wait(0)


def test_the_blocks_of_a_cluster_share_channels_and_no_pixels(level):
    x = whole(1, 4, 4, 64, dtype=torch.float32)
    out = torch.zeros(16, 64)
    for basis in ([0, 1], [1, 0]):
        layout = gl.NVMMASharedLayout.get_default_for([16, 64], gl.float32, cga_layout=[basis])
        desc = dataclasses.replace(im2col(x, (16, 64), (0, 0), (0, 0)), layout=layout)
        tiled = TensorDescriptor.from_tensor(out, [16, 64], layout)
        if basis == [0, 1]:
            launch(level, load_for_a_cluster, (1,), desc, tiled, num_ctas=2)
            assert torch.equal(out, x.reshape(16, 64))
            continue
        # Triton adds a block's eight pixels to the coordinate of W: the hardware stops the kernel.
        wrong = {"ttgir": "further along W", "ptx": "the column begins at W = 8"}[level]
        with pytest.raises((triton_runner.DiagnosticError, triton_runner.KernelTrap), match=wrong):
            launch(level, load_for_a_cluster, (1,), desc, tiled, num_ctas=2)


def test_memory_that_is_not_there(level):
    x = whole(1, 4, 4, 32)
    desc = im2col(x, (16, 32), (0, 0), (0, 0))
    desc = dataclasses.replace(desc, shape=[2, 4, 4, 32])
    with pytest.raises(
        triton_runner.KernelTrap, match=r"out of bounds .* right at the end of argument 'in_desc'"
    ):
        column(level, desc, (0, 0, 1, 0))
