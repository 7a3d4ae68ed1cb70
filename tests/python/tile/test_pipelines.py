"""Tests automatic pipelining and warp specialisation, as Triton's compiler makes them for sm_90 and sm_100,
at TTGIR and PTX against torch: bit for bit, with loops of no, one, two and five turns (fewer than there are
stages, and more), clean under the checks, and whenever asynchronous copies land. A row of CASES is a kernel
in one shape."""

import dataclasses
import re
from collections.abc import Callable

import pytest
from kernels_for_pipelines import (
    by_descriptors,
    by_masks,
    by_own_descriptors,
    by_pointers,
    gathered,
    persistent,
    persistent_own,
    restarted,
    scaled,
    torch,
    triton,
    triton_runner,
    two_products,
    two_products_own,
)

host = pytest.importorskip("triton.tools.tensor_descriptor")
M, BN, BK = 128, 64, 64
TURNS = (0, 1, 2, 5)
WAYS = ({}, {"check": "race,uninit"}, {"timing": "eager"}, {"timing": "late"})


@pytest.fixture(autouse=True)
def scratch():
    """Descriptors that a kernel makes lie in memory that Triton asks for."""
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))


def whole(*shape, dtype=torch.float16, top=3):
    return torch.randint(-top, top + 1, shape).to(dtype)


def described(tensor, *block):
    return host.TensorDescriptor.from_tensor(tensor, list(block))


@dataclasses.dataclass
class Launch:
    grid: tuple
    args: list
    out: torch.Tensor
    wanted: torch.Tensor


def operands(turns, columns, dtype, room=True):
    """Two matrices of `turns` tiles along k (no less than one, for descriptors), and their product."""
    k = turns * BK
    a = whole(M, max(k, BK) if room else k, dtype=dtype)
    b = whole(max(k, BK), columns, dtype=dtype)
    return a, b, a.float()[:, :k] @ b.float()[:k]


def pointers(turns, dtype=torch.float16):
    a, b, wanted = operands(turns, 2 * BN, dtype, room=False)
    c = torch.full((M, 2 * BN), -1.0)
    return Launch((2,), [a, b, c, 2 * BN, turns * BK, M, BN, BK], c, wanted)


def masks(turns):
    a, b, _ = operands(turns, BN, torch.float16, room=False)
    limit = max(turns * BK - 24, 0)
    c = torch.full((M, BN), -1.0)
    x, y = a.float()[:, :limit], b.float()[:limit]
    return Launch((1,), [a, b, c, BN, turns * BK, limit, M, BN, BK], c, x @ y + y.sum(0))


def descriptors(turns, dtype=torch.float16, programs=2, tiles=0):
    columns = (tiles or programs) * BN
    a, b, wanted = operands(turns, columns, dtype)
    c = torch.full((M, columns), -1.0)
    three = [described(a, M, BK), described(b, BK, BN), described(c, M, BN)]
    sizes = [turns * BK, *([tiles] if tiles else []), M, BN, BK]
    return Launch((programs,), [*three, *sizes], c, wanted)


def tiles(turns, dtype=torch.float16):
    return descriptors(turns, dtype, programs=2, tiles=5)


def own(turns):
    a, b, wanted = operands(turns, 2 * BN, torch.float16)
    c = torch.full((M, 2 * BN), -1.0)
    return Launch((2,), [a, b, c, 2 * BN, turns * BK, max(turns, 1) * BK, M, BN, BK], c, wanted)


def own_tiles(turns, count=5):
    a, b, wanted = operands(turns, count * BN, torch.float16)
    c = torch.full((M, count * BN), -1.0)
    sizes = [count * BN, turns * BK, max(turns, 1) * BK, count, M, BN, BK]
    return Launch((2,), [a, b, c, *sizes], c, wanted)


def attention(turns, own=False):
    k = turns * BK
    q, keys, values = whole(M, 64), whole(max(k, BK), 64), whole(max(k, BK), 64)
    c = torch.full((M, 64), -1.0)
    products = q.float() @ keys[:k].float().T
    # Turns behind one in which a row's maximum grew begin its sum anew.
    p = (products == products.amax(1, keepdim=True)).float() if k else products
    if own:
        return Launch((1,), [q, keys, values, c, k, max(k, BK), M, BK, 64], c, p @ values[:k].float())
    args = [described(q, M, 64), described(keys, BK, 64), described(values, BK, 64), described(c, M, 64)]
    return Launch((1,), [*args, k, M, BK, 64], c, p @ values[:k].float())


