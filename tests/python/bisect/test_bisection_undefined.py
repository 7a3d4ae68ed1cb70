"""Tests triton-runner bisect of programs that are wrong themselves: order, races, traps, promises not
kept."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pytest
import warm

triton = pytest.importorskip("triton")
from bisecting import HEAD, INSTALLED, TWICE, judge  # noqa: E402

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


EXACT = ATOMICS + "sys.exit(int((out != want).any()))"


def test_sums_that_depend_on_the_order_of_atomics(tmp_path):
    status, said = judge(tmp_path, ATOMICS + "sys.exit(int(not np.allclose(out, want, 1e-3, 1e-2)))")
    assert (status, said["verdict"]) == (0, "right")
    status, said = judge(tmp_path, EXACT)
    assert (status, said["verdict"], said["faults"]) == (0, "nondeterministic", [])
    assert "right in one order of its programs and atomics, and wrong in another" in said["notes"][0]
    (seen,) = said["evidence"]
    assert (seen["op"], seen["line"], seen["argument"], seen["class"]) == (
        "tt.atomic_rmw",
        7,
        "out",
        "atomics",
    )
    assert seen["got"] != seen["want"] and seen["kernel"] == "kernel"


@contextlib.contextmanager
def busy(count):
    """Processes that take the cores."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


def test_the_same_page_on_a_busy_machine(tmp_path):
    """Sums in one fixed order, on any number of cores and whoever else uses them."""
    (tmp_path / "program.py").write_text(EXACT)
    pages = set()
    with busy(2 * (os.cpu_count() or 1)):
        for threads in ("", "4"):
            variables = {"TRITON_RUNNER_THREADS": threads} if threads else {}
            words = ["bisect", "--versions", INSTALLED, "program.py"]
            done = warm.cli(*words, cwd=tmp_path, variables=variables)
            pages.add(done.stdout)
    assert len(pages) == 1 and "nondeterministic" in pages.pop()


def test_a_sum_that_is_wrong_in_every_order(tmp_path):
    status, said = judge(tmp_path, ATOMICS + "sys.exit(int((out != 5).any()))")
    assert (status, said["verdict"]) == (1, "kernel")
    assert said["notes"][0] == "the bits of 'out' (line 7) depend on the order of atomics"


# A pass that changes each part of a sum a little.
FACTOR = """
from triton_runner._pipeline import plans
step = {"adds": ["passes.ttgpuir.add_coalesce"], "nth": 1, "stage": "make_ttgir"}
plans.planted = {"edit": [[step, "dense<3.000000e+00>", "dense<CHANGED>"]]}
"""


@pytest.mark.parametrize(("changed", "verdict"), [("3.000001", "nondeterministic"), ("3.00003", "compiler")])
def test_a_fault_as_small_as_what_order_changes(tmp_path, changed, verdict):
    """Right in every order that is tried, and wrong by no more than another order may change."""
    text = ATOMICS.replace("+ index))", "+ index) * 3.0)").replace(
        "want += row", "want += row * np.float32(3)"
    )
    text += "sys.exit(int(np.abs(out - want).max() > LIMIT * np.abs(want).max()))"
    status, said = judge(tmp_path, FACTOR.replace("CHANGED", changed) + text.replace("LIMIT", "2.5e-7"))
    assert (status, said["verdict"]) == (int(verdict == "compiler"), verdict), said
    named = (said["pass"] or {}).get("name")
    assert named == ("TritonGPUCoalesce" if verdict == "compiler" else None)
    assert said["evidence"][0]["class"] == "atomics"


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


# Two buffers for a product that is still in flight when the next copy writes its slot (triton#6691): one
# program, and no atomics.
IN_FLIGHT = """
import torch, triton, triton.language as tl

@triton.jit
def squares(x, sums, out, ROWS, D: tl.constexpr, B: tl.constexpr):
    d, b = tl.arange(0, D), tl.arange(0, B)
    total, acc = tl.zeros((D,), tl.float32), tl.zeros((D, D), tl.float32)
    for row in range(0, ROWS, B):
        block = tl.load(x + (row + b)[:, None] * D + d[None, :])
        total += tl.sum(block.to(tl.float32), axis=0)
        acc += tl.dot(tl.trans(block), block)
    tl.store(sums + d, total)
    tl.store(out + d[:, None] * D + d[None, :], acc)

x = ((torch.arange(256 * 64) * 7) % 5 - 2).reshape(256, 64).half()
sums, out = torch.zeros(64), torch.zeros(64, 64)
squares[(1,)](x, sums, out, 256, 64, 64, num_stages=3)
assert torch.equal(out, x.float().T @ x.float())
"""


def test_a_race_that_the_compiler_makes_is_its_fault(tmp_path):
    """The program is right in one order and wrong in another, below the level at which the kernel is
    defined."""
    status, said = judge(tmp_path, IN_FLIGHT)
    assert (status, said["verdict"], said["level"]) == (1, "compiler", "ttgir")
    assert (said["stage"], said["pass"]["name"]) == ("make_ttgir", "TritonGPUPipeline")
    assert {"shuffle": "1"} in said["conditions"] and "leave-out" in said["confirmed_by"]
    assert any("at ttir no order changes it" in note for note in said["notes"])
    race = said["evidence"][0]
    assert (race["op"], race["line"]) == ("cp.async.cg.shared.global", 9)


# The store of one warp, and the load of another: nothing orders the two but a barrier of the kernel's own.
WARPS = """
import sys, torch, triton, triton.language as tl

@triton.jit
def moved(x, out, N: tl.constexpr):
    i, r = tl.arange(0, N), tl.arange(0, 4)
    tile = tl.load(x + N + r[:, None] * N + i[None, :])
    BARRIER
    tl.store(x + r[:, None] * N + i[None, :], tile)
    BARRIER
    tl.store(out + i, tl.load(x + i))

x, out = torch.arange(5 * 256, dtype=torch.float32), torch.zeros(256)
want = torch.cat([x[256:], x[-256:]])
moved[(1,)](x, out, 256)
sys.exit(int(not torch.equal(x, want)))
"""


@pytest.mark.parametrize(
    ("barrier", "ends"), [("pass", (1, "undefined")), ("tl.debug_barrier()", (0, "right"))]
)
def test_a_barrier_that_the_kernel_lacks_is_its_own_fault(tmp_path, barrier, ends):
    status, said = judge(tmp_path, WARPS.replace("BARRIER", barrier))
    assert (status, said["verdict"]) == ends and said["faults"] == []


# A store that is read back in the same iteration of a pipelined loop (triton#8259): the copy goes ahead of
# it.
READ_BACK = """
import torch, triton, triton.language as tl

@triton.jit
def back(x, out, N):
    for at in tl.range(0, N, 128, num_stages=2):
        i = at + tl.arange(0, 128)
        tl.store(x + i, (i * 3).to(tl.float32))
        tl.store(out + i, tl.load(x + i))

x, out = torch.zeros(512), torch.zeros(512)
back[(1,)](x, out, 512)
assert torch.equal(out, torch.arange(512).float() * 3)
"""


def test_a_copy_that_goes_ahead_of_a_store_is_the_pipeliner_s(tmp_path):
    status, said = judge(tmp_path, READ_BACK)
    assert (status, said["verdict"], said["level"]) == (1, "compiler", "ttgir")
    assert said["pass"]["name"] == "TritonGPUPipeline"
