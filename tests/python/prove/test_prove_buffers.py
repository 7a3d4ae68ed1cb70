"""Shared memory at TTGIR, for every trip count: what is right is proved, each wait that is weakened is found,
and what is refuted is a launch with a data race."""

import importlib
import json
import re
from pathlib import Path

import pytest
import warm

pytest.importorskip("z3")

from triton_runner import compile
from triton_runner._core import ir
from triton_runner.verbs.prove import run
from triton_runner.verbs.prove.buffers import Buffers

HERE = Path(__file__)
KERNELS = str(HERE.with_name("kernels_pipelined.py"))
H, F, I = "*fp16:16", "*fp32:16", "i32:16"  # noqa: E741
TILES = {"BM": 64, "BN": 64, "BK": 64}
TENSOR = {"BM": 128, "BN": 64, "BK": 64}  # its products stand in tensor memory
# name: (kernel, types, constants, target, stages)
PIPELINES = {
    f"{kernel} {target} {stages}": (kernel, types, constants, target, stages)
    for kernel, types, constants, targets in (
        ("product", (H, H, F, I, I, I), TILES, ("cuda:80", "cuda:90")),
        ("of_boxes", (H, H, F, I, I, I), TILES, ("cuda:90",)),
        ("in_a_branch", ("*i32:16", "*i32:16", "i32", "i32"), {}, ("cuda:80", "cuda:90")),
    )
    for target in targets
    for stages in (2, 3, 4)
}
PIPELINES |= {
    f"{kernel} cuda:100 {stages}": (kernel, (H, H, F, I, I, I), TENSOR, "cuda:100", stages)
    for kernel in ("product", "of_boxes")
    for stages in (2, 3, 4)
}


def ttgir(kernel, types, constants, target, stages) -> str:
    options = {"num_stages": stages}
    return compile(
        f"{KERNELS}:{kernel}", ", ".join(types), constants, target=target, options=options, to="ttgir"
    ).asm["ttgir"]


def explored(text: str) -> Buffers:
    (function,) = ir.parse(text).kernels
    buffers = Buffers(function)
    buffers.explore()
    return buffers


def weakened(text: str):
    """(what, the text) with all waits of a kind waiting for one less, or not at all: of two that stand side
    by side one is enough."""
    for kind, wait in (("num", "ttg.async_wait"), ("pendings", "ttng.warp_group_dot_wait")):
        more = re.sub(
            rf"({re.escape(wait)} [^\n]*{kind} = )(\d+)", lambda found: f"{found[1]}{int(found[2]) + 1}", text
        )
        if more != text:
            yield wait, more
    for what, more in (("", ""), (" of products", "[^\n]* deps ")):
        without = re.sub(rf"\n *ttng\.wait_barrier {more}[^\n]*", "", text)
        if without != text:
            yield f"ttng.wait_barrier{what}", without


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_right_and_its_waits_are_needed(name):
    text = ttgir(*PIPELINES[name])
    right = explored(text)
    assert (right.clashes, right.problems) == ({}, {}) and right.count
    weak = list(weakened(text))
    assert weak and all(explored(wrong).clashes for _, wrong in weak), [what for what, _ in weak]


def test_a_buffer_too_few():
    """triton#8139: what is loaded is used in a branch after the next copy."""
    text = ttgir(*PIPELINES["in_a_branch cuda:90 2"])
    assert not explored(text).clashes
    (clash, *_) = explored(text.replace("%c2_i32 = arith.constant 2", "%c2_i32 = arith.constant 1")).clashes
    assert "may still write: no wait for it stands between them" in clash


def prove(*words):
    done = warm.invoke("prove", "--json", "--property", "buffers", *words)
    (proof,) = json.loads(done.stdout[done.stdout.index("{") :])["proofs"]
    return done.exit_code, proof["answers"][0]


