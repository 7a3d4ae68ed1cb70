"""Tests the numbers that verify puts in place of a result, to find out whether a check of the program sees
them, and what follows from the programs that pass all the same."""

import numpy
import pytest

torch = pytest.importorskip("torch")
from triton_runner.verbs.verify import spoilt  # noqa: E402
from triton_runner.verbs.verify.spoilt import Doubt, Tried  # noqa: E402


def outputs():
    torch.manual_seed(0)
    x = torch.randn(6, 10)
    yield from (x, x.half(), x.bfloat16(), x.double(), x.to(torch.float8_e5m2), x.t(), (x * 100).int(), x > 0)
    yield from ((x * 100).to(torch.uint8), x.numpy(), (x * 100).numpy().astype(numpy.int64), x.numpy().T)


@pytest.mark.parametrize("change", [*spoilt._changes("o", False)], ids=lambda one: f"{one.how} {one.part}")
def test_each_change_of_a_result_is_a_change_of_its_elements(change):
    for output in outputs():
        now = output.copy() if isinstance(output, numpy.ndarray) else output.clone()
        is_put = spoilt._put(change, now, None, 0)
        was, now = (numpy.asarray(torch.as_tensor(one).double()) for one in (output, now))
        is_float = "float" in str(output.dtype)
        assert is_put or not is_float or change.how == "nans", output.dtype
        count = int((was != now).sum())
        assert count == {"one": 1}.get(change.how, count) and count > 0 if is_put else count == 0
        if change.how == "moved" and is_put:
            assert numpy.array_equal(numpy.sort(was, None), numpy.sort(now, None))
        if change.how == "signs" and is_put:
            assert numpy.array_equal(abs(was), abs(now)) and 10 < count < 50
        if change.how == "even" and is_put:
            assert abs(now.sum() - was.sum()) < 1e-2 * abs(was).sum()
        assert numpy.isfinite(now).all()


def test_nans_take_the_place_of_numbers_where_a_launch_wrote_some():
    now = torch.arange(8.0)
    nans = next(one for one in spoilt._changes("o", False) if one.how == "nans")
    assert not spoilt._put(nans, now, None, 0)
    now[3] = float("nan")
    assert spoilt._put(nans, now, None, 0) and now.isnan().all()


def test_other_whole_numbers_have_another_sum():
    others = next(one for one in spoilt._changes("o", False) if one.how == "others")
    for values in (torch.arange(9), torch.tensor([3, 5]), torch.tensor([7]), torch.full((8,), 4)):
        now = values.clone()
        assert spoilt._put(others, now, None, 0) and bool((now != values).all())
        assert values.numel() == 2 or now.sum() != values.sum()


def test_the_order_of_partial_results_stays():
    kept = {one.how for one in spoilt._changes("o", False, is_orderless=True)}
    assert {one.how for one in spoilt._changes("o", False)} - kept == {"moved", "even"}


def test_only_what_a_launch_changed_is_changed():
    before = torch.zeros(64)
    after = before.clone()
    after[8:24] = torch.arange(1.0, 17.0)
    rows = spoilt._rows(before)
    for change in (one for one in spoilt._changes("o", False) if one.how != "nans"):
        now = after.clone()
        assert spoilt._put(change, now, rows, 0)
        assert not torch.equal(now, after) and torch.equal(now[:8], before[:8])
        assert torch.equal(now[24:], before[24:])


def test_elements_that_are_alike_are_not_moved_and_few_have_no_other_signs():
    moved, signs = (
        next(one for one in spoilt._changes("o", False) if one.how == how) for how in ("moved", "signs")
    )
    assert not spoilt._put(moved, torch.full((64,), 2.0), None, 0)
    assert not spoilt._put(moved, 1 + torch.rand(64) / 100, None, 0)
    assert not spoilt._put(signs, torch.tensor([2.0]), None, 0)


@pytest.mark.parametrize(
    ("tried", "doubt", "is_idle"),
    [
        ({"o": False, "p": False}, {}, False),
        ({"o": True, "p": False}, {}, True),
        ({"o": False, "p": True}, {}, True),
        ({"o": False, "p": True}, {"own": frozenset({"p"})}, False),
        ({"p": True}, {"own": frozenset({"p", "o"})}, True),
        ({"p": True}, {"own": frozenset({"p", "o"}), "is_seen": True}, False),
        ({}, {}, True),  # the program did not come to the launch again
        ({"o": False}, {"is_seen": True}, True),  # nor to what it writes to 'p'
    ],
)
def test_which_launches_nothing_compares(tried, doubt, is_idle):
    found = [Tried(0, name, "so", passes) for name, passes in tried.items()]
    doubts = [Doubt(0, "kernel", ("o", "p"), frozenset(), **doubt)]
    assert {*spoilt.idle(found, doubts)} == ({0} if is_idle else set())
