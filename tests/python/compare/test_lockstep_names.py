"""Lockstep pairs values by their definition: MLIR uses a name again in sibling regions and functions. What a
loop that waits goes through is not compared."""

import re
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import kernels_for_names as kernels  # noqa: E402
import triton_runner  # noqa: E402
from kernels_for_dumps import described  # noqa: E402
from triton_runner._code.flow import Flow  # noqa: E402
from triton_runner._kernel.dumps import instrument, requests  # noqa: E402
from triton_runner._kernel.lockstep import lockstep, pairs  # noqa: E402

pytestmark = pytest.mark.skipif(
    not triton.__version__.startswith("3.9"), reason="the edits are of the TTGIR that 3.9 writes"
)
TARGET = "cuda:80"
PAIRS = [("ttir", "ttgir"), ("ttgir", "ptx")]


def run(kernel, levels, **options):
    with triton_runner.using(target=TARGET):
        return triton_runner.lockstep(
            kernel, kernels.arguments(kernel), {"N": kernels.N}, grid=kernels.grid(kernel), levels=levels,
            **options,
        )  # fmt: skip


def agrees(found):
    assert not found.differences and not found.outputs and not found.unobserved and not found.traps, str(
        found
    )


def once(found, level):
    """The names of a run's values, each of which is one value's."""
    names = [values.name for values in found.dumps[level]]
    assert len(names) == len({*names})
    return names


@pytest.mark.parametrize("levels", PAIRS, ids="-".join)
@pytest.mark.parametrize("kernel", kernels.SHARED, ids=lambda k: k.__name__)
def test_right_kernels_agree(kernel, levels):
    found = run(kernel, levels)
    agrees(found)
    names = once(found, levels[0])
    # The values that reductions and scans repeat for pairs of elements are not compared.
    assert any("@" in name for name in names) or kernel is kernels.combines
    (compared,) = found.compared.values()
    assert compared >= 9


def compiled(kernel, level, target=TARGET):
    with triton_runner.using(device="cpu", level=level, target=target):
        launched = kernel[kernels.grid(kernel)](*kernels.arguments(kernel), N=kernels.N)
    return launched.asm[level]


def test_a_planted_bug_is_in_the_arm_that_has_it():
    text = compiled(kernels.arms, "ttgir")
    bad, count = re.subn(r"(%acc_\d+ = arith.)subf( %acc_\d+, %cst)", r"\1addf\2", text)
    assert count == 1
    first = run(kernels.arms, ("ttir", "ttgir"), sources={"ttgir": bad}).diverged
    # The op is another one, so what is compared first is what is made of it.
    assert (first.op, first.iteration, first.program) == (
        "arith.mulf",
        (1,),
        (0, 0, 0),
    ) and "@2" in first.value

    ptx = compiled(kernels.arms, "ptx")
    bad, count = re.subn(r"(add.*f32 \t%r\d+, %r\d+, )0fC0400000", r"\g<1>0fC0000000", ptx)
    assert count >= 1, ptx
    first = run(kernels.arms, ("ttgir", "ptx"), sources={"ptx": bad}).diverged
    # Taps in the arms make branches of what is a selection in this PTX: they are left out of it.
    assert (first.op, first.other_op, first.iteration) == ("scf.if", "scf.if", (1,))


def results(path, *variables):
    """Returns what an op gives, as by_result() sees it."""
    return [
        SimpleNamespace(variable=name, site=SimpleNamespace(path=path, result=i))
        for i, name in enumerate(variables)
    ]


def paired(group, others):
    return [
        ([(v.site.path, v.site.result) for v in some], [(v.site.path, v.site.result) for v in other])
        for some, other in pairs.by_result(group, others)
    ]


def test_what_one_op_gives_is_told_apart_by_variable():
    one = results("a", "low", "high")
    # A result that the other level lacks does not shift the others.
    assert paired(one, results("b", "high")) == [([("a", 1)], [("b", 0)])]
    assert paired(one, results("b", "more", "high")) == [([("a", 1)], [("b", 1)])]
    # A loop of which there are two in the end has two of each.
    twice = results("b", "high", "low") + results("c", "low", "high")
    assert paired(one, twice) == [([("a", 1)], [("b", 0), ("c", 1)]), ([("a", 0)], [("b", 1), ("c", 0)])]


def test_what_has_no_variable_is_told_apart_by_rank():
    assert paired(results("a", "", ""), results("b", "low", "")) == [
        ([("a", 0)], [("b", 0)]), ([("a", 1)], [("b", 1)])
    ]  # fmt: skip
    assert paired(results("a", "", ""), results("b", "", "", "")) == []
    assert paired(results("a", "low", ""), results("b", "high", "")) == [([("a", 1)], [("b", 1)])]


def test_partitions():
    """Regions that run side by side begin with arguments of the same names."""
    generator = torch.Generator().manual_seed(2)
    a, b = (torch.randn(64, 128, generator=generator).half() for _ in range(2))
    with triton_runner.using(target="cuda:100"):
        found = triton_runner.lockstep(
            described, [a, b.reshape(128, 64), torch.zeros(64, 64).half(), 64, 128],
            {"BLOCK": 64, "SPECIALIZE": True}, grid=(1,), levels=("ttgir", "ptx"),
        )  # fmt: skip
    agrees(found)
    values = [v for v in found.dumps["ttgir"] if "warp_specialize.partitions" in v.site.path]
    assert len({v.site.path.split("partitions@")[1].split("/")[0] for v in values}) > 1
    once(found, "ttgir")


