"""Tests that every report names a line of the program, and not one of Triton's library that it calls: at
each level, as text, JSON and SARIF."""

import json

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def inner(x):
    return CALL

@triton.jit
def kernel(x_ptr, y_ptr, n, z, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(y_ptr + tl.arange(0, N), inner(x) + tl.zeros((N,), tl.float32))

@triton.jit
def counted(y_ptr, n, z):
    i = tl.program_id(0)
    tl.store(y_ptr + i, tl.cdiv(n, z))

x, y = torch.full((64,), VALUE), torch.empty(64)
LAUNCH
"""
LINE = 6
CASES = {
    "sum": ("tl.sum(x, 0)", "1e38", "inf"),
    "softmax": ("tl.softmax(x * 1e30 * 1e30)", "1e-1", "nan"),
    "scan": ("tl.cumsum(x * 2, 0)", "1e38", "inf"),
}
KERNEL = "kernel[(1,)](x, y, 10, 0, 64)"
COUNTED = "counted[(2,)](torch.empty(4, dtype=torch.int32), 7, 0)"


def program(tmp_path, call: str, value: str, launch: str = KERNEL):
    text = PROGRAM.replace("CALL", call).replace("VALUE", value).replace("LAUNCH", launch)
    (tmp_path / "program.py").write_text(text)


@pytest.mark.parametrize("name", CASES)
def test_the_call_is_named(name, tmp_path):
    call, value, check = CASES[name]
    program(tmp_path, call, value)
    done = warm.cli("verify", "--json", "--sarif", "found.sarif", "program.py", cwd=tmp_path)
    (launch,) = json.loads(done.stdout)["launches"]
    found = [one for one in launch["findings"] if one["check"] == check]
    assert all(one["file"].endswith("program.py") for one in found) and found[0]["line"] == LINE, found
    assert "standard.py" not in done.stdout
    assert {level for one in found for level in one["levels"]} >= {"ttir", "ttgir"}
    sarif = (tmp_path / "found.sarif").read_text()
    assert "standard.py" not in sarif and "program.py" in sarif


def test_a_division_in_the_library(tmp_path):
    program(tmp_path, "x", "1.0", COUNTED)
    done = warm.cli("verify", "--json", "program.py", cwd=tmp_path)
    (launch,) = json.loads(done.stdout)["launches"]
    found = [one for one in launch["findings"] if one["check"] == "zerodiv"]
    line = PROGRAM.splitlines().index("    tl.store(y_ptr + i, tl.cdiv(n, z))") + 1
    assert found and {(one["line"], one["file"].endswith("program.py")) for one in found} == {(line, True)}
    assert "standard.py" not in done.stdout


def test_the_atomics_that_reach_an_output(tmp_path):
    """The order of those that add to another output is named for that one only."""
    (tmp_path / "program.py").write_text(
        """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x_ptr, a_ptr, b_ptr, n_ptr, c_ptr):
    i = tl.program_id(0)
    tl.atomic_add(a_ptr, tl.load(x_ptr + i))
    tl.atomic_add(b_ptr, tl.load(x_ptr + i) * 3)
    at = tl.atomic_add(n_ptr, 1)
    tl.store(c_ptr + at, i)

x = torch.randn(64) * 1000
a, b, n, c = torch.zeros(1), torch.zeros(1), torch.zeros(1).int(), torch.zeros(64).int()
kernel[(64,)](x, a, b, n, c)
"""
    )
    done = warm.cli("verify", "--json", "program.py", cwd=tmp_path)
    (launch,) = json.loads(done.stdout)["launches"]
    lines = {one["argument"]: [line["line"] for line in one["lines"]] for one in launch["findings"]}
    assert lines == {"a_ptr": [7], "b_ptr": [8], "c_ptr": [9]}
