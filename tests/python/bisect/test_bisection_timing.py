"""Tests triton-runner bisect of faults that the default timing hides: each release is judged at both ends
of timing, and checked for races."""

import dataclasses
import pathlib

import pytest

triton = pytest.importorskip("triton")
from bisecting import INSTALLED, OTHERS, TWICE, judge  # noqa: E402
from triton_runner import ir  # noqa: E402
from triton_runner._code import stores  # noqa: E402
from triton_runner.verbs.bisect import order, runs, splice  # noqa: E402
from triton_runner.verbs.bisect.trial import Kernel, Ran, Trial  # noqa: E402

# A loop that is pipelined by two buffers; after the pipeliner both are one, so that the next copy overwrites
# what is still to be read. The kernel is that of the page on the fault. PLANTED: in which release.
PIPELINED = """
import sys, torch, triton, triton.language as tl
from triton_runner._pipeline import plans
if triton.__version__ == PLANTED:
    step = {"adds": ["passes.ttgpuir.add_pipeline"], "nth": 1, "stage": "make_ttgir"}
    edit = [step, "%c2_i32 = arith.constant 2 : i32", "%c2_i32 = arith.constant 1 : i32"]
    plans.planted = {"edit": [edit]}

"""
PAGE = pathlib.Path(__file__).parents[3] / "doc" / "solving_triton_issues" / "issue_8139.py"
PIPELINED += PAGE.read_text().partition("\n\n\n")[2]
EAGER, RACE = {"timing": "eager"}, {"timing": "late", "check": "race"}


def test_a_buffer_that_the_next_copy_overwrites(tmp_path):
    status, said = judge(tmp_path, PIPELINED.replace("PLANTED", repr(INSTALLED)))
    assert (status, said["verdict"], said["release"]["wrong"]) == (1, "compiler", [INSTALLED])
    assert (said["stage"], said["pass"]["name"]) == ("make_ttgir", "TritonGPUPipeline")
    assert said["confirmed_by"] == ["execution", "leave-out"] and said["levels"]["ttir"] == "right"
    assert said["conditions"] == [EAGER, RACE]
    assert said["notes"][0].startswith("right by default, and wrong with timing=eager, and with timing=late")
    race, stored = said["evidence"]
    assert (race["op"], race["line"]) == ("cp.async.ca.shared.global", 12)
    assert (stored["op"], stored["line"], stored["argument"]) == ("tt.store", 14, "out")


def test_without_the_fault_it_is_right_at_both_ends(tmp_path):
    status, said = judge(tmp_path, PIPELINED.replace("PLANTED", "''"))
    assert (status, said["verdict"], said["faults"]) == (0, "right", [])


def test_when_a_release_is_judged_again():
    kernel = Kernel("kernel", [], None)
    asked = {
        (): [EAGER, RACE],  # of kernels that nobody saw compiled
        (("shared", 0),): [],
        (("shared", 64),): [RACE],
        (("asynchronous", True),): [EAGER, RACE],
    }
    for facts, wanted in asked.items():
        trial = Trial("right", kernels=[dataclasses.replace(kernel, **dict(facts))] if facts else [])
        assert [order.named(one) for one in order.conditions(trial)] == wanted
    of_races = [
        race
        for race in ("global", "shared", "in flight", "copies", "fence", "order")
        if order.is_fault(Trial("wrong", trap="data race", race=race))
    ]
    assert of_races == ["global", "shared", "in flight", "order"]


MATMUL = """
import torch, triton, triton.language as tl

@triton.jit
def matmul(a, b, c, K: tl.constexpr, BK: tl.constexpr, N: tl.constexpr):
    n = tl.arange(0, N)
    acc = tl.zeros((N, N), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + n[:, None] * K + rk), tl.load(b + rk[:, None] * N + n), acc)
    tl.store(c + n[:, None] * N + n, acc)

torch.manual_seed(0)
a, b = torch.randn(64, 128).half(), torch.randn(128, 64).half()
c = torch.empty(64, 64)
matmul[(1,)](a, b, c, K=128, BK=32, N=64, num_stages=3)
torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-3, atol=1e-2)
"""


def test_a_fence_that_the_compiler_leaves_out_is_a_note(tmp_path):
    """Before 3.7 Triton puts no fence between cp.async and wgmma: no timing shows it."""
    status, said = judge(tmp_path, MATMUL, "--versions", "3.6.0")
    assert (status, said["verdict"], said["release"]["right"]) == (0, "right", ["3.6.0"])
    assert "a fence is missing in the PTX of 3.6.0: " in said["notes"][0]


def test_a_run_under_several_conditions(monkeypatch):
    """Wrong under one of them is wrong; what cannot be judged under one is judged by the others."""
    release = runs.Release(INSTALLED, runs.BisectedProgram("program.py"))
    ends = {"a": "right", "b": "wrong", "c": "unknown"}
    ran = []

    def run(level, plan, variables, **more):
        ran.append(variables["X"])
        return Trial(ends[variables["X"]])

    monkeypatch.setattr(release, "_run", run)
    for names, verdict in {"ab": "wrong", "ac": "right", "ca": "right", "c": "unknown"}.items():
        assert release.under(*({"X": name} for name in names)).at("ptx").verdict == verdict
    assert ran == ["a", "b", "c"]  # each once
    release.close()


