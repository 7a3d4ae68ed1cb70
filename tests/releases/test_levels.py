"""Kernels entering at Python, and at the TTIR and TTGIR that this release wrote, on NumPy arrays."""

import importlib

import pytest
from kernels import harness


def check(results, device):
    for name, got, expected, tolerance in results:
        difference = abs(device.host(got) - expected).max()
        assert difference <= tolerance, f"{name}: max difference {difference}"


@pytest.mark.parametrize("kernel", ["vector_add", "softmax", "matmul"])
@pytest.mark.parametrize("level", ["python", "ttir", "ttgir"])
def test_kernel(level, kernel, compiled):
    module = importlib.import_module(f"kernels.{kernel}")
    device = harness.Device()
    assert device.name == "NumPy", "release environments have no torch"
    check(module.run(device, **({} if level == "python" else {f"{level}_dir": str(compiled)})), device)


@pytest.mark.parametrize(("entry", "level"), [("python", "ttir"), ("python", "ttgir")])
def test_python_kernel_executed_at(entry, level):
    module = importlib.import_module("kernels.matmul")
    device = harness.Device()
    check(module.run(device, level=level), device)
