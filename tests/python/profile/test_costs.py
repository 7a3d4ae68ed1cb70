"""Tests what verify warns of in right launches: bank conflicts and spills that are sure to cost time."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import kernels_for_costs as kernels  # noqa: E402
from triton_runner import _settings  # noqa: E402
from triton_runner._kernel.cases import judge  # noqa: E402
from triton_runner._kernel.cost import costs  # noqa: E402
from triton_runner._kernel.lockstep.subject import launch_of  # noqa: E402
from triton_runner.verbs.verify import ci as ci_checks  # noqa: E402
from triton_runner.verbs.verify import run as verdict  # noqa: E402

MANY = 20_000  # programs, of which three run


def launched(kernel, size: int, programs: int, target: str = "cuda:90", **constants):
    with _settings.using(device="cpu", target=target):
        return launch_of(kernel, [torch.zeros(size), torch.zeros(size)], constants, (programs,))


@pytest.mark.parametrize(
    ("programs", "width", "kinds"),
    [(MANY, 1, ["conflicts"]), (4, 1, []), (MANY, 32, []), (MANY, 16, [])],
    ids=["32-way", "few programs", "none", "2-way, and memory takes longer"],
)
def test_bank_conflicts_that_bind(programs, width, kinds):
    found = costs.costs(launched(kernels.turned, 64 * 64, programs, TIMES=0, WIDTH=width))
    assert [cost.kind for cost in found] == kinds
    for cost in found:
        source = Path(cost.file).read_text().splitlines()[cost.line - 1]
        assert "buffer.permute((1, 0)).load(held)" in source and "32-way" in cost.notes[0]
        # 64 x 64 elements: a wavefront each, against 128 of 32.
        assert f"{MANY * (64 * 64 + 128):,} wavefronts, {MANY * 256:,} without" in cost.message


def test_spills_that_are_executed():
    few = launched(kernels.normed, 1024, MANY, "cuda:80", COLUMNS=1024, num_warps=1, maxnreg=24)
    (cost,) = costs.costs(few)
    assert cost.kind == "spills" and "registers are spilled" in cost.message and cost.line > 20
    assert costs.costs(launched(kernels.normed, 1024, MANY, "cuda:80", COLUMNS=1024, num_warps=4)) == []


def test_a_target_whose_chips_are_not_known():
    assert costs.costs(launched(kernels.normed, 64, MANY, "cuda:120", COLUMNS=64)) == []


def test_a_cost_is_a_warning_and_the_launch_is_right():
    """With --strict too; a launch that is wrong is not counted."""
    launch = launched(kernels.normed, 64, 1, COLUMNS=64)
    cost = costs.Cost("spills", "9 registers are spilled", "kernel.py", 3, ["spills: 1"])
    judged = judge.judge(launch, ("oob",), True, costs=lambda launch: [cost])
    (finding,) = judged.findings
    assert judged.verdict == "no fault found" and finding.severity == "warning"
    assert (finding.check, finding.file, finding.line) == ("spills", "kernel.py", 3)
    assert "warning, spills at cubin: 9 registers are spilled\n    spills: 1" in str(judged)
    check = ci_checks.suite_of(
        verdict.Verdict([judged.compared_with("reference", "f")], strict=True), "x", "1"
    ).checks[0]
    assert check.state == "passed" and [issue.level for issue in check.issues] == ["warning"]
    wrong = judge.judge(launched(kernels.normed, 32, 1, COLUMNS=64), ("oob",), costs=lambda launch: [cost])
    assert {finding.check for finding in wrong.findings} == {"oob"}
