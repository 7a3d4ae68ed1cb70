"""Tests cubins of every release that this machine has, each by its own ptxas: the bits of their PTX."""

import pathlib

import numpy as np
import pytest
import triton_runner
from test_sass_pairs import differing
from triton_runner._base import tools
from triton_runner._pipeline import versions

KERNELS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "kernels"
# `triton-runner versions add` fetches the others.
RELEASES = [row["version"] for row in versions.listed()]
N, BLOCK, ROWS, COLUMNS, M, K = 1000, 256, 6, 300, 64, 96


def random(*shape, dtype=np.float32):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


# The kernel, its signature, constants, options, grid, arguments (those that are 1 are constants, too): the
# arrays that it writes are zeros.
LAUNCHES = {
    "vector_add:add_kernel": (
        "*fp32:16, *fp32:16, *fp32:16, i32", {"BLOCK": BLOCK}, {}, 4,
        lambda: [random(N), random(N)[::-1].copy(), np.zeros(N, np.float32), N],
    ),
    "softmax:softmax_kernel": (
        "*fp32:16, *fp32:16, i32, i32, i32, i32", {"BLOCK": 512}, {"num_warps": 4}, 2,
        lambda: [np.zeros((ROWS, COLUMNS), np.float32), random(ROWS, COLUMNS),
                 COLUMNS, COLUMNS, ROWS, COLUMNS],
    ),
    "matmul:matmul_kernel": (
        "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32:16, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1",
        {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 8, "ACTIVATION": "leaky_relu"},
        {"num_warps": 4, "num_stages": 3}, 3,
        lambda: [random(M, K, dtype=np.float16), random(K, K, dtype=np.float16), np.zeros((M, K), np.float16),
                 M, K, K, K, K, K],
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize("kernel", LAUNCHES)
@pytest.mark.parametrize("release", RELEASES)
def test_machine_code_beside_its_ptx(release, kernel, target):
    signature, constants, options, programs, values = LAUNCHES[kernel]
    file, name = kernel.split(":")
    made = triton_runner.compile(
        f"{KERNELS / file}.py:{name}", signature, constants, target=target, options=options, triton=release
    )
    left = {}
    for level in ("ptx", "cubin"):
        left[level] = values()
        made.load(level, "cpu")[(programs,)](*left[level])
    for ptx, cubin, before in zip(left["ptx"], left["cubin"], values(), strict=True):
        if isinstance(ptx, np.ndarray):
            assert np.array_equal(ptx, cubin)
            assert before.any() or ptx.any()


# Assemblers write these in several ways: ELECT with its members, halves of a constant, a NOP before REDUX.
SPELLINGS = [
    "elect.sync %o|%p0,-1; selp.b32 %r1,%a,%b,%p0; add.u32 %o,%o,%r1;",
    "and.b32 %r1,%r32,1; setp.eq.u32 %p1,%r1,0; @%p1 bra L1; elect.sync %o|%p0,0xaaaaaaaa; "
    "selp.b32 %r1,%a,%b,%p0; add.u32 %o,%o,%r1; L1: xor.b32 %o,%o,%c;",
    "cvt.u16.u32 %h1,%u; cvt.f32.f16 %o,%h1; add.f32 %o,%o,%a;",
    "cvt.u16.u32 %h1,%u; fma.rn.f16 %ol,%al,%h1,%bl;",
    "and.b32 %r1,%r32,3; setp.eq.u32 %p0,%r1,1; selp.b32 %r2,0x22222222,0xdddddddd,%p0; "
    "redux.sync.xor.b32 %o,%b,%r2;",
]


@pytest.mark.parametrize("ptxas", sorted({path for path, _ in tools.programs("ptxas")}))
def test_what_assemblers_spell_otherwise(ptxas):
    assert differing("sm_90", ptxas, SPELLINGS, version="8.0") == []
