"""Tests that an answer which hangs on loaded integers proposes what to say of them, which proves it."""

import re
from pathlib import Path

import pytest

pytest.importorskip("z3")

import subjects

KERNELS = str(Path(__file__).with_name("kernels_assumed.py"))
P, X, I = "*fp32", "*i32", "i32"  # noqa: E741
B = {"BLOCK": 64}
# kernel: (types, constants, grid, assumptions, what is proposed)
PROPOSED = {
    "taken": (
        [P, X, P, I], B, "cdiv(n, BLOCK)", "index.numel == n, out.numel == n, x.numel >= 1",
        {"index in 0..x.numel"},
    ),
    "blocks_of_rows": (
        [P, X, P, I], B, "index.numel",
        "index.numel >= 1, x.shape == (x.shape[0], 1), x.stride == (stride, 1), stride >= 1, "
        "out.numel == index.numel * 64",
        {"index in 0..x.shape[0] // BLOCK"},
    ),
    "sparse_rows": (
        [P, X, X, P, P], {}, "out.numel",
        "values.numel == columns.numel, offsets.numel == out.numel + 1, x.numel >= 1, numel < 2**30",
        {"offsets in 0..values.numel + 1", "columns in 0..x.numel"},
    ),
    "of_two": (
        [P, X, X, P, I, I], {}, "out.numel",
        "x.shape == (M, N), first.numel == out.numel, second.numel == out.numel",
        {"first in 0..M", "second in 0..N"},
    ),
}  # fmt: skip


def answer(name: str, types, constants, grid, given):
    subject = subjects.made(KERNELS, name, types, constants, grid, given)
    found = subjects.run.proof(subject, ("bounds",), 10)
    assert not found.contradictory, found.contradictory
    return found.answers[0]


def proposed(found) -> set:
    texts = [
        one for reason in found.reasons for one in re.findall(r"is proved with --given '(.+)'", reason.text)
    ]
    return {word for text in texts for word in text.split(", ")}


@pytest.mark.parametrize("name", PROPOSED)
def test_what_is_proposed_proves_it(name):
    *row, expected = PROPOSED[name]
    found = answer(name, *row)
    assert found.verdict == "unknown" and proposed(found) == expected, found.reasons
    row[-1] = ", ".join([row[-1], *expected])
    assert answer(name, *row).verdict == "proved"


def test_nothing_is_proposed_that_does_not_help():
    row = [P, X, P], {}, "out.numel", "index.numel == out.numel, x.numel >= 1"
    found = answer("scrambled", *row)
    assert found.verdict == "unknown" and not proposed(found)
    assert "it depends on what is loaded from index" in found.reasons[0].text
    # Half of the blocks of the tensor lie beyond it, whatever is loaded.
    row = [P, X, P, I], B, "cdiv(n, BLOCK)", "index.numel == n // 2, out.numel == n, x.numel >= 1"
    assert answer("taken", *row).verdict != "proved"
