"""triton_runner.passes: what runs between two levels, and compilations that start, stop, skip or replace
there."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import warm

triton = pytest.importorskip("triton")
import kernels_for_passes as kernels  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._kernel.compiling import passes_select  # noqa: E402
from triton_runner.verbs.passes import dump as passes_dump  # noqa: E402

HERE = pathlib.Path(__file__).parents[1] / "helpers"
MATMUL = {
    "signature": "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16",
    "constexprs": {"BM": 64, "BN": 64, "BK": 32},
}
FILL = {"signature": "*fp32:16", "constexprs": {"BLOCK": 64}}


@pytest.fixture(scope="module", params=["cuda:80", "cuda:90"])
def trace(request):
    return triton_runner.passes(kernels.matmul, **MATMUL, target=request.param)


def product():
    """Arguments of the kernel, and the exact product."""
    random = np.random.default_rng(1)
    a, b = (random.integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
    c = np.full((128, 128), np.nan, np.float32)
    return (a, b, c, 128, 128, 128), a.astype(np.float32) @ b.astype(np.float32)


def test_the_traced_compilation_is_the_plain_one(trace):
    plain = triton_runner.compile(kernels.matmul, **MATMUL, target=trace.target)
    assert trace.identical and trace.asm == plain.asm and not trace.differences
    assert trace.metadata == plain.metadata


def test_passes_inside_llvm(tmp_path):
    trace = triton_runner.passes(kernels.fill, **FILL, target="cuda:90", to="ptx", llvm=True)
    assert trace.identical and {one.stage for one in trace.llvm} == {"make_llir", "make_ptx"}
    changed = [one for one in trace.llvm if one.changed]
    assert "InstCombinePass" in [one.name for one in trace.llvm] and 0 < len(changed) < len(trace.llvm)
    last = [one for one in trace.llvm if one.stage == "make_llir"][-1]
    assert "define ptx_kernel void @fill" in last.after or "define void @fill" in last.after
    assert any(one.after is None for one in trace.llvm)  # those on machine instructions
    saved = [pathlib.Path(file) for file in trace.save(tmp_path)]
    first = tmp_path / changed[0].file
    assert first in saved and first.read_text() == changed[0].after
    assert not triton_runner.passes(kernels.fill, **FILL, target="cuda:90", to="ttir", check=False).llvm


def test_lines_of_an_ir(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("USE_IR_LOC", "ttgir")
    trace = triton_runner.passes(kernels.fill, **FILL, target="cuda:90", to="ptx")
    (file,) = tmp_path.glob("ir_loc/*/fill.ttgir")
    assert trace.identical and trace.notes == [f"USE_IR_LOC: lines are those of {file}"]
    directory = f'"{file.parent}" "fill.ttgir"'.replace('" "', "/")
    assert directory in trace.asm["ptx"].replace('" "', "/") and "ttg.num-warps" in file.read_text()
    lines = {int(n) for n in re.findall(r"^\s*\.loc\s+1 (\d+)", trace.asm["ptx"], re.M)}
    store = next(n for n, line in enumerate(file.read_text().splitlines(), 1) if "tt.store" in line)
    assert store in lines


def test_what_a_pass_says(trace):
    assert [one.number for one in trace] == list(range(1, len(trace) + 1))
    assert list(dict.fromkeys(one.stage for one in trace)) == ["make_ttir", "make_ttgir", "make_llir"]
    pipeline = trace.find("tritongpu-pipeline")
    assert (pipeline.name, pipeline.add) == ("TritonGPUPipeline", "passes.ttgpuir.add_pipeline")
    assert pipeline.arguments[0] == "3" and "num-stages=3" in pipeline.pipeline
    assert pipeline.changed and pipeline.before != pipeline.after and pipeline.seconds > 0
    assert pipeline.bytes == len(pipeline.after)
    assert pipeline.ops == len(triton_runner.ir.parse(pipeline.after).walk())
    for one, following in itertools.pairwise(trace):
        assert one.changed == (one.before != one.after)
        assert following.before == one.after or following.stage != one.stage


def test_the_ir_behind_every_pass_runs_until_it_is_llvms(trace):
    ran = 0
    for one in trace:
        if not one.changed:
            continue
        if "llvm.func" in one.after:
            with pytest.raises(DiagnosticError, match="LLVM's dialect"):
                one.load()
            continue
        arguments, want = product()
        one.load()[(2, 2)](*arguments)
        assert np.array_equal(arguments[2], want), one
        ran += 1
    assert ran > 15


def test_until_a_pass_and_on_from_there(trace):
    pipeline = trace.find("add_pipeline")
    stopped = trace.until("add_pipeline")
    assert stopped.stopped == pipeline.after and list(stopped.asm) == ["source", "ttir"]
    following = trace[pipeline.number]
    again = trace.started(following.number, stopped.stopped)
    assert [one.ran for one in again] == [one.number > pipeline.number for one in trace]
    assert "ttir" not in again.asm and "source" not in again.asm
    for level in ("ptx", "cubin"):  # above, names of values come from locations
        assert again.asm[level] == trace.asm[level], level


def test_without_a_pass(trace):
    without = trace.without("add_pipeline")
    assert [one.number for one in without if not one.ran] == [trace.find("add_pipeline").number]
    copies = "ttg.async_copy_global_to_local"
    assert copies in trace.asm["ttgir"] and copies not in without.asm["ttgir"]
    twice = trace.without("canonicalizer")
    assert sum(not one.ran for one in twice) == len(trace.find_all("canonicalizer")) > 2


def test_the_output_of_a_pass_replaced(trace):
    same = trace.replaced({one.number: one.after for one in (trace[0], trace[20], trace[-1])})
    for level in ("ptx", "cubin"):  # above, names of values come from locations
        assert same.asm[level] == trace.asm[level], level
    coalesce = trace.find("coalesce")
    assert "dense<0.000000e+00>" in coalesce.after
    edited = coalesce.after.replace("dense<0.000000e+00>", "dense<2.000000e+00>")
    made = trace.replaced({"coalesce": edited})
    assert "2.000000e+00" in made.asm["ttgir"] and made.identical is None
    arguments, want = product()
    triton_runner.load(made.asm["ptx"], metadata=made.metadata)[(2, 2)](*arguments)
    assert np.array_equal(arguments[2], want + 2)


def test_fingerprints_tell_the_same(trace):
    marks = triton_runner.passes(kernels.matmul, **MATMUL, target=trace.target, keep="hash")
    assert marks.identical and [one.changed for one in marks] == [one.changed for one in trace]
    assert len(marks[0].after) == 32 and marks[0].ops is None
    with pytest.raises(DiagnosticError, match="only fingerprints were kept"):
        marks.save("never-written")


def test_names_of_passes():
    for name in ("add_coalesce", "coalesce", "tritongpu-coalesce", "TritonGPUCoalesce"):
        assert "passes.ttgpuir.add_coalesce" in passes_select.selector(name)["adds"], name
    assert passes_select.selector("make_ttgir:cse#2")["nth"] == 2
    assert passes_select.selector(7)["number"] == 7
    assert passes_select.name_of("passes.plugin.add_my_pass") == ("MyPass", "my-pass")
    with pytest.raises(DiagnosticError, match="the nearest: tritongpu-coalesce"):
        passes_select.selector("tritongpu-coalescee")


BAD = [
    ({"stop": "prefetch"}, "pass prefetch does not run for kernel 'matmul' and cuda:90"),
    ({"stop": "canonicalizer#99"}, "pass canonicalizer#99 does not run"),
    ({"stop": "nosuch"}, "no pass is called 'nosuch'"),
    ({"start": "coalesce"}, "starting at pass coalesce needs the IR"),
    (
        {"replace": {"coalesce": "garbage\n"}},
        r"does not accept the IR that is to replace what pass 9 \(add_coalesce\)",
    ),
    ({"skip": "convert-triton-to-tritongpu"}, "in stage make_ttgir, pass 9 passes.ttgpuir.add_coalesce"),
    ({"skip": "to_llvmir"}, "in stage make_llir, after its passes"),
    ({"keep": "all"}, 'it is "text", "hash" or "none"'),
]


@pytest.mark.parametrize(("plan", "said"), BAD, ids=[str(plan)[:30] for plan, _ in BAD])
def test_bad_plans(plan, said):
    with pytest.raises(DiagnosticError, match=said):
        triton_runner.passes(kernels.matmul, **MATMUL, target="cuda:90", **plan)


# --- launches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["ttgir", "ptx"])
def test_a_launch_under_a_plan(level):
    made = triton_runner.passes(kernels.fill, **FILL, target="cuda:90")
    coalesce = made.find("coalesce")
    out = np.zeros(64, np.float32)
    kernels.fill[(1,)](out, BLOCK=64, skip_pass="cse", level=level, target="cuda:90")
    assert (out == 3).all()
    edited = coalesce.after.replace("3.000000e+00", "5.000000e+00")
    kernels.fill[(1,)](out, BLOCK=64, ir_after={"coalesce": edited}, level=level, target="cuda:90")
    assert (out == 5).all()
    edited = coalesce.before.replace("3.000000e+00", "7.000000e+00")
    options = {"level": level, "target": "cuda:90"}
    kernels.fill[(1,)](out, BLOCK=64, ttgir_src=edited, start_pass="coalesce", **options)
    assert (out == 7).all()
    with pytest.raises(DiagnosticError, match="the kernel enters as Python"):
        kernels.fill[(1,)](out, BLOCK=64, start_pass="coalesce", **options)
    with pytest.raises(DiagnosticError, match="pass pipeline#9 does not run for kernel 'fill'"):
        kernels.fill[(1,)](out, BLOCK=64, skip_pass="pipeline#9", **options)


def test_a_launch_is_specialised_as_triton_does():
    arguments, want = product()
    kernels.matmul[(2, 2)](
        *arguments, BM=64, BN=64, BK=32, skip_pass="pipeline", level="ptx", target="cuda:80"
    )
    assert np.array_equal(arguments[2], want)
    out = np.zeros(8, np.float32)
    kernels.strided[(1,)](out, 1, 2.5, None, N=8, skip_pass="cse", level="ttir")
    assert (out == 2.5).all()


# --- dumps that somebody has --------------------------------------------------------------------------------

PROGRAM = """
import sys
sys.path.insert(0, {here!r})
import kernels_for_passes as kernels, triton_runner
print("before the dump", file=sys.stderr)
triton_runner.compile(kernels.matmul, {signature!r}, {constexprs!r}, target="cuda:90")
print("behind the dump", file=sys.stderr)
"""


def test_a_dump_is_split_as_a_trace(tmp_path):
    program = PROGRAM.format(here=str(HERE), **MATMUL)
    environment = {**os.environ, "MLIR_ENABLE_DUMP": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
    )
    trace = triton_runner.passes(kernels.matmul, **MATMUL, target="cuda:90")
    split = passes_dump.split(done.stderr)
    # Some passes run others within themselves (the inliner a canonicalizer): those are in the dump only.
    names = [(one.name, one.argument) for one in split]
    places, compared = [], 0
    for one in trace:
        places.append(names.index((one.name, one.argument), places[-1] + 1 if places else 0))
    for one, place, following in zip(trace, places, places[1:], strict=False):
        if following == place + 1 and split[place].changed is not None:
            assert split[place].changed == one.changed, one
            compared += 1
    assert len(split) < len(trace) + 10 and compared > len(trace) - 10
    assert {one.kernel for one in split if one.op == "builtin.module"} == {"matmul"}
    assert "behind the dump" not in split[-1].before and split[-1].before.startswith("#")
    (tmp_path / "all.mlir").write_text(done.stderr)
    answer = warm.invoke("passes", tmp_path / "all.mlir", "--save", tmp_path / "out", "--json")
    assert answer.exit_code == 0
    files = {pathlib.Path(path).name.partition("-")[2] for path in json.loads(answer.output)["files"]}
    assert {"source.mlir", "changed-TritonGPUCoalesce.mlir", "TritonGPUOptimizeThreadLocality.mlir"} <= files


OLD_DUMP = """noise
// -----// IR Dump Before Inliner (inline) ('builtin.module' operation) //----- //
module {
  tt.func public @one() {
    tt.return
  }
} loc(#loc)
#loc = loc(unknown)


a line of the program
// -----// IR Dump Before CSE (cse) ('builtin.module' operation) //----- //
module {
  tt.func public @one() {
    tt.return
  }
} loc(#loc)
#loc = loc(unknown)


// -----// IR Dump After CSE Failed (cse) ('builtin.module' operation: @two) //----- //
"builtin.module"() ({
}) : () -> ()
// -----// IR Dump Before TritonGPUPipeline: tritongpu-pipeline{a=3} ('builtin.module' operation) //----- //
module {
  tt.func public @two() {
    tt.return
  }
}
"""


def test_both_forms_of_a_dump():
    first, second, third = passes_dump.split(OLD_DUMP)
    assert (first.name, first.argument, first.changed, first.kernel) == ("Inliner", "inline", False, "one")
    assert "a line of the program" not in first.before
    assert second.failed and second.changed and second.after.startswith('"builtin.module"')
    assert (third.argument, third.options, third.kernel) == ("tritongpu-pipeline", "a=3", "two")
    assert third.after is None and third.changed is None
    with pytest.raises(DiagnosticError, match="has no '// -----// IR Dump Before"):
        passes_dump.split("nothing")


# --- the command line ---------------------------------------------------------------------------------------


def test_the_verbs(tmp_path):
    kernel = f"{HERE / 'kernels_for_passes.py'}:fill"
    arguments = ["passes", kernel, "-s", "*fp32:16", "-c", "BLOCK=64", "-t", "cuda:90"]
    answer = warm.invoke(*arguments, "--save", tmp_path, "--json")
    assert answer.exit_code == 0, answer.output
    said = json.loads(answer.output)
    assert said["identical"] and said["kernel"] == "fill"
    by_argument = {one["argument"]: one for one in said["passes"]}
    coalesce = by_argument["tritongpu-coalesce"]
    before = tmp_path / f"{coalesce['number'] - 1:02}-changed-ConvertTritonToTritonGPU.mlir"
    behind = tmp_path / f"{coalesce['number']:02}-changed-TritonGPUCoalesce.mlir"
    assert before.exists() and behind.exists() and (tmp_path / "fill.cubin").exists()
    answer = warm.invoke("opt", "--pass", "add_coalesce", before)
    assert answer.exit_code == 0 and answer.output == behind.read_text()
    answer = warm.invoke(*arguments, "--changed")
    assert "identical to the plain compilation" in answer.output and "TritonGPUPrefetch" not in answer.output
    answer = warm.invoke(*arguments, "--print", "coalesce")
    assert answer.output == behind.read_text()
    answer = warm.invoke(*arguments, "--until", "nosuch")
    assert answer.exit_code == 2 and "no pass is called 'nosuch'" in answer.output
