"""Tests kernels that people seldom write: wrapping bytes, loops that go down, bounds that depend on an outer
loop, rows beyond 2**31, a lie about multiples, a stride of -1, code that is never reached. No answer about
them is wrong."""

import pytest

pytest.importorskip("z3")

import subjects
import triton_runner
from triton_runner.verbs.prove import run

PROPERTIES = ("bounds", "overflow", "disjoint", "covered", "division", "ends")
OFTEN = (
    "backwards 1", "bytes_ 1", "wrapping_mask 1", "downwards 0", "triangular 1", "multiple 1", "modulo 1",
    "towards_zero 0", "first 1", "long_sizes 1", "chained 0", "chained 1", "called 1", "ring 1",
)  # fmt: skip
# Right kernels of which not all is proved, and wrong ones of which nothing is refuted.
OPEN = (
    "bytes_ 0", "until 0", "compacted 0", "overlapping 0", "swapped 0", "without_sign 0", "counted_down 0",
    "swapped_pointers 0", "wide_rows 1", "overlapping 1", "truncated 1", "interleaved_programs 1",
    "added_up 1", "swapped_pointers 1", "triangle_of_programs 1", "hashed 0", "decoded 0",
    "cleared_first 1", "by_fractions 1", "size_product 0", "while_it_fits 0", "while_it_fits 1",
)  # fmt: skip


def answers(name: str, properties=PROPERTIES) -> dict:
    proof = run.proof(subjects.made(*subjects.ODD[name]), properties, 10)
    assert not proof.contradictory, proof.contradictory
    return {one.property: one for one in proof.answers}


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.long) for name in subjects.ODD]
)
def test_no_answer_is_wrong(name):
    fails = subjects.FAILS[name]
    found = answers(name)
    for key, answer in found.items():
        assert answer.verdict != ("proved" if key in fails else "refuted"), (key, answer)
    verdicts = {one.verdict for one in found.values()}
    if name not in OPEN:
        assert ("refuted" in verdicts) if fails else verdicts <= {"proved", "nothing to prove"}, found


def test_settings_of_the_program_do_not_refute():
    """A launch of which few programs run leaves the rest of its output unwritten."""
    with triton_runner.using(programs=1, oob="report"):
        assert answers("overlapping 0", ("covered",))["covered"].verdict == "unknown"
        assert answers("first 1", ("bounds",))["bounds"].verdict == "refuted"
