"""CI systems read of proofs: pytest --triton-prove, --sarif and --junit of prove and verify --prove."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest
import warm

pytest.importorskip("z3")
pytest.importorskip("torch")

KERNELS = """
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)

@triton.jit
def gather(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    to = tl.load(index + at, mask=at < n)
    tl.store(out + at, tl.load(x + to, mask=at < n), mask=at < n)

def of(kernel, *tensors):
    out = torch.empty_like(tensors[-1], dtype=torch.float32)
    kernel[(triton.cdiv(out.numel(), 128),)](*tensors, out, out.numel(), BLOCK=128)
    return out
"""
SUITE = f"""{KERNELS}
def test_right():
    x, y = torch.rand(1000), torch.rand(1000)
    assert torch.allclose(of(add, x, y), x + y)

def test_right_at_another_size():
    x, y = torch.rand(300), torch.rand(300)
    assert torch.allclose(of(add, x, y), x + y)

def test_whole_blocks_alone():
    x = torch.rand(1024)
    assert torch.equal(of(double, x), x * 2)

def test_data_decides():
    x, index = torch.rand(64), torch.arange(64, dtype=torch.int32)
    assert torch.equal(of(gather, x, index), x)

def test_without_kernels():
    pass
"""
PROGRAM = f"{KERNELS}\nx = torch.rand(1024)\nassert torch.equal(of(double, x), x * 2)\n"


def test_a_refutation_fails_its_test(tmp_path):
    (tmp_path / "test_sizes.py").write_text(SUITE)
    words = ["--triton=cpu", "--triton-prove", "--triton-sarif=s.json", "-p", "no:cacheprovider", "-rA"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "test_sizes.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    outcomes = dict(reversed(one) for one in re.findall(r"^(PASSED|FAILED) \S+::(\w+)", done.stdout, re.M))
    assert done.returncode == 1 and outcomes == {
        "test_right": "PASSED", "test_right_at_another_size": "PASSED", "test_whole_blocks_alone": "FAILED",
        "test_data_decides": "PASSED", "test_without_kernels": "PASSED",
    }  # fmt: skip
    assert re.search(r"^test_sizes.py:1\d: |/test_sizes.py:1\d: refuted for some sizes", done.stdout, re.M)
    assert "fault, prove-bounds at test_sizes.py:1" in done.stdout
    assert "for every size, add: proved: bounds, overflow, disjoint, covered" in done.stdout
    assert re.search("for every size, gather: proved: .*; unknown: bounds", done.stdout)
    (run,) = json.loads((tmp_path / "s.json").read_text())["runs"]
    (found,) = run["results"]
    assert found["ruleId"] == "prove-bounds" and found["level"] == "error"
    text = found["message"]["text"]
    assert "by the launch x = f32[" in text and "assumed: the grid is (cdiv(x.numel, 128), 1, 1)" in text


def test_it_needs_triton(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--triton-prove"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 4 and "--triton-prove needs --triton, as in --triton=cpu" in done.stderr


def test_it_needs_z3(tmp_path):
    (tmp_path / "z3.py").write_text("raise ImportError")
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n")
    words = [sys.executable, "-m", "pytest", "--triton=cpu", "--triton-prove"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 4 and "prove needs Z3, which is not installed" in done.stderr
    assert "pip install z3-solver" in done.stderr and "triton_check" not in done.stderr + done.stdout


@pytest.mark.parametrize("words, status", [(("prove",), 1), (("verify", "--prove"), 1)])
def test_files(tmp_path, monkeypatch, words, status):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    done = warm.invoke(*words, "--sarif", "s.json", "--junit", "j.xml", "--github", "program.py")
    assert done.exit_code == status, done.output
    assert "::error file=program.py,line=1" in done.stdout
    (run,) = json.loads((tmp_path / "s.json").read_text())["runs"]
    found = {one["ruleId"]: one for one in run["results"]}
    assert found["prove-bounds"]["level"] == "error" and run["invocations"][0]["exitCode"] == 1
    assert "assumed: x has the shape (x.numel) and is contiguous" in found["prove-bounds"]["message"]["text"]
    rules = {one["id"]: one["shortDescription"]["text"] for one in run["tool"]["driver"]["rules"]}
    assert rules["prove-bounds"] == "For every size: each access is inside of its argument."
    cases = {one.get("name"): one for one in xml.parse("j.xml").getroot().iter("testcase")}
    assert cases["double: each access is inside of its argument"].find("failure") is not None
    assert cases["double: each element of an output is written"].find("failure") is None


def test_what_is_not_decided_is_skipped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PROGRAM.replace("of(double, x)", "of(gather, x, torch.arange(1024, dtype=torch.int32)) * 2")
    (tmp_path / "program.py").write_text(text)
    done = warm.invoke("prove", "--sarif", "s.json", "--junit", "j.xml", "program.py")
    assert done.exit_code == 4, done.output
    cases = {one.get("name"): one for one in xml.parse("j.xml").getroot().iter("testcase")}
    assert cases["gather: each access is inside of its argument"].find("skipped") is not None
    (run,) = json.loads((tmp_path / "s.json").read_text())["runs"]
    (found,) = run["results"]
    assert found["level"] == "note" and "is proved with --given 'index in 0.." in found["message"]["text"]
