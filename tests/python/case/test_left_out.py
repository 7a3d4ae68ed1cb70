"""Tests what verify does not do any more once a launch is wrong, and what it says of that."""

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402

ALREADY = "the launch is wrong already; --strict runs all experiments"


@triton.jit
def sums(x, total, ratio, B: tl.constexpr, RACE: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i)
    quotient = value / (value - value)  # a NaN for each 0
    tl.store(ratio + i, tl.where(value > 0, quotient, 0.0))
    if RACE:
        tl.store(total, tl.load(total) + tl.sum(value))


def judged(race, strict=False):
    x = torch.arange(64, dtype=torch.float32)
    args = [x, torch.zeros(1), torch.zeros(64)]
    verdict = triton_runner.verify(sums, args, {"B": 16, "RACE": race}, grid=(4,), strict=strict)
    (launch,) = verdict.launches
    hows = [run["how"] for run in launch["runs"]]
    left_out = {(one["level"], one["how"]) for one in launch["not_run"] if one["why"] == ALREADY}
    checks = {finding["check"]: finding for finding in launch["findings"]}
    return verdict.verdict, hows, left_out, checks


def test_a_launch_that_is_wrong_is_not_run_to_grade_other_findings():
    verdict, hows, left_out, checks = judged(race=True)
    assert verdict == "wrong" and checks["race"]["severity"] == "fault"
    assert not any("in place of what it reports" in how for how in hows)
    graded = "what depends on the values that nan reports"
    assert left_out >= {("ttir", graded), ("ttgir", graded), ("ptx", graded), ("ptx", "copies")}
    assert checks["nan"]["severity"] == "warning"
    assert "was not tried, as the launch is wrong already" in checks["nan"]["text"]
    # Together; then those that report something alone, and the others together.
    assert sum("check" in how for how in hows) <= 7 * 3


def test_strict_makes_all_experiments():
    verdict, hows, left_out, checks = judged(race=True, strict=True)
    assert verdict == "wrong" and left_out == set() and checks["race"]["severity"] == "fault"
    assert any("in place of what it reports" in how for how in hows)


def test_a_launch_that_may_be_right_is_run_with_all_of_them():
    verdict, hows, left_out, checks = judged(race=False)
    assert verdict != "wrong" and left_out == set()
    assert any("in place of what it reports" in how for how in hows)
    assert checks["nan"]["severity"] == "warning" and "harmless" in checks["nan"]["text"]


@triton.jit
def roots(x, out, B: tl.constexpr):
    value = tl.load(x + tl.arange(0, B))
    root = tl.sqrt(value)
    tl.store(out + tl.arange(0, B), root)
    tl.store(out + B + tl.arange(0, B), tl.sqrt(value - 3))


def levels_that_were_graded(strict):
    args = [torch.arange(64.0) - 1, torch.zeros(128)]
    verdict = triton_runner.verify(roots, args, {"B": 64}, grid=(1,), strict=strict)
    (launch,) = verdict.launches
    faults = [finding for finding in launch["findings"] if finding["check"] == "nan"]
    assert verdict.verdict == "wrong" and all(finding["severity"] == "fault" for finding in faults)
    assert {level for finding in faults for level in finding["levels"]} == {"ttir", "ttgir", "ptx"}
    graded = [run["level"] for run in launch["runs"] if "-2 in place of what it reports" in run["how"]]
    return len(faults), set(graded)


def test_a_nan_that_reaches_an_output_is_graded_at_one_level():
    """Below it is enough to know where one arises: the faults stay the same, at each level."""
    assert levels_that_were_graded(strict=False) == (2, {"ttir"})
    assert levels_that_were_graded(strict=True)[1] == {"ttir", "ttgir", "ptx"}
