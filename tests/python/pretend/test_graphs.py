"""CUDA graphs on CPU tensors: each function of program_cuda_graphs.py, run once under --pretend-cuda."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from program_cuda_graphs import CHECKS

PROGRAM = Path(__file__).parents[1] / "helpers" / "program_cuda_graphs.py"


@pytest.fixture(scope="module")
def output():
    command = [sys.executable, "-m", "triton_runner", "run", "--device", "cpu", "--pretend-cuda", PROGRAM]
    environment = {**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", [check.__name__ for check in CHECKS])
def test_graphs(output, name):
    assert f"right: {name}\n" in output, output
