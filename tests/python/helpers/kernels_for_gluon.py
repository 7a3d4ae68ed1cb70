"""The tests of Gluon share these: whole numbers, whose sums are exact in any order, descriptors, and launches
that the checks find nothing in. Skips where Triton has no Gluon of this kind."""

import pytest

torch = pytest.importorskip("torch")
gluon = pytest.importorskip("triton.experimental.gluon")
import triton_runner  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

hopper = pytest.importorskip("triton.experimental.gluon.language.nvidia.hopper")
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor  # noqa: E402

tma, mbarrier = hopper.tma, hopper.mbarrier
if not hasattr(tma, "async_load"):
    pytest.skip("tma.async_load came with Triton 3.9", allow_module_level=True)

LEVELS = ("ttgir", "ptx")
ELEMENTS = {
    torch.int8: gl.int8,
    torch.int16: gl.int16,
    torch.int32: gl.int32,
    torch.float16: gl.float16,
    torch.bfloat16: gl.bfloat16,
    torch.float32: gl.float32,
    torch.float8_e4m3fn: gl.float8e4nv,
    torch.float8_e5m2: gl.float8e5,
}


def whole(*shape, dtype=torch.float16, top=4):
    return torch.randint(-top, top + 1, shape).to(dtype)


def described(tensor, block, cga_layout=()):
    cga = {"cga_layout": [list(basis) for basis in cga_layout]} if cga_layout else {}
    layout = gl.NVMMASharedLayout.get_default_for(list(block), ELEMENTS[tensor.dtype], **cga)
    return TensorDescriptor.from_tensor(tensor, list(block), layout)


def launch(level, kernel, grid, *args, target="cuda:90", **options):
    """Runs a kernel, with the checks too, with odd timing, and on the tile engine in an odd order. What ptxas
    repairs is none of ours: Triton itself takes f16 sums, and those of max_num_imprecise_acc, too early."""
    with triton_runner.using(target=target, level=level):
        compiled = kernel[grid](*args, **options)
    for how in ({"check": "race,uninit"}, {"timing": 3}, {"shuffle": 1})[: 3 if level == "ttgir" else 2]:
        with triton_runner.using(target=target, level=level, **how):
            try:
                kernel[grid](*args, **options)
            except triton_runner.KernelTrap as trap:
                if trap.warning != "ptxas":
                    raise
    return compiled


@gluon.jit
def places(M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    """The offsets of a row-major tile."""
    rows = gl.arange(0, M, gl.SliceLayout(1, layout))[:, None]
    return rows * N + gl.arange(0, N, gl.SliceLayout(0, layout))[None, :]


@gluon.jit
def barriers(DEPTH: gl.constexpr, count: gl.constexpr = 1):
    made = mbarrier.allocate_mbarrier(batch=DEPTH)
    for i in gl.static_range(DEPTH):
        mbarrier.init(made.index(i), count=count)
    return made


@gluon.jit
def ring(desc, DEPTH: gl.constexpr):
    return gl.allocate_shared_memory(desc.dtype, [DEPTH] + desc.block_shape, desc.layout)  # noqa: RUF005
