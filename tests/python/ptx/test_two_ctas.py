"""tcgen05 products of a pair of blocks (cta_group::2): each block holds half of A's rows, half of B's columns
and half of the result; in tensor memory M = 256 takes 128 rows of each block, M = 128 takes 64."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
gluon = pytest.importorskip("triton.experimental.gluon")
import triton_runner  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

blackwell = pytest.importorskip("triton.experimental.gluon.language.nvidia.blackwell")
from triton.experimental.gluon.language.nvidia.hopper import cluster  # noqa: E402

N, K = 64, 64


@triton_runner.jit
@gluon.jit
def product(a_ptr, b_ptr, c_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    by_rows: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=[[1, 0]])
    by_columns: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=[[0, 1]])
    rows = gl.arange(0, M, gl.SliceLayout(1, by_rows))[:, None]
    a = gl.load(a_ptr + rows * K + gl.arange(0, K, gl.SliceLayout(0, by_rows))[None, :])
    k = gl.arange(0, K, gl.SliceLayout(1, by_columns))[:, None]
    b = gl.load(b_ptr + k * N + gl.arange(0, N, gl.SliceLayout(0, by_columns))[None, :])
    of_a: gl.constexpr = gl.NVMMASharedLayout.get_default_for([M, K], gl.float16, cga_layout=[[1, 0]])
    of_b: gl.constexpr = gl.NVMMASharedLayout.get_default_for([K, N], gl.float16, cga_layout=[[0, 1]])
    a_tile = gl.allocate_shared_memory(gl.float16, [M, K], of_a, a)
    b_tile = gl.allocate_shared_memory(gl.float16, [K, N], of_b, b)
    of_c: gl.constexpr = blackwell.TensorMemoryLayout([M // 2, N], 1, cga_layout=[[1, 0]], two_ctas=True)
    c_tile = blackwell.allocate_tensor_memory(gl.float32, [M, N], of_c)
    done = blackwell.mbarrier.allocate_mbarrier()
    blackwell.mbarrier.init(done, count=1)
    blackwell.fence_async_shared(cluster=True)
    cluster.barrier()
    blackwell.tcgen05_mma(a_tile, b_tile, c_tile, use_acc=False, mbarriers=[done])
    blackwell.mbarrier.wait(done, 0)
    c = gl.convert_layout(c_tile.load(), by_rows)
    gl.store(c_ptr + rows * N + gl.arange(0, N, gl.SliceLayout(0, by_rows))[None, :], c)
    blackwell.mbarrier.invalidate(done)


@pytest.mark.parametrize("level", ["ttgir", "ptx"])
@pytest.mark.parametrize("M", [256, 128])
def test_a_product_of_two_blocks(M, level):
    torch.manual_seed(0)
    # Whole numbers, whose sums are exact in any order.
    a, b = (torch.randint(-8, 9, shape).to(torch.float16) for shape in ((M, K), (K, N)))
    c = torch.zeros(M, N)
    with triton_runner.using(target="cuda:100", level=level):
        compiled = product[(1,)](a, b, c, M, N, K, num_ctas=2, num_warps=4)
    if level == "ptx":
        assert "tcgen05.mma.cta_group::2.kind::f16" in compiled.asm["ptx"]
    assert torch.equal(c, a.float() @ b.float())
