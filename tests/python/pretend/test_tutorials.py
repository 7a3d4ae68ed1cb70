"""Tests Triton's tutorials 01 to 06 and 08, compiled for every architecture, executed at TTIR and at TTGIR
on the CPU.

Each kernel comes with its own reference (examples/kernels). Beyond that, the two levels must give the same
bits: the layouts, shared memory, asynchronous copies and barriers of TTGIR move values and change none.
"""

import importlib

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
import triton_runner  # noqa: E402
from kernels import harness  # noqa: E402

KERNELS = ["vector_add", "softmax", "matmul", "dropout", "layer_norm", "attention", "grouped_gemm"]
TARGETS = ["cuda:75", "cuda:80", "cuda:90", "cuda:100", "cuda:120", "hip:gfx942"]
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def results(kernel: str, **settings) -> dict[str, torch.Tensor]:
    """Runs the kernel and checks it against its reference; the result tensors by name."""
    module = importlib.import_module(f"kernels.{kernel}")
    with triton_runner.using(device="cpu", threads=1, **settings):
        checked = module.run(harness.Device())
    found = {}
    for name, got, expected, tolerance in checked:
        difference = (got.double() - torch.as_tensor(expected).double()).abs().max().item()
        assert difference <= tolerance, f"{name} differs by {difference}"
        found[name] = got.clone()
    return found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_levels_agree(kernel, target):
    ttir = results(kernel, target=target, level="ttir")
    ttgir = results(kernel, target=target, level="ttgir")
    assert ttir.keys() == ttgir.keys()
    for name, tensor in ttir.items():
        bits = BITS[tensor.element_size()]
        assert torch.equal(tensor.view(bits), ttgir[name].view(bits)), f"{name} differs in its bits"


@pytest.mark.parametrize("kernel", KERNELS)
def test_many_threads(kernel):
    """Programs in parallel; sums under locks come in any order, so only the reference decides."""
    module = importlib.import_module(f"kernels.{kernel}")
    with triton_runner.using(device="cpu", threads=4, level="ttir"):
        for name, got, expected, tolerance in module.run(harness.Device()):
            assert (got.double() - torch.as_tensor(expected).double()).abs().max().item() <= tolerance, name


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_checks_report_nothing(kernel, target):
    with triton_runner.track_empty():
        results(kernel, target=target, level="ttgir", check="oob,nan,uninit,race")
        if target == "cuda:80":
            results(kernel, target=target, level="ttir", check="oob,nan,uninit,race", shuffle=1)
