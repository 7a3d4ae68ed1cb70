"""Tests `__constant__` variables of programs of the CUDA driver API, in PTX and in machine code."""

import pathlib
import subprocess
import sys

import pytest
import triton
from test_cuda_program import run
from triton_runner import open_case, verify

PROGRAM = pathlib.Path(__file__).with_name("cuda_constants.py")
PTX = """
.version 8.0
.target sm_SM
.address_size 64
.global .align 4 .u32 table[2] = {10, 20};
.const .align 8 .u64 table_at = table;
.const .align 4 .f32 factors[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.visible .entry k(.param .u64 out)
{
 .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<8>;
 ld.param.u64 %d1,[out]; mov.u32 %r1,%tid.x; and.b32 %r2,%r1,3; mul.wide.u32 %d2,%r2,4;
 mov.u64 %d3,factors; add.s64 %d4,%d3,%d2; ld.const.f32 %f1,[%d4];
 ld.const.f32 %f2,[factors+4]; add.f32 %f1,%f1,%f2;
 add.u32 %r2,%r1,1; and.b32 %r2,%r2,3; mul.wide.u32 %d2,%r2,4;
 cvta.const.u64 %d5,%d3; add.s64 %d5,%d5,%d2; ld.f32 %f3,[%d5]; add.f32 %f1,%f1,%f3;
 ld.const.u64 %d6,[table_at]; ld.u32 %r3,[%d6];
 ld.u32 %r4,[%d6+4]; add.u32 %r3,%r3,%r4; cvt.rn.f32.u32 %f4,%r3; add.f32 %f1,%f1,%f4;
 mul.wide.u32 %d2,%r1,4; add.s64 %d1,%d1,%d2; st.global.f32 [%d1],%f1; ret;
}
"""


def module(folder: pathlib.Path, level: str, capability: int) -> pathlib.Path:
    """Writes the kernel as PTX, or as what ptxas makes of it."""
    text, out = folder / "kernel.ptx", folder / f"kernel.{level}"
    text.write_text(PTX.replace("SM", str(capability)))
    if level == "cubin":
        ptxas = pathlib.Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
        subprocess.run([ptxas, f"-arch=sm_{capability}", text, "-o", out], check=True)
    return out


@pytest.mark.parametrize(("level", "chip"), [("ptx", "h100"), ("cubin", "h100"), ("cubin", "a100")])
def test_kernels_see_what_the_program_writes(tmp_path, level, chip):
    done = run(PROGRAM, module(tmp_path, level, {"a100": 80, "h100": 90}[chip]), 0, options=("--chip", chip))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "right\n"
    # The variables end with their module. What nvdisasm warns of is not for the program's user.
    assert done.stderr.startswith("triton-runner: a copy names ") and done.stderr.count("\n") == 1
    assert done.stderr.endswith("bytes), which was freed\n")


@pytest.mark.parametrize("level", ("ptx", "cubin"))
def test_a_race_with_a_write_of_a_constant_is_found(tmp_path, level):
    done = run(PROGRAM, module(tmp_path, level, 90), 1, options=("--check", "race"))
    assert done.returncode == 1
    assert "cuMemsetD32Async: error 719" in done.stderr
    assert "a fill in the legacy default stream writes" in done.stderr
    assert "which launch 1 (kernel 'k'), " in done.stderr and "in stream 1 reads" in done.stderr


def test_machine_code_is_captured_and_judged(tmp_path):
    """The cubin runs, as the only level that there is."""
    done = run(PROGRAM, module(tmp_path, "cubin", 90), 0, options=("--capture", tmp_path / "cases"))
    assert done.returncode == 0, done.stderr
    path = tmp_path / "cases" / "k-0.trcase"
    case = open_case(path)
    assert case.subject.levels == ("cubin",) and case.expects()
    assert not case.differences(case.run())
    verdict = verify(path)
    assert verdict.verdict == "no fault found"
    assert [one["levels"] for one in verdict.launches] == [["cubin"]]
    words = [sys.executable, "-m", "triton_runner", "bisect", path]
    refused = subprocess.run(words, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "it has no Python of its kernel, which other releases would compile" in refused.stderr
