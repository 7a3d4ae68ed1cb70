"""verify takes at most 3.4 times what a launch writes (a quarter of once is the race check's) and 1.2 times
what it only reads, beside the memory that the program itself holds: measured as resident memory, in a process
of its own, at its peak."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

MB = 8  # of an array
SLACK = 16  # MB: what does not grow with the arrays; comparisons by parts, what the race check has open, code

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
def fused(x_ptr, out_ptr, n, BLOCK: tl.constexpr):  # rounded twice at TTIR, once at PTX
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x * x + 0.1)

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
    kernel = fused if name == "levels" else doubled
    return kernel, (torch.rand(n), out, n, B), n // B, 4 * n, 4 * n

def judge(name, kernel, arguments, programs):
    if name == "control":  # a verdict that would keep the result of each level and of each check
        return [arguments[1].clone() for _ in range(8)]
    verdict = triton_runner.verify(kernel, arguments, grid=(programs,))
    assert verdict.verdict == "no fault found", str(verdict)
    (launch,) = verdict.launches
    assert {run["level"] for run in launch["runs"]} == {"ttir", "ttgir", "ptx"}
    assert name != "levels" or not all(bits["bits_equal"] for bits in launch["bits"])

def grown(name):
    for n in (8192, MB << 18):  # the first loads what all use
        with track_empty():
            kernel, arguments, programs, written, read = launch(name, n)
            before = status("VmRSS:")
            pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            kept = judge(name, kernel, arguments, programs)
            more = status("VmHWM:") - before
    print(json.dumps([name, written >> 20, read >> 20, round(more, 1)]), flush=True)

for name in names:
    if (child := os.fork()) == 0:  # no kind has the memory that another one freed
        grown(name)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""

KINDS = ("three", "read", "empty", "in_place", "levels")


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> dict:
    file = tmp_path_factory.mktemp("memory") / "program.py"
    file.write_text(PROGRAM)
    words = [sys.executable, str(file), str(MB), "control", *KINDS]
    # Freed memory goes back at once, or an array would come to lie where an earlier one was.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    print(*rows, sep="\n")
    return {name: (most, 3.4 * written + 1.2 * read + SLACK) for name, written, read, most in rows}


@pytest.mark.parametrize("kind", KINDS)
def test_the_memory_of_a_verdict(grown, kind):
    most, bound = grown[kind]
    assert most <= bound


def test_what_keeps_every_result_is_seen(grown):
    most, bound = grown["control"]
    assert most > bound
