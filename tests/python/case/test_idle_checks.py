"""Tests which checks of a program count as comparisons of a result: one that holds whatever a launch wrote
does not. Each function is a program's check; `out` is what launch 0 wrote, 3 * x, and 2 * x is what it should
be where a check takes it nevertheless."""

import concurrent.futures
import contextlib
import math
import os
import sys
import threading
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


def what_a_subtraction_gives(x, out, launch):
    residual = out - out.flip(0)
    assert torch.equal(residual, 3 * x - 3 * x.flip(0))


def what_follows_from_another_launch(x, out, launch):
    """The reference of launch 1 takes what launch 0 wrote: it compares launch 1 alone."""
    kept = out.clone()
    launch(number=1)
    assert torch.equal(out, kept)
    assert torch.equal(kept, 3 * x)


def a_shape_alone_is_taken(x, out, launch):
    assert torch.equal(out, torch.ones_like(out) * 3 * x)


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


def nans_alone(x, out, launch):
    out.fill_(math.nan)
    launch()
    torch.testing.assert_close(out, x * math.nan, equal_nan=True)


def what_is_computed_from_it(x, out, launch):
    assert torch.equal(out, out[:] * 1) and (out - out.abs()).abs().max() < 1e-3


def an_input_that_was_overwritten(x, out, launch):
    """As a reference that is computed after the launch, from the argument that the kernel writes."""
    want = (out + 0).float()
    torch.testing.assert_close(out, want)


def _compared_by(check) -> set:
    """The launches whose results a check counts as a comparison of."""
    found = set()
    x = torch.arange(1.0, 65.0)
    out = 3 * x
    followed = Comparisons(lambda numbers, by: found.update(numbers), lambda numbers, by: None)

    def launch(number=0):
        followed.wrote(number, {"out": out}, [out])

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
        nans_alone, what_is_computed_from_it, an_input_that_was_overwritten,
    ],
    ids=lambda check: check.__name__,
)  # fmt: skip
def test_what_holds_whatever_a_launch_wrote_is_no_comparison(check):
    assert _compared_by(check) == set()


@pytest.mark.parametrize(
    "check",
    [
        its_result, its_result_within_rounding, its_result_beside_large_ones, zeros, a_copy_that_changed,
        in_a_with, left_with_failure, what_a_subtraction_gives, what_follows_from_another_launch,
        a_shape_alone_is_taken,
    ],
    ids=lambda check: check.__name__,
)  # fmt: skip
def test_what_depends_on_what_a_launch_wrote_is_a_comparison(check):
    assert _compared_by(check) >= {0}


def test_a_copy_from_before_a_launch_compares_that_launch_alone():
    assert _compared_by(a_copy_from_before) == {1}


def test_launches_that_agree_are_compared_where_something_else_compares_one_of_them():
    x = torch.arange(1.0, 65.0)
    found = {}
    followed = Comparisons(lambda numbers, by: found.update(dict.fromkeys(numbers)), lambda numbers, by: None)
    one, other, third = 3 * x, 3 * x, 3 * x
    with followed.watching():
        for number, out in enumerate((one, other, third)):
            followed.wrote(number, {"out": out}, [out])
        torch.testing.assert_close(one, other)
        assert (other - third).abs().max() < 1e-3
        assert not found and set(followed.agreements.unsettled()) == {0, 1, 2}
        assert torch.equal(third, 3 * x)
        assert set(found) == {0, 1, 2} and not followed.agreements.unsettled()


def test_a_gradient_depends_on_the_launches_of_its_own_graph():
    x = torch.arange(1.0, 9.0)
    found = set()
    followed = Comparisons(lambda numbers, by: found.update(numbers), lambda numbers, by: None)

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            out = 2 * x
            followed.wrote(0, {"out": out}, [out])
            return out

        @staticmethod
        def backward(context, gradient):
            out = 2 * gradient
            followed.wrote(1, {"out": out}, [gradient, out])
            return out

    mine, torchs = x.clone().requires_grad_(), x.clone().requires_grad_()
    with followed.watching():
        Doubled.apply(mine).square().sum().backward()
        (torchs * 2).square().sum().backward()
        torch.testing.assert_close(torchs.grad, 8 * x)
        assert found == set()
        torch.testing.assert_close(mine.grad, torchs.grad)
        assert found == {0, 1}


def test_a_check_in_a_thread_is_seen():
    found = set()
    followed = Comparisons(lambda numbers, by: found.update(numbers), lambda numbers, by: None)
    out = torch.arange(8.0)

    class Checking(threading.Thread):
        def run(self):
            assert torch.equal(out, torch.arange(8.0))

    with followed.watching():
        followed.wrote(0, {"out": out}, [out])
        thread = Checking()
        thread.start()
        thread.join()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: found == {0}).result()


@pytest.mark.parametrize(
    "check, is_whole",
    [
        (lambda x, out: torch.equal(out, x), True),
        (lambda x, out: torch.testing.assert_close(out, x), True),
        (lambda x, out: torch.allclose(out.double().cpu(), x.double()), True),
        (lambda x, out: (out.view(8, 8) == x.view(8, 8)).all().item(), True),
        (lambda x, out: torch.equal(out[:32], x[:32]), False),
        (lambda x, out: bool((out == x).any()), False),
        (lambda x, out: torch.equal(out.int(), x.int()), False),
        (lambda x, out: torch.equal(out.sort().values, x.sort().values), False),
        (lambda x, out: torch.equal(out.view(8, 8)[:, ::2], x.view(8, 8)[:, ::2]), False),
        (lambda x, out: (out - x).abs().max().item() < 1e9, False),
    ],
)
def test_what_sees_each_element_is_known_without_another_run(check, is_whole):
    x = torch.arange(64.0)
    out = x.clone()
    followed = Comparisons(lambda numbers, by: None, lambda numbers, by: None)
    with followed.watching():
        followed.wrote(0, {"out": out}, [x, out])
        check(x, out)
    assert followed.seen_whole == ({(0, "out")} if is_whole else set())
