"""passes --time: what a compilation spends its time on, down to LLVM's passes and ptxas."""

import json
import os
import pathlib
import sys

import pytest
import warm

pytest.importorskip("triton")

import kernels_for_passes as kernels
from triton_runner._worker import pass_clock, times_job
from triton_runner.verbs.passes.times import times as times_of

KERNELS = pathlib.Path(__file__).parents[1] / "helpers" / "kernels_for_passes.py"
SCALED = {"signature": "*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16", "constexprs": {"M": 32, "N": 32, "K": 32}}
ROUNDING = 0.02  # seconds: LLVM's timers of code generation have four decimals, and there are 200 of them


@pytest.fixture(scope="module")
def times():
    return times_of(kernels.scaled, **SCALED, target="cuda:75")


def groups(times):
    return {(stage.level, group.name): group for stage in times.stages for group in stage.groups}


def test_parts_add_up_to_no_more_than_the_whole(times):
    assert [stage.level for stage in times.stages] == ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
    assert times.seconds == pytest.approx(sum(stage.seconds for stage in times.stages))
    assert sum(stage.share for stage in times.stages) == pytest.approx(1)
    assert times.plain_seconds == pytest.approx(sum(stage.plain_seconds for stage in times.stages))
    for stage in times.stages:
        assert 0 < sum(group.seconds for group in stage.groups) <= stage.seconds or stage.level == "source"
        for group in stage.groups:
            assert sum(part.seconds for part in group.parts) <= group.seconds + ROUNDING
            assert [*group.parts] == sorted(group.parts, key=lambda part: -part.seconds)
    assert not times.notes


def test_what_the_package_adds_is_told_by_level(times):
    assert [load.level for load in times.loads] == ["ttir", "ttgir", "ptx", "cubin"]
    assert all(load.seconds > 0 for load in times.loads)
    assert [load.level for load in times.loads if load.nvdisasm_seconds] == ["cubin"]


def test_each_stage_is_divided(times):
    found = groups(times)
    runs = {key: {part.name: part.runs for part in group.parts} for key, group in found.items()}
    assert runs["llir", "MLIR's passes"]["ConvertTritonGPUToLLVM"] == 1
    assert runs["llir", "llvm.optimize_module"]["InstCombinePass"] > 1
    assert "NVPTX DAG->DAG Pattern Instruction Selection" in runs["ptx", "llvm.translate_to_asm"]
    assert not any("Print" in name and "IR" in name for name in runs["ptx", "llvm.translate_to_asm"])
    assert runs["cubin", "ptxas"] == {"scaled": 1} and found["cubin", "ptxas"].parts[0].seconds > 0


def test_a_pass_that_one_target_runs_is_its_alone(times):
    """The SLP vectorizer of LLVM, which takes longest for an unrolled product on an idle machine; Triton does
    not run it for sm_80. On a busy machine another pass may have waited longer."""
    passes = groups(times)["llir", "llvm.optimize_module"].parts
    assert [one.seconds > 0 for one in passes if one.name == "SLPVectorizerPass"] == [True]
    other = times_of(kernels.scaled, **SCALED, target="cuda:80", to="llir")
    passes = groups(other)["llir", "llvm.optimize_module"].parts
    assert passes and "SLPVectorizerPass" not in [one.name for one in passes]


def test_what_llvm_prints_stops_the_clock():
    clock = pass_clock.Clock()
    for data, now in (
        (b"Running pass: SROAPass on f (2 instructions)\nRunning analysis: X on f\n", 1.0),
        (b"; *** IR Dump Af", 3.0),
        (b"ter SROAPass on f ***\ndefine void @f() {\n", 3.5),
        (b"}\nRunning pass: A<B, C> on f\n", 7.0),
        (b"Running pass: LICMPass on loop %a in function f\n", 7.25),
        (b"; *** IR Dump After LICMPass on loop %a in function f (invalidated) ***\n", 8.25),
    ):
        clock.feed(data, now)
    clock.close(9.0)
    assert clock.passes == [["SROAPass", 2.5], ["A<B, C>", 0.25], ["LICMPass", 1.0]]
    assert clock.printing == 3.5 + 0.75


def test_nothing_of_the_process_is_left_changed(monkeypatch):
    monkeypatch.setenv("LLVM_IR_ENABLE_DUMP", "0")
    watch = times_job.Stopwatch()

    def optimised(*arguments):
        sys.stderr.flush()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        watch.call("llvm.optimize_module", optimised, (), {})
    assert os.environ["LLVM_IR_ENABLE_DUMP"] == "0" and "LLVM_ENABLE_TIMING" not in os.environ


def test_the_verb():
    arguments = ["passes", f"{KERNELS}:fill", "-s", "*fp32:16", "-c", "BLOCK=64", "-t", "cuda:90", "--time"]
    answer = warm.invoke(*arguments)
    assert answer.exit_code == 0, answer.output
    lines = answer.output.splitlines()
    assert [line for line in lines if line.startswith("make_cubin")]
    assert any(
        line.startswith("fill for cuda:90 by Triton ") and " without timers " in line for line in lines
    )
    assert [line.split()[2] for line in lines if line.startswith("load at ")] == [
        "ttir",
        "ttgir",
        "ptx",
        "cubin",
    ]
    answer = warm.invoke(*arguments, "--to", "ttgir", "--json")
    said = json.loads(answer.output)
    assert all(load.get("launch_seconds") is None for load in said["loads"])
    assert [load["level"] for load in said["loads"]] == ["ttir", "ttgir"]
    assert [stage["name"] for stage in said["stages"]] == ["front end", "make_ttir", "make_ttgir"]
    assert said["stages"][2]["groups"][0]["parts"][0]["seconds"] > 0


def test_a_launch_is_timed_too():
    arguments = ["passes", f"{KERNELS}:fill", "-s", "*fp32:16", "-c", "BLOCK=64", "-t", "cuda:90", "--time"]
    launch = ["--arg", "f32[128]", "--grid", "128 // BLOCK"]
    said = json.loads(warm.invoke(*arguments, *launch, "--json").output)
    assert [load["level"] for load in said["loads"]] == ["ttir", "ttgir", "ptx", "cubin"]
    assert all(load["launch_seconds"] > 0 and 0 < load["share"] < 1 for load in said["loads"])
    plain = {stage["level"]: stage["plain_seconds"] for stage in said["stages"]}
    first = said["loads"][0]
    ours, triton = first["seconds"] + first["launch_seconds"], plain["source"] + plain["ttir"]
    assert first["share"] == pytest.approx(ours / (ours + triton))
    lines = warm.invoke(*arguments, *launch, "--to", "ttgir").output.splitlines()
    assert [line.split()[2] for line in lines if line.startswith("launch at ")] == ["ttir", "ttgir"]
    (line,) = [line for line in lines if line.startswith("this package's part of the time before")]
    assert line.count("%") == 2


def test_a_launch_that_traps_is_no_time():
    arguments = ["passes", f"{KERNELS}:fill", "-s", "*fp32:16", "-c", "BLOCK=64", "-t", "cuda:90", "--time"]
    answer = warm.invoke(*arguments, "--to", "ttir", "--arg", "f32[32]", "--grid", "1")
    assert answer.exit_code == 1 and "out of bounds" in answer.output + str(answer.exception)
