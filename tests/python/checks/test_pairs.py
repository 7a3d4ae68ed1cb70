"""A check reports the same alone and beside any others: programs that are broken run under each check, under
pairs and under all at once. A launch stops at its first report, so that what several report is what one of
them reports alone.

Pairs take turns from day to day; all of them run with `-m long`, and tests/run_cases.py --pairs does it with
the golden cases.
"""

import datetime
import itertools
import pathlib
import re
import subprocess
import sys

import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from overflowing import FAULTS  # noqa: E402
from programs_broken import EDITS, PROGRAMS, answer  # noqa: E402
from test_machine_code import FOUND  # noqa: E402
from test_machine_code import answer as answer_of_ptx  # noqa: E402

CHECKS = ("oob", "nan", "inf", "nanload", "uninit", "race", "zerodiv", "hints", "overflow")
REFUSED = {"ptx": {"nanload", "hints"}, "cubin": {"nanload", "hints", "overflow"}}
ROOT = pathlib.Path(__file__).resolve().parents[3]
PARTS = 12  # of the pairs, of which one runs a day


def sets(level: str, whole: bool):
    """The sets of several checks that run at a level: all at once, and pairs."""
    checks = [check for check in CHECKS if check not in REFUSED.get(level, ())]
    pairs = list(itertools.combinations(checks, 2))
    yield from pairs if whole else pairs[datetime.date.today().toordinal() % PARTS :: PARTS]
    yield ("nan", "inf")
    yield tuple(checks)


def compare(level: str, report, whole: bool) -> None:
    """report(checks) is what a launch says under them, "" if nothing."""
    chosen = list(sets(level, whole))
    alone = {check: report(check) for check in sorted({check for several in chosen for check in several})}
    assert any(alone.values())
    for several in chosen:
        expected = {alone[check] for check in several if alone[check]} or {""}
        assert report(",".join(several)) in expected, several


def report_of(launch, level: str, checks: str) -> str:
    try:
        with triton_runner.using(device="cpu", level=level, check=checks):
            launch()
    except triton_runner.KernelTrap as trap:
        return re.sub(r"0x[0-9a-f]{9,}", "0x...", str(trap))
    return ""


@triton_runner.jit
def softmax(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.load(x + tl.program_id(0) * n + at, at < n, other=-float("inf"))
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + tl.program_id(0) * n + at, e / tl.sum(e, 0), at < n)


