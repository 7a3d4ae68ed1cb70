"""Tests copies of one value that differ (triton_runner._kernel.cases.copies): sums whose products are
contracted, with one warp and with four; and kernels in which all copies agree."""

import dataclasses
import pathlib
import sys

import pytest
import torch
import triton
import triton.language as tl
import warm
from triton_runner import _settings
from triton_runner._artifact.relaunch import of_call
from triton_runner._kernel.cases import copies
from triton_runner._launch.launchers import observing

ROWS = 8
FOLDER = pathlib.Path(__file__).resolve().parents[3] / "doc" / "solving_triton_issues"
sys.path.insert(0, str(FOLDER))
from copies_of_a_sum import row_sums  # noqa: E402


@triton.jit
def added_sums(a, b, o, N: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, N)
    s = tl.sum(tl.load(a + r * N + at) + tl.load(b + r * N + at), axis=0)
    tl.store(o + r * N + at, tl.zeros((N,), tl.float32) + s.to(tl.float32))


@triton.jit
def sums_in_a_loop(a, b, o, ROUNDS: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    total = 0.0
    for r in range(ROUNDS):
        s = tl.sum(tl.load(a + r * N + at) * tl.load(b + r * N + at), axis=0)
        total += s.to(tl.float32)
    tl.store(o + at, tl.zeros((N,), tl.float32) + total)


@triton.jit
def choose_by_sum(a, b, o, N: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, N)
    s = tl.sum(tl.load(a + r * N + at) * tl.load(b + r * N + at), axis=0)
    tl.store(o + r * N + at, tl.where(tl.zeros((N,), tl.float32) + s.to(tl.float32) > 1e9, 1.0, 2.0))


def _launch(kernel, dtype="float16", warps=1, fusion=True, grid=(ROWS,), **constexprs):
    """A launch over random numbers, with as many elements a row as threads."""
    torch.manual_seed(0)
    n = 32 * warps
    a, b = (torch.randn(ROWS, n, dtype=getattr(torch, dtype)) for _ in range(2))
    o = torch.zeros(ROWS, n, dtype=torch.float32)
    seen = []
    with observing(lambda call, go: seen.append(of_call(call))):
        with _settings.using(device="cpu", level="ptx", target="cuda:90"):
            kernel[grid](a, b, o, N=n, num_warps=warps, enable_fp_fusion=fusion, **constexprs)
    return seen[0]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("warps", [1, 4])
def test_contracted_sums(dtype, warps):
    """With one warp a row holds several values for its sum; with four the hardware chooses one of them."""
    (finding,) = copies.findings(_launch(row_sums, dtype, warps), is_rounding=lambda name, pair: True)
    severity = "fault" if warps == 1 else "warning"
    assert (finding.check, finding.severity, finding.levels) == ("copies", severity, ["ptx"])
    how = "holds one value several times" if warps == 1 else "by no more than rounding explains"
    assert how in finding.message
    assert finding.file.endswith("copies_of_a_sum.py") and finding.op == "tt.reduce"
    assert finding.line == row_sums.fn.__code__.co_firstlineno + 4  # the decorator's line is the first
    assert finding.cause == "contraction" and finding.argument == "o"
    assert "an output depends on which copy is used: 'o'" in finding.message
    assert "enable_fp_fusion=False ends it" in finding.text
    a, b = finding.copies
    assert a["number"] != b["number"] and a["number"] == pytest.approx(b["number"], abs=0.1)
    assert a["thread"] // 32 == b["thread"] // 32 and a["thread"] != b["thread"]
    assert ("stored by st.shared" in finding.text) == (warps == 4)
    assert 0 < finding.evidence["outputs"]["o"]["max_error"] < 0.1


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("warps", [1, 4])
def test_without_fusion_all_copies_agree(dtype, warps):
    assert copies.findings(_launch(row_sums, dtype, warps, fusion=False)) == []


@pytest.mark.parametrize("warps", [1, 4])
def test_right_sums(warps):
    assert copies.findings(_launch(added_sums, "float32", warps)) == []


def test_more_than_rounding_is_a_fault():
    (finding,) = copies.findings(_launch(row_sums, "float32", 4), is_rounding=lambda name, pair: False)
    assert finding.severity == "fault" and "more than rounding explains" in finding.message


def test_harmless_for_these_inputs():
    (finding,) = copies.findings(_launch(choose_by_sum, "float32"))
    assert finding.severity == "warning" and finding.cause == "contraction"
    assert "harmless for these inputs" in finding.message
    assert finding.evidence["outputs"] == {}


def test_values_in_a_loop_begin_in_the_sum():
    """The sum of the round is where it begins; the total that it goes into follows from it."""
    (finding,) = copies.findings(_launch(sums_in_a_loop, "float32", grid=(1,), ROUNDS=ROWS))
    assert finding.op == "tt.reduce" and len(finding.iterations) == 1
    assert 0 <= finding.iterations[0] < ROWS
    assert finding.line == sums_in_a_loop.fn.__code__.co_firstlineno + 5


def test_a_race_that_copies_make_is_explained():
    seen = _launch(row_sums, "float16", 4)
    trap = seen.run("ptx", "race", check="race").trap
    assert trap is not None and trap.kind == "data race"
    assert copies.explains(seen, trap)


def test_another_trap_is_not_explained():
    seen = _launch(row_sums, "float16", 4)
    trap = seen.run("ptx", "race", check="race").trap
    trap.kind = "out of bounds"
    assert not copies.explains(seen, trap)
    trap.kind = "data race"
    assert not copies.explains(_launch(row_sums, "float16", 4, fusion=False), trap)


def test_amd_has_no_ptx():
    seen = _launch(row_sums)
    seen.target = "hip:gfx942"
    assert copies.why_not(seen) == "hip:gfx942 has no PTX"
    assert copies.findings(seen) == []


def test_experiments_make_all_copies_equal():
    """With every copy as one holder has it each row has one sum, the first's or the last's."""
    watched = copies._Watched(_launch(row_sums, "float16"))
    kept = []
    for which in ("first", "last"):
        out = watched.run(which, which).arrays["o"]
        assert all(len(set(row.tolist())) == 1 for row in out)
        kept.append(out)
    assert kept[0].tobytes() != kept[1].tobytes()
    plain = watched.run("plain").arrays["o"]
    assert any(len(set(row.tolist())) > 1 for row in plain)


# ---- what must not be reported


@triton.jit
def padded(a, b, o, n, N: tl.constexpr):
    """Fewer elements than threads, elements that a mask leaves out, a product, a running sum, a choice."""
    at = tl.arange(0, N)
    x = tl.load(a + at, mask=at < n)
    y = tl.load(b + at, mask=at < n, other=0.0)
    z = x * y
    tl.store(o + at, tl.where(z > 0, z, y) + tl.max(x, axis=0), mask=at < n)


@triton.jit
def broadcasts(a, b, o, N: tl.constexpr):
    """Each element of two vectors is in several threads of a matrix."""
    at = tl.arange(0, N)
    x, y = tl.load(a + at), tl.load(b + at)
    grid = x[:, None] * y[None, :] + x[:, None]
    tl.store(o + at, tl.max(grid, axis=1) + tl.min(grid, axis=0))


@triton.jit
def atomics(a, b, o, N: tl.constexpr):
    """The results of atomics, and of a load through a pointer that all threads have."""
    at = tl.arange(0, N)
    old = tl.atomic_add(o + at, tl.load(a + at).to(tl.float32))
    first = tl.atomic_add(o, tl.load(b).to(tl.float32))
    tl.store(o + at, old + first)


@triton.jit
def pipelined(a, b, o, K: tl.constexpr, N: tl.constexpr):
    """A pipelined loop over products, whose operands are in shared memory."""
    i, k = tl.arange(0, 16), tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    for _ in tl.range(0, K, num_stages=3):
        x = tl.load(a + i[:, None] * 16 + k[None, :])
        y = tl.load(b + k[:, None] * 16 + i[None, :])
        total = tl.dot(x, y, total)
    tl.store(o + i[:, None] * 16 + i[None, :], total)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("kernel", [padded, broadcasts, atomics, pipelined], ids=lambda k: k.__name__)
def test_right_kernels(kernel, warps):
    more = {padded: {"n": 13}, pipelined: {"K": 4}}.get(kernel, {})
    assert copies.findings(_launch(kernel, "float16", warps, grid=(1,), **more)) == []


def test_an_experiment_that_stops_is_a_fault(monkeypatch):
    """The launch ends by itself and does not with the last holder's copies."""
    own = copies._Watched.run

    def run(self, how, unify="", **settings):
        done = own(self, how, unify, **settings)
        if unify == "last":
            done = dataclasses.replace(done, trap=RuntimeError("kernel 'row_sums': timeout"))
        return done

    monkeypatch.setattr(copies._Watched, "run", run)
    (finding,) = copies.findings(_launch(row_sums, "float32"))
    assert finding.severity == "fault"
    assert "with the last holder's copies the launch stops: kernel 'row_sums': timeout" in finding.message


def test_what_another_cause_makes_is_not_called_contraction(monkeypatch):
    """Copies that enable_fp_fusion=False does not make equal: here the same PTX stands for it."""
    seen = _launch(row_sums, "float32")
    monkeypatch.setattr(type(seen), "recompiled", lambda self, **options: self)
    (finding,) = copies.findings(seen)
    assert finding.cause == "unknown"
    assert "enable_fp_fusion=False does not end it" in finding.text


def test_lanes_that_store_for_another_cause_are_not_reported(monkeypatch):
    seen = _launch(row_sums, "float32", 4)
    monkeypatch.setattr(type(seen), "recompiled", lambda self, **options: self)
    assert copies.findings(seen) == []


def test_the_page_shows_what_its_script_prints():
    """At PTX the rows have several sums with fusion, and one without."""
    done = warm.cli("run", "--device", "cpu", "--level", "ptx", FOLDER / "copies_of_a_sum.py")
    lines = [line for line in done.stdout.splitlines() if line.startswith("enable_fp_fusion")]
    assert done.returncode == 0 and len(lines) == 2, done.stderr
    page = (FOLDER / "7264-copies-of-a-sum.md").read_text()
    assert all(line in page for line in lines)
