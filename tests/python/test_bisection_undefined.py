"""triton-runner bisect of programs that are wrong themselves: order, races, traps, promises not kept."""

import pathlib

import pytest

triton = pytest.importorskip("triton")
from bisecting import HEAD, INSTALLED, TWICE, judge  # noqa: E402
from triton_runner._bisect import order, search  # noqa: E402

ATOMICS = """
import numpy as np, sys, triton_runner, triton.language as tl

@triton_runner.jit
def kernel(x, out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.atomic_add(out + index, tl.load(x + tl.program_id(0) * N + index))

x = np.random.default_rng(0).standard_normal((32, 64)) * 10.0 ** (np.arange(32) % 5)[:, None]
x, out, want = x.astype(np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32)
kernel[(32,)](x, out, 64, num_warps=2)
for row in x:
    want += row
"""


def test_sums_that_hang_on_the_order_of_atomics(tmp_path):
    status, said = judge(tmp_path, ATOMICS + "sys.exit(int(not np.allclose(out, want, 1e-3, 1e-2)))")
    assert (status, said["verdict"]) == (0, "right")
    status, said = judge(tmp_path, ATOMICS + "sys.exit(int((out != want).any()))")
    assert (status, said["verdict"]) == (1, "undefined") and "order of its programs" in said["notes"][0]
    program = search.Program(str(tmp_path / "program.py"))
    release = search.Release(INSTALLED, program)
    try:
        assert order.is_of_atomics(release, 0)
    finally:
        release.close()


RACE = HEAD.replace("VALUE", "tl.program_id(0)").replace("[(1,)]", "[(4,)]")


def test_a_race_is_undefined_however_the_program_ends(tmp_path):
    status, said = judge(tmp_path, RACE + "sys.exit(0)")
    assert (status, said["verdict"]) == (1, "undefined") and "race" in said["notes"][0]
    (seen,) = said["evidence"]
    assert (seen["op"], seen["line"], seen["element"], seen["got"]) == ("tt.store", 7, [0], None)
    status, said = judge(tmp_path, RACE + "sys.exit(1)")
    assert (status, said["verdict"]) == (1, "undefined") and said["evidence"][0] == seen


def test_a_trap_is_its_own_evidence(tmp_path):
    status, said = judge(tmp_path, TWICE.replace("out + index", "out + index * 1000"))
    assert (status, said["verdict"]) == (1, "kernel")
    (seen,) = said["evidence"]
    assert (pathlib.Path(seen["file"]).name, seen["line"], seen["kernel"]) == ("program.py", 7, "kernel")


HINT = """
import sys
import torch, triton, triton.language as tl

@triton.jit
def moved(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    at = HINTED
    tl.store(y + i, tl.load(x + at))

x, y = torch.arange(256, dtype=torch.float32), torch.zeros(256)
moved[(1,)](x, y, N=256)
sys.exit(not torch.equal(y, torch.roll(x, -1)))
"""


def test_a_promise_that_is_not_so(tmp_path):
    """Wide accesses come of it; without it the kernel is right."""
    used = "tl.max_contiguous(tl.multiple_of((i + 1) % N, N), N)"
    status, said = judge(tmp_path, HINT.replace("HINTED", used))
    assert (status, said["verdict"]) == (1, "undefined")
    assert "tt.divisibility = 256 promises; compiled without hints it is right" in said["notes"][-1]
    seen = said["evidence"][0]
    assert (seen["op"], seen["line"], seen["element"]) == ("arith.remsi", 8, [0])


@pytest.mark.long
def test_a_promise_that_changes_nothing(tmp_path):
    unused = "tl.where(tl.multiple_of(i + 1, 4) > 0, (i + 1) % N, 0)"
    status, said = judge(tmp_path, HINT.replace("HINTED", unused))
    assert (status, said["verdict"]) == (0, "right")
    assert "tt.divisibility = 4 promises" in said["notes"][0]
