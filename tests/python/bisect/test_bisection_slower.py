"""Tests bisect --oracle slower: the estimated time of a kernel as what is right or wrong. The report that
it solves is run by test_solved_issues.py."""

import pytest

pytest.importorskip("triton")
import triton_runner
from bisecting import INSTALLED, OTHERS, needs_another
from triton_runner import DiagnosticError
from triton_runner.verbs.bisect import kernel

KERNEL = """
import triton, triton.language as tl

@triton.jit
def total(x, y, n, BLOCK: tl.constexpr):
    sums = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        sums += tl.load(x + i, mask=i < n)
    tl.store(y, tl.sum(sums, 0))
"""


def bisected(tmp_path, oracle, versions, **more):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    given = ["f32[8192]=rand", "f32[1]", 8192]
    return triton_runner.bisect(
        f"{path}:total", given, oracle=oracle, constexprs={"BLOCK": 256}, versions=versions,
        **{"chip": "h200", **more},
    )  # fmt: skip


def test_what_is_no_slower_than_itself(tmp_path):
    found = bisected(tmp_path, "slower", [INSTALLED])
    assert found.verdict == "right" and found.release["right"] == [INSTALLED]


def test_a_bound_in_cycles(tmp_path):
    found = bisected(tmp_path, "cycles>1000", [INSTALLED])
    assert found.release["wrong"] == [INSTALLED] and found.verdict == "compiler"
    (said,) = found.evidence[0]["said"]
    assert " cycles on h200, bound by " in said
    assert bisected(tmp_path, "cycles<1000", [INSTALLED]).verdict == "right"


@needs_another
def test_the_first_release_is_the_base(tmp_path):
    """By a factor below 1 every other release is slower."""
    found = bisected(tmp_path, "slower>0.01", [OTHERS[0], INSTALLED])
    assert found.release["wrong"] == [OTHERS[0], INSTALLED]
    assert f"times those of Triton {OTHERS[0]}" in str(found)


def test_oracles():
    plain, by = kernel.oracle("slower", "h200", "cuda:90"), kernel.oracle("slower>1.2", "h100", "cuda:90")
    assert (plain.kind, plain.compare, plain.bound, plain.chip) == ("slower", ">", 1.05, "h200")
    assert (by.bound, by.chip) == (1.2, "h100")
    known = kernel.than(by, "3.2.0", 1000.0)
    assert (known.kind, known.bound, known.than, str(known)) == ("cycles", 1200.0, "3.2.0", "slower>1.2")
    for text, chip, target, why in (
        ("slower", "", "cuda:90", "are estimated for a chip"),
        ("slower", "h2000", "cuda:90", "unknown chip"),
        ("cycles>9", "h200", "cuda:80", "h200 is cuda:90"),
        ("cyclesX", "h200", "cuda:90", "is no measure"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            kernel.oracle(text, chip, target)
        assert why in str(caught.value)
