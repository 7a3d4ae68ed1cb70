"""Tests how results differ from what they are compared with, in words: verify's lines on a wrong
element."""

import numpy
import pytest
from triton_runner.verbs.verify import patterns

WANT = numpy.random.default_rng(0).normal(size=(12, 10))
ROWS = numpy.arange(12.0)[:, None]


def with_rows(low: int, high: int):
    got = WANT.copy()
    got[low:high, 2:9] += WANT[low:high, 2:9] ** 2 + 1
    return got


@pytest.mark.parametrize(
    ("got", "line"),
    [
        (WANT * 0.25, "each of them is 0.25 times what it is compared with"),
        (WANT + 3, "each of them differs by 3"),
        (WANT + ROWS, "the difference is the same number along axis 1"),
        (WANT * (ROWS + 2), "the ratio is the same number along axis 1"),
        (numpy.roll(WANT, 1, 0), "each of them is what the one before along axis 0 is compared with"),
        (numpy.roll(WANT, -1, 1), "each of them is what the next along axis 1 is compared with"),
        (with_rows(4, 8), "all that differ are in [4:8, 2:9] of [12, 10]"),
    ],
)
def test_what_holds_for_all_that_differ(got, line):
    assert line in patterns.lines(got, WANT)


def test_a_transposed_square():
    want = WANT[:10]
    assert patterns.lines(want.T, want) == ["it is what it is compared with, transposed"]


@pytest.mark.parametrize(
    "got",
    [
        WANT,
        WANT + 1e-6,  # rounding
        WANT[::-1, ::-1],  # nothing that has words
        numpy.where(numpy.arange(10) == 3, numpy.nan, WANT[::-1]),
    ],
)
def test_nothing_is_said_of_anything_else(got):
    assert [line for line in patterns.lines(got, WANT) if "all that differ" not in line] == []


def test_fewer_than_eight_elements_tell_nothing():
    got = WANT.copy()
    got[0, :5] *= 2
    assert patterns.lines(got, WANT) == []
