"""Settings of all Python tests: the CPU is the device, and compiled kernels go to a temporary folder."""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What Inductor keeps names files of the environment that wrote it.
for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
    if name not in os.environ:
        os.environ[name] = tempfile.mkdtemp(prefix="triton-runner-tests-")
        atexit.register(shutil.rmtree, os.environ[name], ignore_errors=True)
os.environ.setdefault("TRITON_RUNNER_DEVICE", "cpu")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns where this is left open
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "corpus")]
import corpus  # noqa: E402

corpus.unpacked()  # pages and tests name files of build/corpus

# The files that take longest, by `make test PARTS=python` with --junitxml. They come first: a process that
# begins one of them last works on alone.
LONGEST = [
    "bisection", "readme", "conformance", "gpu_launch", "compare", "benchmark", "differential", "bench",
    "isa", "sort", "torch_compile", "cli", "pointer_objects", "enable_dump", "report", "dump_front",
    "experiments", "reduce", "gluon_scaled", "pretend_cuda", "winners",
]  # fmt: skip


def pytest_collection_modifyitems(items):
    place = {f"test_{name}": at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


@pytest.fixture(autouse=True)
def environment():
    """Settings end with their test: those of the command line, run in this process, are variables. So do
    dumps that nobody fetched."""
    before = {name: value for name, value in os.environ.items() if name.startswith("TRITON_RUNNER_")}
    yield
    for name in [name for name in os.environ if name.startswith("TRITON_RUNNER_")]:
        if name not in before:
            del os.environ[name]
    os.environ.update(before)
    if session := sys.modules.get("triton_runner._dump.session"):
        session.dumps()
