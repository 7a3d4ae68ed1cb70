"""Tests ledger(): against the metadata of each release at hand, against itself (no two buffers that are
needed at once share a byte), and its registers against a count by hand."""

import json

import pytest
import warm

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from triton_runner import ptx  # noqa: E402
from triton_runner._pipeline import versions  # noqa: E402

KERNELS = """
import triton, triton.language as tl
@triton.jit
def total(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y, tl.sum(tl.load(x + i), 0))

@triton.jit
def product(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, r = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros([M, N], tl.float32)
    for at in range(0, k, K):
        left = tl.load(a + m[:, None] * k + at + r[None, :])
        right = tl.load(b + (at + r[:, None]) * N + n[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))

@triton.jit
def copy(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))
"""
RELEASES = sorted({row["version"] for row in versions.listed()}, key=versions.key)
PRODUCT = ("*fp16:16, *fp16:16, *fp16:16, i32:16", {"M": 64, "N": 64, "K": 32})


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "kernels.py"
    path.write_text(KERNELS)
    return path


def check(found):
    """Checks what holds for every ledger."""
    assert found.total == found.shared
    for one in found.allocations:
        assert one.offset >= 0 and one.offset + (one.bytes or one.room) <= found.shared
        assert one.bytes is None or one.bytes <= one.room
        assert one.op in found.text.splitlines()[one.line - 1]
        assert one.place.startswith("kernels.py:")
    pairs = [(a, b) for i, a in enumerate(found.allocations) for b in found.allocations[i + 1 :]]
    for a, b in pairs:
        if a.first <= b.last and b.first <= a.last and a.bytes and b.bytes:
            assert a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
    assert found.peak <= found.shared


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("release", RELEASES)
def test_against_the_metadata(file, release, target):
    found = triton_runner.ledger(
        f"{file}:product", *PRODUCT, target=target, options={"num_stages": 3}, triton=release
    )
    check(found)
    buffers = [one for one in found.allocations if one.op.endswith("local_alloc")]
    assert len(buffers) >= 2 and {one.place for one in buffers} <= {"kernels.py:13", "kernels.py:14"}
    if not (target.startswith("hip") and versions.key(release) < (3, 2)):  # these do not pipeline it
        assert all("ipelin" in one.made_by for one in buffers)
    assert max(one.offset + (one.bytes or one.room) for one in found.allocations) == found.shared
    if target == "cuda:80":  # two buffers of the right and of the left side
        assert found.peak >= 2 * (64 * 32 + 32 * 64) * 2 and found.unused == found.shared - found.peak


@pytest.mark.parametrize("release", RELEASES)
def test_scratch_of_a_reduction(file, release):
    found = triton_runner.ledger(
        f"{file}:total", "*fp32:16, *fp32:16", {"BLOCK": 1024}, target="cuda:90", triton=release
    )
    check(found)
    (one,) = found.allocations
    assert one.op == "tt.reduce" and one.made_by == "front end" and one.first == one.last
    assert one.room == found.shared == 16  # a number for each of four warps
    assert (one.bytes is None) == (versions.key(release) < (3, 9))


def test_none(file):
    found = triton_runner.ledger(f"{file}:copy", "*fp32:16, *fp32:16", {"BLOCK": 128}, target="cuda:90")
    assert (found.shared, found.peak, found.allocations) == (0, 0, ())


def test_registers_by_hand():
    """Before the store: the address (2), the sum (1), and the value that is needed behind it (1)."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<5>; .reg .b64 %rd<2>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [p];
  ld.global.b32 %r1, [%rd1];
  ld.global.b32 %r2, [%rd1+4];
  add.s32 %r3, %r1, %r2;
  setp.eq.s32 %p1, %r1, 0;
  st.global.b32 [%rd1+8], %r3;
  @%p1 bra $done;
$again:
  add.s32 %r2, %r2, 1;
  setp.ne.s32 %p1, %r2, 9;
  @%p1 bra $again;
$done:
  st.global.b32 [%rd1], %r2;
  ret;
}
"""
    function = ptx.parse(text).function("k")
    at, words, live = function.pressure()
    assert words == 5 and function.instructions[at].opcode == "setp.eq.s32"
    assert {name for name, _, _ in live} == {"%rd1", "%r1", "%r2", "%r3"}
    assert {name: d for name, _, d in live}["%r3"] == 3


def test_sums_are_live_through_a_loop(file):
    """64x64 sums of 128 threads are 32 registers each, which the product's line gives, or the loop's."""
    found = triton_runner.ledger(f"{file}:product", *PRODUCT, target="cuda:80")
    assert found.registers.words >= 32
    assert sum(words for words, _ in found.registers.by_place.values()) == found.registers.words
    assert max(words for words, _ in found.registers.by_place.values()) >= 24


def test_command_line(file):
    words = ["ledger", f"{file}:product", "-s", PRODUCT[0], "-t", "cuda:90"]
    words += [f"-c{name}={value}" for name, value in PRODUCT[1].items()]
    text = warm.cli(*words, check=True).stdout
    told = json.loads(warm.cli(*words, "--json", check=True).stdout)
    assert f"{told['shared']} bytes of shared memory" in text and "TritonGPUPipeline" in text
    assert f"at most {told['registers']['words']} live at once" in text
