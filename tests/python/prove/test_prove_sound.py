"""A proof has no counter-example among launches drawn at random: sizes near blocks, strides that are
larger than rows, sizes beyond 2**31 as ghosts. sound.py draws more of them, of libraries too."""

import os

import pytest

pytest.importorskip("z3")

import drawn
import kernels_to_draw

TIMES = int(os.environ.get("TRITON_RUNNER_PROOFS", "6"))  # launches of each kernel


@pytest.mark.parametrize("name", kernels_to_draw.KERNELS)
def test_nothing_proved_goes_wrong(name):
    parts = drawn.drawings(kernels_to_draw.subject(name), 30, name)
    counts = [part.count(TIMES) for part in parts]
    assert [text for one in counts for text in one.wrong] == []
    assert sum(one.launches for one in counts) >= TIMES