@triton_runner.jit
def attention(q, k, v, out, first, N: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    """Row `first` and those below it see the keys up to their own number; rows above it see none."""
    rows, columns, d = tl.arange(0, N), tl.arange(0, BLOCK), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    largest = tl.full((N,), -float("inf"), tl.float32)
    total = tl.zeros((N,), tl.float32)
    sum_of_values = tl.zeros((N, D), tl.float32)
    for start in range(0, N, BLOCK):
        key = tl.load(k + (start + columns)[:, None] * D + d[None, :])
        value = tl.load(v + (start + columns)[:, None] * D + d[None, :])
        sees = (start + columns)[None, :] <= rows[:, None] - first
        scores = tl.where(sees, tl.dot(query, tl.trans(key), input_precision="ieee"), -float("inf"))
        now = tl.maximum(largest, tl.max(scores, 1))
        p = tl.exp(scores - now[:, None])
        scale = tl.exp(largest - now)
        total = total * scale + tl.sum(p, 1)
        sum_of_values = sum_of_values * scale[:, None] + tl.dot(p, value, input_precision="ieee")
        largest = now
    tl.store(out + rows[:, None] * D + d[None, :], sum_of_values / total[:, None])


@triton_runner.jit
def lowest(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) // tl.load(y + at))


def softmax_of_infinities():
    x = torch.randn(4, 30)
    x[2] = -float("inf")
    softmax[(4,)](x, torch.empty_like(x), 30, B=32)


def attention_with(first: int):
    q, k, v = (torch.randn(32, 16) for _ in range(3))
    attention[(1,)](q, k, v, torch.empty_like(q), first, N=32, D=16, BLOCK=16)


def division(a: int, b: int):
    x, y = torch.full((32,), a, dtype=torch.int32), torch.ones(32, dtype=torch.int32)
    y[7] = b
    lowest[(1,)](x, y, torch.empty_like(x), B=32)


LAUNCHES = {
    "a softmax of infinities": softmax_of_infinities,
    "attention without a first row": lambda: attention_with(1),
    "a division by 0": lambda: division(5, 0),
    "the lowest integer by -1": lambda: division(-(2**31), -1),
}


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_a_report_is_the_same_beside_other_checks(name, level):
    compare(level, lambda checks: report_of(LAUNCHES[name], level, checks), whole=False)


def overflowing(fault, level, whole):
    kernel, wrong, _ = fault

    def launch():
        tables = torch.ones(32, dtype=torch.int32), torch.zeros(4096, dtype=torch.int32)
        kernel[(1,)](triton_runner.ghost(2**31, torch.int32), *tables, *wrong)

    if report_of(launch, level, "overflow"):
        compare(level, lambda checks: report_of(launch, level, checks), whole)


@pytest.mark.parametrize("level", ["ttir", "ptx"])
def test_one_overflow_a_day_is_the_same_beside_other_checks(level):
    overflowing(FAULTS[datetime.date.today().toordinal() % len(FAULTS)], level, whole=False)


@pytest.mark.parametrize("level", ["ptx", "cubin"])
@pytest.mark.parametrize(
    "name", ["the slow way of a division", "the reciprocal of a division", "a difference", "s32"]
)
def test_steps_of_an_instruction_are_reported_the_same_beside_other_checks(tmp_path, name, level):
    body, _, values = FOUND[name]
    compare(
        level, lambda checks: str(answer_of_ptx(tmp_path, body, checks, values, level) or ""), whole=False
    )


def judged_softmax(checks=CHECKS, strict=False):
    x = torch.randn(3, 30)
    x[1] = -float("inf")
    return triton_runner.verify(
        softmax, [x, torch.empty_like(x), 30], {"B": 32}, grid=(3,), checks=checks, strict=strict
    )


def judged_attention(checks=CHECKS, strict=False, first=1):
    q, k, v = (torch.randn(32, 16) for _ in range(3))
    sizes = {"N": 32, "D": 16, "BLOCK": 16}
    return triton_runner.verify(
        attention, [q, k, v, torch.empty_like(q), first], sizes, grid=(1,), checks=checks, strict=strict
    )


def judged_division(checks=CHECKS, strict=False):
    x, y = torch.arange(32, dtype=torch.int32), torch.ones(32, dtype=torch.int32)
    x[7], y[7], y[9] = -(2**31), -1, 0
    return triton_runner.verify(
        lowest, [x, y, torch.empty_like(x)], {"B": 32}, grid=(1,), checks=checks, strict=strict
    )


def places(verdict, check) -> set:
    found = [finding for finding in verdict.findings if finding["check"] == check]
    return {(f["file"], f["line"], f["op"], f["severity"], tuple(f["levels"])) for f in found}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("judged", [judged_softmax, judged_attention])
def test_a_nan_that_comes_of_infinities_makes_the_verdict_wrong(judged, strict):
    verdict = judged(strict=strict)
    nan = [finding for finding in verdict.findings if finding["check"] == "nan"]
    assert verdict.verdict == "wrong" and nan[0]["op"] == "arith.subf" and nan[0]["severity"] == "fault"
    assert {"ttir", "ttgir", "ptx"} <= {level for finding in nan for level in finding["levels"]}


@pytest.mark.parametrize("strict", [False, True])
def test_infinities_that_give_no_nan_are_right(strict):
    verdict = judged_attention(strict=strict, first=0)
    assert verdict.verdict == "no fault found" and not places(verdict, "nan")


@pytest.mark.parametrize(
    "judged, check", [(judged_softmax, "nan"), (judged_attention, "nan"), (judged_division, "zerodiv")]
)
def test_verify_finds_the_same_with_one_check_and_with_all(judged, check):
    torch.manual_seed(0)
    alone = places(judged(checks=(check,)), check)
    assert alone and places(judged(), check) == alone


def test_an_undefined_quotient_says_which_output_it_reaches():
    found = [finding for finding in judged_division().findings if finding["check"] == "zerodiv"]
    assert found and all("'out' holds something else" in finding["reaches"] for finding in found)


# ---- whole, with -m long


@pytest.mark.long
@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[0].__name__)
def test_each_overflow_under_all_pairs(fault, level):
    overflowing(fault, level, whole=True)


@pytest.mark.long
@pytest.mark.parametrize("level", ["ptx", "cubin"])
@pytest.mark.parametrize("name", FOUND)
def test_each_step_under_all_pairs(tmp_path, name, level):
    body, _, values = FOUND[name]
    compare(level, lambda checks: str(answer_of_ptx(tmp_path, body, checks, values, level) or ""), whole=True)


@pytest.mark.long
@pytest.mark.parametrize("level", ["ttgir", "ptx"])
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit[0]}, {edit[1]}")
def test_each_broken_program_under_all_pairs(edit, level):
    name, kind, old, new = edit
    unfenced = level == "ptx" and kind.startswith("no fence")
    compare(level, lambda checks: answer(PROGRAMS[name], level, old, new, unfenced, checks), whole=True)


@pytest.mark.long
def test_each_golden_case_under_all_pairs():
    done = subprocess.run(
        [sys.executable, "tests/run_cases.py", "--pairs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