GRAM = "a.shape == (N, D), sums.numel == D, products.numel == D * D, N % 64 == 0, N >= 64"


def test_a_product_that_is_in_flight():
    """triton#6691, which is open in 3.9: found in the text, and then run."""
    words = ("-s", f"{H}, {F}, {F}, {I}", "-c", "D=64", "-t", "cuda:90", "--grid", "1", "--given", GRAM)
    status, answer = prove(*words, "-O", "num_stages=3", f"{KERNELS}:gram")
    assert (status, answer["verdict"]) == (1, "refuted")
    report = answer["counter_example"]["report"]
    assert "ttng.warp_group_dot" in report.splitlines()[0] and "data race" in report
    assert answer["counter_example"]["line"] == 12
    status, answer = prove(*words, "-O", "num_stages=1", f"{KERNELS}:gram")
    assert (status, answer["verdict"]) in ((0, "proved"), (0, "nothing to prove"))


def test_a_clash_that_no_run_shows_is_unknown():
    text = ttgir(*PIPELINES["in_a_branch cuda:90 2"])
    wrong = text.replace("%c2_i32 = arith.constant 2", "%c2_i32 = arith.constant 1")
    answer = run.shared.answer(wrong, "in_a_branch", lambda settings: None)
    assert answer.verdict == "unknown" and answer.reasons[0].line == 22


def test_a_slot_that_nobody_knows_is_never_proved():
    text = ttgir(*PIPELINES["in_a_branch cuda:90 2"])
    wrong = re.sub(r"ttg\.memdesc_index %at\[%\d+\]", "ttg.memdesc_index %at[%keep]", text)
    answer = run.shared.answer(wrong, "in_a_branch", lambda settings: None)
    assert wrong != text and answer.verdict == "unknown"


def test_tensor_memory_that_is_read_too_early():
    """The wait before the result is loaded is the only one that stands after the loop."""
    text = ttgir(*PIPELINES["of_boxes cuda:100 3"])
    head, wait, tail = text.rpartition("ttng.wait_barrier")
    text = head + tail.partition("\n")[2]
    clashes = explored(text).clashes
    assert wait and any(one.startswith("ttng.tmem_load reads") for one in clashes), clashes


# ---- warp-specialised tasks


SPECIALISED = {
    "signature": f"{H}, {H}, {F}, {I}, {I}, {I}", "constexprs": TENSOR, "target": "cuda:100",
    "options": {"num_stages": 3},
}  # fmt: skip


def without(text: str, op: str, number: int) -> str:
    """A text without the op of that name that has the number."""
    lines = text.split("\n")
    at = [i for i, line in enumerate(lines) if line.lstrip().startswith(op)][number]
    return "\n".join(lines[:at] + lines[at + 1 :])