def anew(turns):
    a, b, _ = operands(turns, BN, torch.float16)
    rows = max(turns // 2, 1)
    c, wanted = torch.full((rows * M, BN), -1.0), torch.full((rows * M, BN), -1.0)
    for i in range(turns // 2):
        part = slice(2 * i * BK, 2 * (i + 1) * BK)
        wanted[i * M : (i + 1) * M] = a.float()[:, part] @ b.float()[part]
    args = [described(a, M, BK), described(b, BK, BN), described(c, M, BN)]
    return Launch((1,), [*args, turns * BK, M, BN, BK], c, wanted)


def indices(turns, B=256):
    where = torch.randint(0, 1000, (max(turns, 1) * B,), dtype=torch.int32)
    x = torch.randint(-1000, 1000, (1000,), dtype=torch.int32)
    y = torch.zeros(2 * B, dtype=torch.int32)
    used = where[: turns * B].long()
    wanted = torch.zeros_like(y)
    wanted.index_add_(0, used % B, x[used])
    wanted[B:] = x[used].reshape(-1, B).sum(0)
    return Launch((1,), [where, x, y, turns * B, B], y, wanted)


def scales(turns, size=128):
    k = turns * size
    a, b = whole(M, k).to(torch.float8_e4m3fn), whole(k, BN).to(torch.float8_e4m3fn)
    sa = torch.randint(126, 130, (M, k // 32), dtype=torch.uint8)
    sb = torch.randint(126, 130, (BN, k // 32), dtype=torch.uint8)
    c = torch.full((M, BN), -1.0)
    x = a.float() * torch.exp2(sa.float() - 127).repeat_interleave(32, 1)
    y = b.float() * torch.exp2(sb.float() - 127).repeat_interleave(32, 1).T
    return Launch((1,), [a, sa, b, sb, c, BN, k, M, BN, size], c, x @ y)


@dataclasses.dataclass
class Case:
    name: str
    kernel: object
    launch: Callable[[int], Launch]
    options: dict
    targets: tuple[int, ...] = (90, 100)
    turns: tuple[int, ...] = TURNS
    quick: bool = False  # in every `make test`
    holds: str = ""  # what its TTGIR has


# These ops show that the compiler made the shape that a row is for.
COPIES, TMA = "ttg.async_copy_global_to_local", "ttng.async_tma_copy_global_to_local"
APART = "ttg.warp_specialize("
FIVE = (1, 2, 3, 4, 5)
BLACKWELL = (100,)


def special(name, kernel, launch, options, **more):
    """A row of warp specialisation. With descriptors of the host and four warps Triton 3.9 refuses it for
    Hopper (it halves the tile, but not the descriptor's block)."""
    more.setdefault("targets", (90, 100) if "own" in name else BLACKWELL)
    return Case(name, kernel, launch, {"SPECIAL": True, **options}, holds=APART, **more)


CASES = [
    *(Case(f"pointers-{n}-stages", by_pointers, pointers, {"STAGES": n}, quick=n in (1, 3),
           holds=COPIES if n > 1 else "") for n in FIVE),
    Case("pointers-8-warps", by_pointers, pointers, {"STAGES": 3, "num_warps": 8}, holds=COPIES),
    Case("pointers-flattened", by_pointers, pointers, {"STAGES": 3, "FLAT": True}, holds=COPIES),
    Case("pointers-unrolled-2", by_pointers, pointers, {"STAGES": 3, "UNROLL": 2}, holds=COPIES),
    Case("pointers-unrolled-3", by_pointers, pointers, {"STAGES": 2, "UNROLL": 3}, holds=COPIES),
    Case("pointers-one-accumulator", by_pointers, pointers, {"STAGES": 3, "ONE": True}, holds=COPIES),
    Case("pointers-fp8", by_pointers, lambda n: pointers(n, torch.float8_e4m3fn), {"STAGES": 3}),
    Case("pointers-bf16", by_pointers, lambda n: pointers(n, torch.bfloat16), {"STAGES": 4}, holds=COPIES),
    Case("pointers-tf32", by_pointers, lambda n: pointers(n, torch.float32), {"STAGES": 2}),
    Case("masks", by_masks, masks, {"STAGES": 3}, quick=True, holds=COPIES),
    *(Case(f"descriptors-{n}-stages", by_descriptors, descriptors, {"STAGES": n}, quick=n == 4, holds=TMA)
      for n in FIVE),
    Case("descriptors-unrolled", by_descriptors, descriptors, {"STAGES": 3, "UNROLL": 2}, holds=TMA),
    Case("descriptors-bf16", by_descriptors, lambda n: descriptors(n, torch.bfloat16), {"STAGES": 3}),
    Case("descriptors-fp8", by_descriptors, lambda n: descriptors(n, torch.float8_e5m2), {"STAGES": 3}),
    Case("own-descriptors", by_own_descriptors, own, {"STAGES": 3}, holds=TMA),
    *(special(f"specialized-{n}-stages", by_descriptors, descriptors, {"STAGES": n}, quick=n == 3)
      for n in FIVE),
    special("specialized-flat", by_descriptors, descriptors, {"STAGES": 3, "FLAT": True}),
    special("specialized-one-accumulator", by_descriptors, descriptors, {"STAGES": 3, "ONE": True}),
    special("specialized-8-warps", by_descriptors, descriptors, {"STAGES": 3, "num_warps": 8}),
    *(special(f"specialized-own-{n}-stages", by_own_descriptors, own, {"STAGES": n}, quick=n == 2)
      for n in (2, 3, 4)),
    Case("persistent", persistent, tiles, {"STAGES": 3}, holds=TMA),
    Case("persistent-flat", persistent, tiles, {"STAGES": 3, "FLAT": True}, quick=True, holds=TMA),
    # No turn: see test_an_accumulator_that_the_compiler_forgets.
    special("persistent-specialized", persistent, tiles, {"STAGES": 2}, turns=(1, 2, 5)),
    special("persistent-specialized-flat", persistent, tiles, {"STAGES": 3, "FLAT": True}, quick=True),
    special("persistent-specialized-one", persistent, tiles, {"STAGES": 3, "FLAT": True, "ONE": True}),
    special("persistent-specialized-own", persistent_own, own_tiles, {"STAGES": 3}, turns=(1, 2, 5)),
    special("persistent-specialized-own-flat", persistent_own, own_tiles, {"STAGES": 2, "FLAT": True},
            targets=BLACKWELL),
    # For Hopper Triton 3.9 does not divide a flattened loop into partitions.
    Case("persistent-own-flat", persistent_own, own_tiles, {"STAGES": 2, "FLAT": True, "SPECIAL": True},
         targets=(90,), holds=TMA),
    Case("two-products", two_products, attention, {"STAGES": 2}, holds=TMA),
    Case("two-products-3-stages", two_products, attention, {"STAGES": 3}, holds=TMA),
    special("two-products-specialized", two_products, attention, {"STAGES": 2}, quick=True),
    # Not for Hopper: see test_a_half_that_the_compiler_puts_elsewhere.
    special("two-products-specialized-own", two_products_own, lambda n: attention(n, True), {"STAGES": 2},
            targets=BLACKWELL),
    Case("restarted", restarted, anew, {"STAGES": 3}, holds=TMA),
    special("restarted-specialized", restarted, anew, {"STAGES": 3}),
    *(Case(f"gathered-{n}-stages", gathered, indices, {"STAGES": n}) for n in (1, 2, 3, 5)),
    Case("gathered-unrolled", gathered, indices, {"STAGES": 3, "UNROLL": 4}),
    Case("scaled", scaled, scales, {"STAGES": 2}, targets=BLACKWELL, turns=(1, 2, 3)),
    Case("scaled-3-stages", scaled, scales, {"STAGES": 3}, targets=BLACKWELL, turns=(1, 2, 3)),
    Case("pointers-two-blocks", by_pointers, pointers, {"STAGES": 3, "num_ctas": 2}),
    Case("descriptors-two-blocks", by_descriptors, descriptors, {"STAGES": 3, "num_ctas": 2}),
]  # fmt: skip


def rows():
    for case in CASES:
        for target in case.targets:
            marks = [] if case.quick else [pytest.mark.long]
            yield pytest.param(case, target, id=f"{case.name}-{target}", marks=marks)


@pytest.mark.parametrize("case, target", list(rows()))
def test_a_loop_gives_what_torch_gives(case, target):
    torch.manual_seed(0)
    for level in ("ttgir", "ptx"):
        for turns in case.turns:
            for way in WAYS:
                launch = case.launch(turns)
                with triton_runner.using(target=f"cuda:{target}", level=level, **way):
                    compiled = case.kernel[launch.grid](*launch.args, **case.options)
                assert torch.equal(launch.out, launch.wanted), (level, turns, way)
                assert case.holds in compiled.asm["ttgir"]


def test_a_half_that_the_compiler_puts_elsewhere():
    """For Hopper Triton 3.9 halves a tile between two partitions by adding 64 to the row of its loads and
    stores. Where row and column are one value, the constant 0 here, it adds 64 to the column as well."""
    launch = attention(2, own=True)
    with triton_runner.using(target="cuda:90", level="ttgir"):
        compiled = two_products_own[launch.grid](*launch.args, STAGES=2, SPECIAL=True)
    stores = re.findall(r"copy_local_to_global %\w+\[(%\w+), (%\w+)\]", compiled.asm["ttgir"])
    assert len(stores) == 2 and all(row == column for row, column in stores)
    assert torch.equal(launch.out[:64], launch.wanted[:64])
    assert (launch.out[64:] == -1).all()  # the second half goes to columns that the tensor does not have


def test_an_accumulator_that_the_compiler_forgets():
    """Triton 3.9 clears one of the two accumulators that a specialised persistent loop takes in turn: a tile
    whose inner loop has no turn stores the other one as it was found."""
    launch = tiles(0)
    with (
        triton_runner.using(target="cuda:100", level="ttgir", check="uninit"),
        pytest.raises(
            triton_runner.KernelTrap, match=r"(?s)never written.*ttng.tmem_load.*nothing was stored"
        ),
    ):
        persistent[launch.grid](*launch.args, STAGES=2, SPECIAL=True)


def test_a_copy_that_the_compiler_overwrites():
    """For Blackwell Triton 3.9 turns an f32 block of a descriptor by a copy in shared memory, which has one
    place, though the product of the turn before may still read it."""
    settings = {"target": "cuda:100", "level": "ptx"}
    for level, writes, reads in (
        ("ttgir", "ttg.local_alloc", "ttng.tc_gen5_mma"),
        ("ptx", "st.shared", "tcgen05.mma"),
    ):
        launch = descriptors(3, torch.float32)
        with (
            triton_runner.using(**settings | {"level": level}, check="race"),
            pytest.raises(triton_runner.KernelTrap, match=f"(?s)data race in {writes}.*{reads}"),
        ):
            by_descriptors[launch.grid](*launch.args, STAGES=3)
    for timing, right in (("eager", True), ("late", False)):
        launch = descriptors(3, torch.float32)
        with triton_runner.using(**settings, timing=timing):
            by_descriptors[launch.grid](*launch.args, STAGES=3)
        assert torch.equal(launch.out, launch.wanted) == right


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("target", [100, 120])
def test_bytes_that_a_load_turns(kind, target):
    """The second operand of mma.sync from rows of bytes: ldmatrix.m16n16, transposed."""
    a, b = whole(32, 128, dtype=kind), whole(128, 32, dtype=kind)
    for level in ("ttgir", "ptx"):
        c = torch.full((32, 32), -1.0)
        with triton_runner.using(target=f"cuda:{target}", level=level):
            compiled = by_own_descriptors[(1,)](a, b, c, 32, 128, 128, 32, 32, 64, STAGES=1, num_warps=1)
        assert torch.equal(c, a.float() @ b.float()), level
    assert "ldmatrix.sync.aligned.m16n16" in compiled.asm["ptx"]
