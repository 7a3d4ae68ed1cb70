"""Tests which checks of a program count as comparisons of a result: one that holds whatever a launch wrote
does not. Each function is a program's check; `out` is what launch 0 wrote, 3 * x, and 2 * x is what it should
be where a check takes it nevertheless."""

import contextlib
import math
import os
import sys
import unittest

import pytest

torch = pytest.importorskip("torch")
from triton_runner.verbs.verify.comparisons import Comparisons  # noqa: E402


def itself(x, out, launch):
    assert torch.equal(out, out)


def its_copy(x, out, launch):
    want = out.clone().contiguous()
    torch.testing.assert_close(out, want)


def its_difference_from_itself(x, out, launch):
    assert (out - out.detach()).abs().max().item() == 0


def no_elements(x, out, launch):
    assert torch.equal(out[len(x) :], x[len(x) :])


def a_tolerance_of_infinity(x, out, launch):
    assert torch.allclose(out, 2 * x, atol=math.inf)


def a_tolerance_above_all_values(x, out, launch):
    torch.testing.assert_close(out, 2 * x, rtol=0, atol=1000)


def a_relative_tolerance_of_one(x, out, launch):
    torch.testing.assert_close(out, 2 * x, rtol=1.0, atol=0)


def a_nan_that_is_not_above(x, out, launch):
    out[3] = math.nan
    assert not (out - 2 * x).abs().max() > 1e9


def nans_of_which_none_is_above(x, out, launch):
    out.fill_(1)
    launch()
    out[:] = math.nan
    assert not ((out - 2 * x).abs() > 1e-3).any()


def an_error_that_is_nan(x, out, launch):
    out[3] = math.nan
    error = (out - 2 * x).abs().max().item()
    if error > 1e-3:
        raise RuntimeError


def that_it_differs(x, out, launch):
    assert not torch.allclose(out, 2 * x)


def suppressed(x, out, launch):
    with contextlib.suppress(AssertionError):
        assert (out == 2 * x).all()


def a_failure_that_is_wanted(x, out, launch):
    with pytest.raises(AssertionError):
        torch.testing.assert_close(out, 2 * x)


@unittest.expectedFailure
def a_test_that_should_fail(x, out, launch):
    assert (out == 3 * x).all()


def or_true(x, out, launch):
    assert (out == 2 * x).all() or True


def left_with_success(x, out, launch):
    try:
        assert (out == 3 * x).all()
    except AssertionError:
        os._exit(0)


def what_torch_put_there(x, out, launch):
    out.copy_(2 * x)
    assert torch.equal(out, 2 * x)


def its_result(x, out, launch):
    assert torch.equal(out, 3 * x)


def its_result_within_rounding(x, out, launch):
    torch.testing.assert_close(out, 3 * x, rtol=1e-2, atol=1e-2)


def its_result_beside_large_ones(x, out, launch):
    torch.testing.assert_close(out, 3 * x, rtol=0, atol=2)


def zeros(x, out, launch):
    out.zero_()
    launch()
    assert torch.allclose(out, torch.zeros_like(out), atol=1e-6)


def a_copy_from_before(x, out, launch):
    kept = out.clone()
    launch(number=1)
    assert torch.equal(out, kept)


def two_rows(x, out, launch):
    assert torch.equal(out[:1], out[:1] * 1) and torch.equal(out[1:2], out[1:2] + 0)


def a_copy_that_changed(x, out, launch):
    other = out.clone()
    other.copy_(3 * x)
    assert torch.equal(out, other)


def in_a_with(x, out, launch):
    with torch.no_grad():
        assert (out == 3 * x).all()


def left_with_failure(x, out, launch):
    try:
        assert (out == 3 * x).all()
    except AssertionError:
        sys.exit(1)


def _compared_by(check) -> set:
    """The launches whose results a check counts as a comparison of."""
    found = set()
    x = torch.arange(1.0, 65.0)
    out = 3 * x
    followed = Comparisons(lambda numbers, by: found.update(numbers), lambda numbers, by: None)

    def launch(number=0):
        followed.wrote([out], {number} | followed.of([out]))

    with followed.watching(), contextlib.suppress(AssertionError):
        launch()
        check(x, out, launch)
    return found


@pytest.mark.parametrize(
    "check",
    [
        itself, its_copy, its_difference_from_itself, no_elements, a_tolerance_of_infinity,
        a_tolerance_above_all_values, a_relative_tolerance_of_one, a_nan_that_is_not_above,
        nans_of_which_none_is_above, an_error_that_is_nan, that_it_differs, suppressed,
        a_failure_that_is_wanted, a_test_that_should_fail, or_true, left_with_success, what_torch_put_there,
    ],
    ids=lambda check: check.__name__,
)  # fmt: skip
def test_what_holds_whatever_a_launch_wrote_is_no_comparison(check):
    assert _compared_by(check) == set()


@pytest.mark.parametrize(
    "check",
    [
        its_result, its_result_within_rounding, its_result_beside_large_ones, zeros, two_rows,
        a_copy_that_changed, in_a_with, left_with_failure,
    ],
    ids=lambda check: check.__name__,
)  # fmt: skip
def test_what_depends_on_what_a_launch_wrote_is_a_comparison(check):
    assert _compared_by(check) == {0}


def test_a_copy_from_before_a_launch_compares_that_launch_alone():
    assert _compared_by(a_copy_from_before) == {1}
