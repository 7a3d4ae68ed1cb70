"""Tests experiments: what makes a fault go away, of a program whose fault is known."""

import json

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
from triton_runner._pipeline import versions
from triton_runner.verbs.bisect.runs import BisectedProgram
from triton_runner.verbs.experiments import run as experiments

PROGRAM = """
import sys, torch, triton, triton.language as tl

@triton.jit
def kernel(x, y, z, out):
    tl.store(out, tl.load(x) * tl.load(y) + tl.load(z))

# A product that is not exact in f32: with an FMA its error is what is left, without one nothing is.
x = torch.tensor([1.0 + 2.0 ** -12])
z = -(x * x)
out = torch.ones(1)
kernel[(1,)](x, x, z, out)
sys.exit(0 if (out == 0).all() == (sys.argv[1] == "separate") else 1)
"""


def run(program, *arguments, status):
    done = warm.cli("experiments", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_the_feature_that_makes_the_difference(tmp_path):
    """The program is wrong where products and sums are contracted; without contraction it is right."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = json.loads(run(program, "--json", str(program), "separate", status=1))
    verdicts = {one["name"]: one["verdict"] for one in told["runs"]}
    assert verdicts["as it is"] == "wrong" and "enable_fp_fusion=False" in told["helps"]
    assert verdicts["num_stages=1"] == "wrong" and verdicts["TRITON_F32_DEFAULT=ieee"] == "wrong"
    text = run(program, str(program), "separate", status=1)
    assert text.splitlines()[-1].startswith("the fault goes away with: enable_fp_fusion=False")


def test_a_program_that_is_right_is_run_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert run(program, str(program), "fused", status=0).count("\n") == 1


def test_a_program_that_launches_nothing_is_refused(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print('nothing to do')\n")
    done = warm.cli("experiments", str(program))
    assert done.returncode == 2 and "compiles no kernel" in done.stderr, done.stdout + done.stderr


def test_passes_are_left_out_too(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    steps = experiments.steps_of
    monkeypatch.setattr(experiments, "_GRID", ())
    monkeypatch.setattr(experiments, "steps_of", lambda kernels: steps(kernels)[1:3])
    found = experiments.experiments(
        BisectedProgram(str(program), ("separate",)), versions.installed(), passes=True
    )
    assert [one.name for one in found] == ["as it is", "without add_canonicalizer", "without add_combine"]
    assert {one.verdict for one in found} == {"wrong"}


@pytest.mark.long
def test_all_passes_are_left_out(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = json.loads(run(program, "--json", "--passes", str(program), "separate", status=1))
    without = [one for one in told["runs"] if one["name"].startswith("without ")]
    assert len(without) > 20 and {one["verdict"] for one in without} <= {"wrong", "unknown"}


def test_a_program_that_cannot_tell(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("raise SystemExit(125)")
    assert json.loads(run(program, "--json", str(program), status=125))["verdict"] == "unknown"
