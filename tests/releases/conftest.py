"""Makes the examples' kernels and the release matrix importable, and compiles them once for all tests."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "corpus"), str(ROOT / "tests")]
KERNELS = ("vector_add", "softmax", "matmul", "layer_norm", "attention")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """A folder with the TTIR, the TTGIR and the metadata that this release writes for KERNELS."""
    import importlib
    import shutil

    from kernels import harness

    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(folder / "cache"))
        for kernel in KERNELS:
            importlib.import_module(f"kernels.{kernel}").run(harness.Device(), level="ttgir")
    for file in folder.glob("cache/*/*"):
        shutil.copy(file, folder)
    return folder