@pytest.mark.parametrize(
    "levels, shuffle", [(*PAIRS[:1], None), (*PAIRS[:1], 3), (*PAIRS[1:], None)], ids=str
)  # programs that take a lock in turns meet in another order
@pytest.mark.parametrize("kernel", kernels.WAITING, ids=lambda k: k.__name__)
def test_the_turns_of_a_loop_that_waits_are_not_compared(kernel, levels, shuffle):
    found = run(kernel, levels, shuffle=shuffle)
    agrees(found)
    (compared,) = found.compared.values()
    assert compared >= 5
    assert "acc" in {v.variable for v in found.dumps[levels[1]]} or kernel is kernels.flagged


LOOPS = """
module {
  tt.func public @k(%at: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ticket = tt.atomic_rmw add, acq_rel, gpu, %at, %c1 : (!tt.ptr<i32>, i32) -> i32
    %first = tt.load %at {isVolatile = true} : !tt.ptr<i32>
    %more = arith.addi %first, %c1 : i32
    %flag = scf.while (%a = %more) : (i32) -> i32 {
      %is = arith.cmpi eq, %a, %c0 : i32
      scf.condition(%is) %a : i32
    } do {
    ^bb0(%b: i32):
      %next = tt.load %at {isVolatile = true} : !tt.ptr<i32>
      %less = arith.subi %next, %c1 : i32
      scf.yield %less : i32
    }
    %count = scf.while (%a = %ticket) : (i32) -> i32 {
      %goes = arith.cmpi sgt, %a, %c0 : i32
      scf.condition(%goes) %a : i32
    } do {
    ^bb0(%b: i32):
      %down = arith.subi %b, %c1 : i32
      scf.yield %down : i32
    }
    %work = scf.while (%a = %c0) : (i32) -> i32 {
      %got = tt.atomic_rmw add, acq_rel, gpu, %at, %c1 : (!tt.ptr<i32>, i32) -> i32
      %some = arith.cmpi slt, %got, %n : i32
      scf.condition(%some) %got : i32
    } do {
    ^bb0(%c: i32):
      %to = tt.addptr %at, %c : !tt.ptr<i32>, i32
      tt.store %to, %c : !tt.ptr<i32>
      scf.yield %c : i32
    }
    tt.return
  }
}
"""


def test_which_loops_wait():
    """Not one whose turns are known when it begins, and not one that stores what it does."""
    flow = Flow(LOOPS, "k")
    assert flow.polled() == {"%first", "%more", "%flag", "%a@1", "%is", "%b@1", "%next", "%less"}


SIBLINGS = """
module {
  tt.func public @k(%at: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %is = arith.cmpi eq, %n, %c0 : i32
    %r = scf.if %is -> (i32) {
      %v = arith.addi %n, %n : i32
      scf.yield %v : i32
    } else {
      %v = arith.muli %n, %n : i32
      %w = arith.addi %v, %n : i32
      tt.store %at, %w : !tt.ptr<i32>
      scf.yield %n : i32
    }
    tt.return
  }
}
"""


def test_data_flow_goes_by_definitions():
    flow = Flow(SIBLINGS, "k")
    assert flow.readers("%v@1", {"%r", "%w"}) == ({"%r"}, False)
    assert flow.readers("%v@2", {"%r", "%w"}) == ({"%w"}, False)
    assert flow.readers("%w", {"%r", "%v@1", "%v@2"}) == (set(), True)


@pytest.mark.parametrize("kernel", [kernels.arms, kernels.nested, kernels.called], ids=lambda k: k.__name__)
def test_what_a_kernel_stores_has_the_names_of_the_engines(kernel):
    """As on a GPU: the stores of a dump, run at PTX, beside what the tile engine hands over."""
    runs = []
    for stores in (False, True):
        wanted = requests.request(("*",), kernel, every_iteration=True, level="ttgir")
        given = kernels.arguments(kernel)
        if stores:
            with triton_runner.using(level="ptx", target=TARGET):
                _, recording, _ = instrument.run(wanted, kernel, None, given, {"N": kernels.N}, (1,))
        else:
            recorder = wanted.recorder((kernel.__name__,))
            with triton_runner.using(level="ttgir", target=TARGET, recorder=recorder):
                kernel[(1,)](*given, N=kernels.N)
            (recording,) = recorder.take()
        runs.append(
            SimpleNamespace(
                name="ab"[stores], device="cuda" if stores else "cpu", level="ttgir", polled=set(), flow=None,
                dump=wanted.dump(recording), outputs={"out": given[1].numpy()}, error=None,
            )
        )  # fmt: skip
    differences, _, compared = lockstep._compare(*runs, None)
    assert not differences and compared >= 12, differences
    assert any("@" in v.name for v in runs[0].dump)


def test_it_prints_the_same_each_time():
    texts = {str(run(kernels.locked, ("ttir", "ttgir", "ptx"))) for _ in range(3)}
    assert len(texts) == 1
