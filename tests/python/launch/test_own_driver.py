"""Tests Triton's own driver and launcher on this package's libcuda.so.1: `triton-runner run --driver`."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, table, out, n, SURPLUS: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    rows = tl.load(table + i, i < n, 0)
    tl.store(out + i, tl.load(x + rows, i < n) + 1, i < n + SURPLUS)

whole = torch.randn(200)
x, table = whole[50:150], torch.randperm(100)
out = torch.zeros(100)
kernel[(4,)](x, table, out, 100, SURPLUS, B=32)
assert torch.equal(out, x[table] + 1)
active = triton.runtime.driver.active
print(active.get_current_target().arch, type(active.utils).__name__)
"""


@pytest.mark.share
@pytest.mark.parametrize("surplus", (0, 1))
def test_a_program_runs_by_tritons_own_launcher(tmp_path, surplus):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("SURPLUS, B=", f"{surplus}, B="))
    words = [sys.executable, "-m", "triton_runner", "run", "--driver", "--target", "cuda:80", str(path)]
    done = subprocess.run(
        words, capture_output=True, text=True, env={**os.environ, "TRITON_RUNNER_CHECK": ""}
    )
    if not surplus:
        assert done.returncode == 0, done.stderr
        assert done.stdout == "80 CudaUtils\n"  # Triton's own: what the package brings has another name
        return
    assert done.returncode == 1
    assert "kernel 'kernel': out of bounds in STG.E" in done.stderr
    assert "program.py:10, program (3, 0, 0), thread (4, 0, 0): a write of 4 bytes" in done.stderr
    assert "right at the end of block 3 (cuMemHostRegister, 400 bytes)" in done.stderr
    assert "illegal memory access" in done.stderr