STORES = """
module {
  tt.func public @kernel(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %yes = arith.constant true
    %v = arith.constant 1.0 : f32
    %p = arith.select %yes, %b, %a : !tt.ptr<f32>
    %q = scf.for %i = %zero to %n step %one iter_args(%at = %a) -> (!tt.ptr<f32>)  : i32 {
      %next = tt.addptr %at, %one : !tt.ptr<f32>, i32
      WRITTEN
      scf.yield %next : !tt.ptr<f32>
    }
    LATER
    tt.return
  }
}
"""
WRITERS = [
    ("", "tt.store %q, %v : !tt.ptr<f32>", "a", "tt.store"),
    ("tt.store %next, %v : !tt.ptr<f32>", "", "a", "tt.store"),
    ("", "tt.store %p, %v : !tt.ptr<f32>", "b", "tt.store"),
    ("%r = tt.atomic_rmw fadd, relaxed, gpu, %at, %v, %yes : (!tt.ptr<f32>, f32, i1) -> f32", "", "a",
     "tt.atomic_rmw"),
    ("tt.atomic_store relaxed, gpu, %at, %v : !tt.ptr<f32>", "", "a", "tt.atomic_store"),
    ("", "amdg.buffer_store %v, %b[%n] : f32", "b", "amdg.buffer_store"),
]  # fmt: skip


@pytest.mark.parametrize(("inside", "later", "argument", "op"), WRITERS, ids=[one[3] for one in WRITERS])
def test_the_op_that_writes_an_array(inside, later, argument, op):
    module = ir.parse(STORES.replace("WRITTEN", inside).replace("LATER", later))
    position = "ab".index(argument)
    name, writer = stores.store(module, position, 2)
    assert (name, writer and writer.name) == (argument, op)
    assert stores.store(module, 1 - position, 2) == ("ab"[1 - position], None)


def test_every_op_that_writes_memory_says_where():
    """Evidence has a line for each of them."""
    rows = [row for row in ir.op_table() if {"stores", "atomics"} & {*row["effects"].split(" | ")}]
    assert len(rows) > 15
    for row in rows:
        assert {one.strip("?*") for one in row["operands"].split(", ")} & {*stores.POINTERS}, row["name"]


SLOTS = """
module {
  tt.func public @k(%p: !tt.ptr<i32>) {
    %v = arith.constant 1 : i32
    %y = arith.constant true
    %r = tt.atomic_rmw add, relaxed, gpu, %p, %v, %y SLOT: (!tt.ptr<i32>, i32, i1) -> i32
    tt.return
  }
}
"""


def test_an_op_that_only_the_right_release_gives_shared_memory(monkeypatch):
    """Then the conversion before it is what differs, not the allocation."""
    allocation = Ran("make_llir", "passes.ttgpuir.add_allocate_shared_memory", True, 0)
    renamed = Ran("make_llir", "nvidia.passes.ttgpuir.add_allocate_shared_memory_nv", True, 0)
    without, slotted = (SLOTS.replace("SLOT", one) for one in ("", "{allocation.offset = 0 : i32} "))
    for mine, lacking in ((without, ["tt.atomic_rmw"]), (slotted, [])):
        it = object.__new__(splice.Splice)
        it._mine = [Kernel("kernel", [allocation], None, texts=[mine])]
        it.steps = splice.steps_of(it._mine)
        theirs = [Kernel("kernel", [renamed], None, texts=[slotted])]
        monkeypatch.setattr(it, "after", lambda i, keep, made=theirs: Trial("right", kernels=made))
        assert it.without_slot(0) == lacking


# The results of a tensor's atomics are not handed to the other threads that hold the element in 3.0 to 3.4.
BROADCAST = """
import sys, torch, triton, triton.language as tl

@triton.jit
def kernel(counts, out, N: tl.constexpr, M: tl.constexpr):
    index = tl.arange(0, N)
    old = tl.atomic_add(counts + index, 1)
    tl.store(out + index[:, None] * M + tl.arange(0, M)[None, :], tl.broadcast_to(old[:, None], (N, M)))

counts, out = torch.arange(16, dtype=torch.int32), torch.zeros(16, 32, dtype=torch.int32)
kernel[(1,)](counts, out, 16, 32, num_warps=4)
sys.exit(int(not torch.equal(out, torch.arange(16, dtype=torch.int32)[:, None].expand(16, 32))))
"""


@pytest.mark.long
@pytest.mark.skipif(
    not {"3.4.0", "3.5.1"} <= {*OTHERS}, reason="Triton 3.4.0 and 3.5.1: triton-runner versions add"
)
def test_a_conversion_that_needs_no_allocation_is_named_for_itself(tmp_path):
    status, said = judge(tmp_path, BROADCAST, "--versions", "3.4.0,3.5.1")
    assert (status, said["release"]["wrong"]) == (1, ["3.4.0"])
    assert said["pass"]["name"] == "ConvertTritonGPUToLLVM" and said["confirmed_by"] == [
        "execution",
        "splice",
    ]
    assert any("allocates no shared memory for tt.atomic_rmw" in note for note in said["notes"])


def test_a_plain_kernel_is_not_judged_twice(tmp_path):
    _, said = judge(tmp_path, TWICE)
    _, other = judge(tmp_path, PIPELINED.replace("PLANTED", "''"))
    assert other["runs"] == said["runs"] + 2
