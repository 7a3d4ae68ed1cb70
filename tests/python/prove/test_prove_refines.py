"""Tests `refines`: the TTGIR accesses no element that the TTIR does not. It is proved of what Triton makes,
and not where it moves a load, or where its text is changed as a fault of a pass would."""

import os
from pathlib import Path

import pytest

pytest.importorskip("z3")

import proved_table as table
import subjects
from triton_runner.verbs.prove import run

SOME = ["row_loop", "gather", "early_return", "described"]
NAMES = subjects.KERNELS if os.environ.get("TRITON_RUNNER_PROOFS") else SOME
HOISTED = str(Path(__file__).resolve().parents[3] / "examples" / "guide" / "hoisted.py")


def answer(subject):
    (found,) = run.proof(subject, ("refines",), 10).answers
    return found


def changed(name: str, old: str, new: str, count: int = -1):
    """The answer where the TTGIR is another."""
    subject = subjects.subject(name)
    text, metadata = subject.ttgir
    other = text.replace(old, new, count)
    assert other != text
    subject.ttgir = other, metadata
    return answer(subject)


@pytest.mark.parametrize("name", NAMES)
def test_what_triton_makes_is_proved(name):
    found = answer(subjects.subject(name))
    assert found.verdict == "proved" and found.count, found.reasons


def counted(given: str):
    how = {"signature": "*fp32, *i32, i32", "constexprs": {"BLOCK": 128}, "target": "cuda:90", "options": {}}
    subject = run.of_kernel(f"{HOISTED}:counted", "counted", how)
    subject.assume((f"out.numel == 128, turns.numel == 1{given}",), "1")
    subject.simplify()
    return answer(subject)


def test_a_load_that_is_moved_out_of_a_loop_is_run():
    found = counted("")
    assert found.verdict == "refuted" and found.counter_example.arguments["rows"] <= 0
    assert "ttgir reads 4 bytes that ttir does not read, from turns + 0 on" in found.counter_example.report
    assert found.counter_example.file == HOISTED and found.counter_example.line == 13


def test_where_the_loop_runs_it_is_proved():
    assert counted(", rows >= 1").verdict == "proved"


def test_a_mask_of_the_ttgir_that_is_wider():
    found = changed("add", "arith.cmpi slt", "arith.cmpi sle")
    assert found.verdict == "refuted" and "TTGIR leaves an argument" in found.counter_example.report


def test_a_mask_of_the_ttgir_that_is_another():
    """The elements are of the argument, and no line of the kernel reads them."""
    found = changed("triangle", "arith.cmpi sge", "arith.cmpi sle")
    assert found.verdict == "refuted" and "that ttir does not read, from x + " in found.counter_example.report


def test_an_address_of_the_ttgir_that_is_another():
    found = changed("reverse", "arith.subi", "arith.addi", 1)
    assert found.verdict in ("refuted", "unknown") and (found.counter_example or found.reasons)


def test_what_is_not_followed_is_unknown():
    found = changed("add", "tt.get_program_id x : i32", "tt.get_program_id y : i32")
    assert found.verdict != "proved"


def test_both_levels_see_the_same_memory():
    """A second run would read what the first has written, and go another way."""
    file = table.KERNELS.replace("kernels_proved", "kernels_assumed")
    sizes = "x.numel == 1, y.numel == 1, out.numel == 1"
    words = file, "decides_by_what_it_writes", [table.P] * 3, {}, "1", sizes
    assert answer(subjects.made(*words)).verdict == "unknown"


def test_a_kernel_that_does_nothing():
    how = {"signature": f"{table.P}, {table.I}", "constexprs": {}, "target": "cuda:80", "options": {}}
    subject = run.of_kernel(f"{table.KERNELS}:nothing", "nothing", how)
    assert answer(subject).verdict == "nothing to prove"
