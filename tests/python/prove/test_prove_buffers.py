"""Shared memory at TTGIR, for every trip count: what is right is proved, each wait that is weakened is found,
and what is refuted is a launch with a data race."""

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


def test_tasks_that_nobody_follows_are_never_proved():
    text = ttgir("specialised", (H, H, F, I, I, I), TENSOR, "cuda:100", 3)
    answer = run.shared.answer(text, "specialised", lambda settings: None)
    assert answer.verdict == "unknown"
    assert any("ttg.warp_specialize is not followed" in one.text for one in answer.reasons)
