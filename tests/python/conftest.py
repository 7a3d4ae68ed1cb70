"""Settings of all Python tests: the CPU is the device, and compiled kernels go to a temporary folder."""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

if "TRITON_CACHE_DIR" not in os.environ:
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="triton-runner-tests-")
    atexit.register(shutil.rmtree, os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
os.environ.setdefault("TRITON_RUNNER_DEVICE", "cpu")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns where this is left open
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "corpus")]


@pytest.fixture(autouse=True)
def environment():
    """Settings end with their test: those of the command line, run in this process, are variables."""
    before = {name: value for name, value in os.environ.items() if name.startswith("TRITON_RUNNER_")}
    yield
    for name in [name for name in os.environ if name.startswith("TRITON_RUNNER_")]:
        if name not in before:
            del os.environ[name]
    os.environ.update(before)
