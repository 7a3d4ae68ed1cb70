"""Each fault that a check reports says in a clause what to do, wherever a person or a program reads it."""

import json
import traceback

import pytest
import triton.language as tl
import triton_runner
import warm
from triton_runner import _core

KINDS = (
    "out of bounds", "outside of a view", "misaligned access", "division by zero", "integer overflow",
    "uninitialized value", "not a number", "false hint", "hazard",
)  # fmt: skip
RACES = ("global", "shared", "in flight", "copies", "fence", "order")


def test_each_kind_that_a_check_reports_has_a_clause_of_its_own():
    clauses = [_core.advice_on(kind) for kind in KINDS] + [_core.advice_on("data race", r) for r in RACES]
    assert all(clauses) and len(set(clauses)) == len(clauses)
    assert all(clause[0].islower() and not clause.endswith(".") for clause in clauses)
    assert _core.advice_on("timeout") == _core.advice_on("no such kind") == ""


@triton_runner.jit
def copy(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_a_trap_and_its_traceback_have_it(level):
    import numpy

    with pytest.raises(triton_runner.KernelTrap) as caught:
        with triton_runner.using(device="cpu", level=level):
            copy[(1,)](numpy.zeros(20, numpy.float32), numpy.zeros(32, numpy.float32), BLOCK=32)
    assert caught.value.advice == "mask the access with the size of the tensor"
    assert "advice:" not in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value))
    assert f"\nadvice: {caught.value.advice}\n" in shown


PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def total(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out, tl.load(out) + tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))

x, out = torch.ones(100, device="cuda"), torch.zeros(1, device="cuda")
total[(4,)](x, out, 100, B=32)
assert out.item() == 100
"""


def test_commands_show_it_and_their_json_has_it(tmp_path):
    (tmp_path / "total.py").write_text(PROGRAM)
    advice = "write disjoint elements, or use an atomic update"
    done = warm.cli("run", "--pretend-cuda", "--check", "race", "total.py", cwd=tmp_path)
    assert done.returncode == 1 and f"  advice: {advice}\n" in done.stderr, done.stderr
    done = warm.cli("verify", "--pretend-cuda", "--check", "race", "--json", "total.py", cwd=tmp_path)
    findings = json.loads(done.stdout)["launches"][0]["findings"]
    assert {one["check"]: one.get("advice") for one in findings}["race"] == advice
    done = warm.cli("verify", "--pretend-cuda", "--check", "race", "total.py", cwd=tmp_path)
    assert f"    advice: {advice}\n" in done.stdout
