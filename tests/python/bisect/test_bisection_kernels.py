"""Tests triton-runner bisect of a kernel: oracles that judge one launch of it."""

import json

import pytest
import warm

triton = pytest.importorskip("triton")
import numpy as np  # noqa: E402
import triton_runner  # noqa: E402
from bisecting import GIVEN, INSTALLED, KERNEL  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner.verbs.bisect import kernel  # noqa: E402
from triton_runner.verbs.bisect.results import Oracle  # noqa: E402


@pytest.mark.long
def test_a_kernel_beside_its_own_ttir(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    name = f"{tmp_path / 'kernel.py'}:quotient"
    command = ["bisect", name, "--args", "i32[64], 0", "-c", "N=64", "-O", "num_warps=1", "--json"]
    answer = warm.invoke(*command, "--versions", INSTALLED)
    said = json.loads(answer.stdout)
    assert answer.exit_code == 1 and said["pass"]["name"] == "ConvertTritonGPUToLLVM"


@pytest.mark.long
def test_a_function_of_python_as_the_oracle(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    name, out = f"{tmp_path / 'kernel.py'}:quotient", np.zeros(64, np.int32)
    want = np.trunc((np.arange(64) - 40) / 16)
    found = triton_runner.bisect(name, [out, 0], oracle=lambda arrays: (arrays[0] == want).all(), **GIVEN)
    assert found.verdict == "compiler" and found.level == "llir" and "ConvertTritonGPUToLLVM" in str(found)
    assert (out == 0).all()
    high = triton_runner.bisect(name, [out, 0], oracle="instr:st.global>0", **GIVEN)
    assert high.verdict == "compiler" and any("no release is right" in note for note in high.notes)


def test_bisect_in_python(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    name, out = f"{tmp_path / 'kernel.py'}:quotient", np.zeros(64, np.int32)
    low = triton_runner.bisect(name, [out, 0], oracle="instr:st.global<1", **GIVEN)
    assert low.verdict == "right" and low.release["right"] == [INSTALLED]
    with pytest.raises(DiagnosticError, match="has no kernel 'absent'; its kernels: quotient"):
        triton_runner.bisect(name.replace(":quotient", ":absent"), [out], versions=INSTALLED)
    with pytest.raises(DiagnosticError, match="neither an oracle nor a file"):
        triton_runner.bisect(name, [out, 0], oracle="fast")
    with pytest.raises(DiagnosticError, match="time is measured on a GPU"):
        triton_runner.bisect(name, [out, 0], oracle="time>1")


TUNED = """
import triton, triton.language as tl

@triton.autotune([triton.Config({"BLOCK": n}, num_warps=1) for n in (64, 128)], key=["n"])
@triton.heuristics({"SHIFT": lambda given: given["n"] - given["BLOCK"]})
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr, SHIFT: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + SHIFT, mask=at < n)
"""


def test_an_autotuned_kernel_takes_its_first_configuration(tmp_path):
    (tmp_path / "kernel.py").write_text(TUNED)
    name, x, out = f"{tmp_path / 'kernel.py'}:tuned", np.zeros(100, np.float32), np.zeros(100, np.float32)
    for block, shift in ({}, 36), ({"BLOCK": 32}, 68):
        given = {"grid": (4,), "constexprs": block, "versions": INSTALLED, "levels": ["ttir"]}
        found = triton_runner.bisect(
            name, [x, out, 100], oracle=lambda arrays, n=shift: (arrays[1] == n).all(), **given
        )
        assert found.verdict == "right", str(found)


def test_oracles_that_are_programs(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    oracle = tmp_path / "oracle.py"
    oracle.write_text(
        "import pathlib, sys\nsys.exit('st.global' in pathlib.Path(sys.argv[1], 'kernel.ptx').read_text())"
    )
    command = ["bisect", f"{tmp_path / 'kernel.py'}:quotient", "--args", "i32[64], 0", "-c", "N=64"]
    options = ["--oracle", str(oracle), "--versions", INSTALLED, "--save", str(tmp_path / "folder")]
    answer = warm.invoke(*command, *options)
    assert answer.exit_code == 1 and "it exited with 1" in answer.output
    assert (tmp_path / "folder/oracle.py").is_file()
    assert "--oracle oracle.py" in (tmp_path / "folder/run.sh").read_text()


def test_oracles_as_they_are_written(tmp_path):
    assert kernel.oracle("shared>1536") == Oracle("shared", compare=">", bound=1536.0)
    assert kernel.oracle("instr:mma.sync<=2").name == "mma.sync"
