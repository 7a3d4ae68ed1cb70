"""Machine code on the CPU, wherever a level can be named."""

import re

import numpy as np
import pytest
import warm

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from kernels_for_tests import add, plain_add  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner.verbs.bisect import assembled  # noqa: E402

TARGET = "cuda:89"


def inputs(n=200):
    return np.arange(n, dtype=np.float32), np.full(n, 2, np.float32), np.zeros(n, np.float32)


def test_a_kernel_of_python():
    x, y, out = inputs()
    kernel = add[(4,)](x, y, out, 200, BLOCK=64, level="cubin", target=TARGET)
    assert (out == x + 2).all() and kernel.runner_level == "cubin"
    assert isinstance(kernel.asm["cubin"], bytes) and ".entry" in kernel.asm["ptx"]


def test_using_and_plain_triton():
    torch = pytest.importorskip("torch")
    x, y, out = map(torch.from_numpy, inputs())
    with triton_runner.using(device="cpu", level="cubin", target=TARGET):
        plain_add[(4,)](x, y, out, 200, BLOCK=64)
    assert (out == x + 2).all()


@pytest.fixture(scope="module")
def cubin(tmp_path_factory):
    """The path of _add.cubin, with metadata beside it."""
    made = triton_runner.compile(plain_add, "*fp32:16, *fp32:16, *fp32:16, i32", {"BLOCK": 64}, target=TARGET)
    place = tmp_path_factory.mktemp("add")
    made.save(place)
    return place / "_add.cubin"


def test_load_and_cubin_dir(cubin):
    x, y, out = inputs()
    kernel = triton_runner.load(cubin, device="cpu")
    kernel[(4,)](x, y, out, 200)
    assert (out == x + 2).all() and kernel.level == "cubin" and kernel.n_regs > 0
    out[:] = 0
    add[(4,)](x, y, out, 200, BLOCK=64, cubin_dir=cubin.parent, device="cpu")
    assert (out == x + 2).all()
    with pytest.raises(DiagnosticError, match="cannot go back"):
        triton_runner.load(cubin, device="cpu", level="ptx")


def test_a_ptx_executed_as_machine_code(cubin):
    x, y, out = inputs()
    kernel = triton_runner.load(cubin.with_suffix(".ptx"), device="cpu", level="cubin")
    kernel[(4,)](x, y, out, 200)
    assert (out == x + 2).all() and kernel.level == "cubin"


def test_exec(cubin):
    words = ["exec", str(cubin), "--grid", "4", "--arg", "f32[200]=iota", "--arg", "f32[200]=2"]
    done = warm.invoke(*words, "--arg", "f32[200]", "--arg", "200")
    assert done.exit_code == 0 and "(cubin) on cpu" in done.output and "[  2.   3.   4." in done.output


def test_a_trap_names_all_three(cubin):
    """The instruction, the line of the PTX that it was made from, and the line of Python."""
    x, y, out = inputs(128)
    with pytest.raises(triton_runner.KernelTrap) as caught:
        triton_runner.load(cubin, device="cpu")[(4,)](x, y, out, 200)
    trap = caught.value
    assert trap.kind == "out of bounds" and trap.op.startswith("LDG") and trap.program == (2, 0, 0)
    assert trap.file.endswith("kernels_for_tests.py") and trap.line > 0
    line = next(int(found[1]) for note in trap.notes if (found := re.search(r"line (\d+) of the PTX", note)))
    assert "ld.global" in cubin.with_suffix(".ptx").read_text().splitlines()[line - 1]


def test_verify():
    x, y, out = inputs()
    verdict = triton_runner.verify(
        add, [x, y, out, 200], {"BLOCK": 64}, grid=(4,), target=TARGET, assembled=True
    )
    (launch,) = verdict.launches
    assert verdict.verdict == "no fault found" and launch["levels"][-1] == "cubin"
    assert any(one["levels"] == ["ptx", "cubin"] and one["bits_equal"] for one in launch["bits"])
    assert ("cubin", "check hazard") in {(one["level"], one["how"]) for one in launch["runs"]}


def test_lockstep_without_ttgir():
    """Values are those of TTGIR: without it, what both leave in memory is compared."""
    x, y, out = inputs()
    with triton_runner.using(target=TARGET):
        found = triton_runner.lockstep(
            add, [x, y, out, 200], {"BLOCK": 64}, grid=(4,), levels=["ptx", "cubin"]
        )
    assert found.diverged is None and not found.outputs and found.runs == ["ptx", "cubin"]


def test_bisection_runs_machine_code_without_a_gpu():
    x, y, out = inputs()
    with assembled.machine():
        add[(4,)](x, y, out, 200, BLOCK=64, level="ptx", target=TARGET)
    assert (out == x + 2).all()


def test_targets_that_have_none():
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match="gfx942 has no level"):
        add[(4,)](x, y, out, 200, BLOCK=64, level="cubin", target="hip:gfx942")
