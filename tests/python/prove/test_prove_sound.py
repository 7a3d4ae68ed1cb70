"""A proof has no counter-example among launches drawn at random: sizes near blocks, strides that are
larger than rows, sizes beyond 2**31 as ghosts. Some kernels are looked at here; TRITON_RUNNER_PROOFS is the
number of launches for each of all, and sound.py draws those of libraries, too."""

import os

import pytest

pytest.importorskip("z3")

import drawn
import proved_table as table
import subjects

TIMES = os.environ.get("TRITON_RUNNER_PROOFS", "")
SOME = ["rows_wide", "gather", "causal", "split_k", "scattered", "blocks and tail", "repeated", "looked up"]


@pytest.mark.parametrize("name", subjects.KERNELS if TIMES else SOME)
def test_nothing_proved_goes_wrong(name):
    parts = drawn.drawings(subjects.subject(name), 30, name)
    counts = [part.count(int(TIMES or 12)) for part in parts]
    assert [text for one in counts for text in one.wrong] == []
    assert all(one.launches >= int(TIMES or 12) for one in counts) and counts


@pytest.mark.parametrize("name", ["<= for <", "the last one left out", "blocks that overlap", "row * stride"])
def test_a_proof_that_is_wrong_is_found(name):
    """The launches go against what is said to be proved of a kernel of which it is not so."""
    *words, wrong = {**table.WRONG, **table.LARGE}[name]
    drawing = drawn.Drawing(subjects.made(table.KERNELS, *words), [wrong], 1)
    assert drawing.count(40).wrong
