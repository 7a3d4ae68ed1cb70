"""The answers of an NVIDIA H100, instruction by instruction, hold everywhere: goldens of tests/golden/ptx-hw
(tests/gpu/instructions.py, mma.py, im2col.py and contract.py wrote them; doc/internals/hardware.md)."""

import pathlib
import subprocess
import sys

import pytest

GPU = pathlib.Path(__file__).resolve().parents[2] / "gpu"


@pytest.mark.parametrize("script", ["instructions.py", "mma.py", "im2col.py", "contract.py"])
def test_engine_gives_the_bits_of_hardware(script):
    command = [sys.executable, script, "check"]
    done = subprocess.run(command, cwd=GPU, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
