"""A grid of 64 programs on 2 threads holds the tiles of 2 programs: measured as resident memory."""

import subprocess
import sys

import pytest

pytest.importorskip("triton")

# Each program keeps 8 tiles of 4 MB (1,048,576 f32) alive at once: none is dropped before the last line.
PROGRAM = """
import os, sys
os.environ |= {"TRITON_RUNNER_DEVICE": "cpu", "TRITON_RUNNER_THREADS": sys.argv[1]}
import pathlib
import torch
import triton
import triton.language as tl
import triton_runner

@triton.jit
def keep(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    a = tl.cumsum(x, 0)
    b = tl.cumsum(a, 0)
    c = tl.cumsum(b, 0)
    d = tl.cumsum(c, 0)
    e = tl.cumsum(d, 0)
    f = tl.cumsum(e, 0)
    g = tl.cumsum(f, 0)
    at = tl.program_id(0) % 2 * N + tl.arange(0, N)
    tl.store(out_ptr + at, x + a * b + c * d + e * f + g)

def most():  # KB; getrusage's would be that of the process which started this one, where that was larger
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

N = 1 << 20
x, out = torch.zeros(N), torch.zeros(2 * N)
keep.warmup(x, out, N, grid=(1,))
before = most()
keep[(int(sys.argv[2]),)](x, out, N)
print(most() - before)
"""


def megabytes(tmp_path, threads: int, programs: int) -> float:
    """By how much the largest resident memory of a process grows with its first launch."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(file), str(threads), str(programs)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1]) / 1024


def test_a_grid_holds_the_tiles_of_its_threads(tmp_path):
    one, many = megabytes(tmp_path, 1, 1), megabytes(tmp_path, 2, 64)
    assert one > 20  # the tiles are there
    assert many < 2 * one + 16
