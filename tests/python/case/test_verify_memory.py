"""verify takes at most three times what a launch writes and 1.2 times what it only reads, beside the memory
that the program itself holds: measured as resident memory, in a process of its own, at its peak."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

MB = 24  # of an array
SLACK = 40  # MB: what does not grow with the arrays; comparisons by parts, what the race check has open, code

# For each kernel: MB that it writes, MB that it only reads, and by how many MB the peak grew.
PROGRAM = """
import json, os, sys
os.environ |= {"TRITON_RUNNER_DEVICE": "cpu"}
import pathlib
import torch
import triton
import triton.language as tl
import triton_runner
from triton_runner._memory.tracking import track_empty

MB, names = int(sys.argv[1]), sys.argv[2:]

@triton.jit
def doubled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2)

@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + at)))

@triton.jit
def three(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at * (n // BLOCK // 3)) + 1)

@triton.jit
def softmax(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x_ptr + at))
    tl.store(out_ptr + at, e / tl.sum(e))

def status(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024

def launch(name, n):
    # kernel, arguments, programs, bytes written, bytes only read
    B = 2048
    if name == "three":
        return three, (torch.ones(n), torch.zeros(3 * B), n, B), 3, 12 * B, 4 * n
    if name == "read":
        return total, (torch.rand(n), torch.zeros(n // B), n, B), n // B, 4 * (n // B), 4 * n
    if name == "in_place":
        x = torch.rand(n)
        return doubled, (x, x, n, B), n // B, 4 * n, 0
    out = torch.empty(n) if name == "empty" else torch.zeros(n)
    kernel = softmax if name == "levels" else doubled
    return kernel, (torch.rand(n), out, n, B), n // B, 4 * n, 4 * n

for name in names:
    grown = []
    for n in (8192, MB << 18):
        with track_empty():
            kernel, arguments, programs, written, read = launch(name, n)
            before = status("VmRSS:")
            pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            verdict = triton_runner.verify(kernel, arguments, grid=(programs,))
            grown.append(status("VmHWM:") - before)
            assert verdict.verdict == "no fault found", str(verdict)
            assert {run["level"] for run in verdict.launches[0]["runs"]} == {"ttir", "ttgir", "ptx"}
    print(json.dumps([name, written >> 20, read >> 20, round(grown[1], 1), round(grown[0], 1)]))
"""

KINDS = ("three", "read", "written", "empty", "in_place", "levels")


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> dict:
    file = tmp_path_factory.mktemp("memory") / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(file), str(MB), *KINDS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    print(*rows, sep="\n")
    return {name: figures for name, *figures in rows}


@pytest.mark.parametrize("kind", KINDS)
def test_the_memory_of_a_verdict(grown, kind):
    written, read, most, _ = grown[kind]
    assert most <= 3 * written + 1.2 * read + SLACK
