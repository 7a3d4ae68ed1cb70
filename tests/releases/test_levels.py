"""Kernels entering at Python, and at the TTIR and TTGIR that this release wrote, on NumPy arrays."""

import importlib
import shutil

import pytest
from kernels import harness


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty Triton cache of this test's own."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def check(results, device):
    for name, got, expected, tolerance in results:
        difference = abs(device.host(got) - expected).max()
        assert difference <= tolerance, f"{name}: max difference {difference}"


@pytest.mark.parametrize("kernel", ["vector_add", "softmax", "matmul"])
@pytest.mark.parametrize("level", ["python", "ttir", "ttgir"])
def test_kernel(level, kernel, cache, tmp_path):
    module = importlib.import_module(f"kernels.{kernel}")
    device = harness.Device()
    assert device.name == "NumPy", "release environments have no torch"
    if level == "python":
        check(module.run(device), device)
        return
    module.run(device, level="ttgir")  # compiles as far as TTGIR, into the cache
    written = list(cache.glob(f"*/*.{level}"))
    assert written, f"the cache holds no {level}: {sorted(file.name for file in cache.glob('*/*'))}"
    for entry in {file.parent for file in written}:
        shutil.copytree(entry, tmp_path / "artifacts", dirs_exist_ok=True)
    check(module.run(device, **{f"{level}_dir": str(tmp_path / "artifacts")}), device)


@pytest.mark.parametrize(("entry", "level"), [("python", "ttir"), ("python", "ttgir")])
def test_python_kernel_executed_at(entry, level, cache):
    module = importlib.import_module("kernels.matmul")
    device = harness.Device()
    check(module.run(device, level=level), device)