def test_tasks_wait_for_each_other():
    """A product whose copies and products the compiler gives to tasks is proved, and each wait that is left
    out is refuted by a launch. The first wait is for a phase before the first one, which is over."""
    subject = run.of_kernel(f"{KERNELS}:specialised", "specialised", SPECIALISED)
    given = "a.shape == (M, K), b.shape == (N, K), c.shape == (M, N), M % 16 == 0, N % 16 == 0, K % 16 == 0"
    subject.assume((given,), "cdiv(M, BM), cdiv(N, BN)")
    subject.simplify()
    solver, reader = run.read(subject, 5)
    refuter = run.Refuter(subject, solver, 5, reader.accesses)
    text, metadata = subject.ttgir
    found = []
    for op, number in ((None, 0), *(("ttng.wait_barrier", i) for i in range(4)), ("ttng.tc_gen5_commit", 0)):
        subject.ttgir = without(text, op, number) if op else text, metadata
        found.append(run.shared.of_kernel(subject, refuter, reader.loops))
    assert [one.verdict for one in found] == ["proved", "proved", *["refuted"] * 4]
    reports = [one.counter_example.report for one in found[2:]]
    assert [("data race" in one, "deadlock" in one) for one in reports] == [
        (False, True), (True, False), (True, False), (False, True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name, wrong",
    [("bad-race-partitions", "may still read"), ("race-partitions", None), ("race-fence", None)],
)
def test_tasks_that_take_turns(name, wrong):
    """Accesses that are not asynchronous are looked at between tasks."""
    text = (
        (HERE.parents[2] / "cases" / "check" / f"{name}.ttgir").read_text().partition("// ---- expected")[0]
    )
    found = explored(text)
    assert (bool(found.clashes), found.problems) == (wrong is not None, {})
    assert wrong is None or all(wrong in one for one in found.clashes)


@pytest.mark.parametrize("name", ["tlx_tcgen05_kernel"])
def test_a_ring_that_counts_its_turns(name):
    """Slots and phases are quotients and remainders of a number that grows."""
    path = HERE.parents[3] / "examples/runner/tlx/v3.8.0/ttgir/sm100" / f"{name}.ttgir"
    text = path.read_text()
    right = explored(text)
    assert (right.clashes, right.problems) == ({}, {})
    waits = text.count("ttng.wait_barrier")
    wrong = [explored(without(text, "ttng.wait_barrier", i)) for i in range(waits)]
    assert waits == 3 and all(one.clashes or one.problems for one in wrong)
    more = text.replace("%c3_i32 = arith.constant 3", "%c3_i32 = arith.constant 4")  # than there are slots
    found = explored(more)
    assert more != text and (found.clashes or found.problems)


@pytest.mark.parametrize("in_flight, verdict", [(1, "proved"), (2, "refuted")])
def test_a_product_of_tasks_in_gluon(in_flight, verdict):
    """A buffer is given back after the next product was begun: two products may not be in flight then."""
    words = ("--pretend-cuda", "-t", "cuda:90", str(HERE.with_name("gluon_tasks.py")), str(in_flight))
    done = warm.cli("prove", "--json", "--property", "buffers", *words)
    assert done.stdout, done.stderr
    answer = json.loads(done.stdout)["proofs"][0]["answers"][0]
    assert answer["verdict"] == verdict, answer
    example = answer.get("counter_example")
    assert (example is None) == (verdict == "proved")
    if example:
        assert "data race" in example["report"]
        assert example["arguments"]["a_desc"] == "a descriptor of float16[64, 320] by [64, 32]"


def test_what_is_not_followed_of_tasks_is_unknown():
    text = ttgir("specialised", (H, H, F, I, I, I), TENSOR, "cuda:100", 3)
    for old, new, why in (
        ("ttng.barrier_expect %total_47, 24576", "ttng.barrier_expect %total_47, 24000", "does not end"),
        ("ttng.init_barrier %total_9, 1", "ttng.init_barrier %total_9, 2", "does not end"),
        ("ttng.wait_barrier %total_44, %total_43", "ttng.wait_barrier %total_44, %arg14", "phase"),
    ):
        assert old in text
        answer = run.shared.answer(text.replace(old, new), "specialised", lambda settings: None)
        assert answer.verdict == "unknown" and any(why in one.text for one in answer.reasons), answer
        assert all(one.line for one in answer.reasons)


@pytest.mark.parametrize("module", ["buffers", "paths"])
def test_more_states_than_are_visited(monkeypatch, module):
    """The answer is unknown, with the limit and a line, whichever part of the visit comes to it."""
    text = ttgir("specialised", (H, H, F, I, I, I), TENSOR, "cuda:100", 3)
    monkeypatch.setattr(importlib.import_module(f"triton_runner.verbs.prove.{module}"), "MOST_STATES", 50)
    answer = run.shared.answer(text, "specialised", lambda settings: None)
    assert answer.verdict == "unknown"
    (reason,) = [one for one in answer.reasons if "more than" in one.text]
    assert "states of shared memory" in reason.text and reason.line
