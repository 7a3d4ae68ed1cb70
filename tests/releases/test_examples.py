"""Every example of this release runs: matching on the CPU, or saying that its level needs a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ["EXAMPLES_OF_RELEASE"])
SCRIPTS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def test_there_are_examples():
    assert len(SCRIPTS) >= 16, ROOT


@pytest.mark.parametrize("script", SCRIPTS)
def test_example(script):
    done = subprocess.run([sys.executable, ROOT / script], capture_output=True, text=True, timeout=100)
    if script.startswith("cubin/"):
        assert done.returncode == 2, done.stdout + done.stderr
        assert "ptx_dir=" in done.stderr
    else:
        assert done.returncode == 0, done.stdout + done.stderr
        assert "✅ Triton and NumPy match" in done.stdout
