"""Artifacts on a GPU: kernels loaded through the driver that this machine has."""

from __future__ import annotations

import functools
import sys

from triton_runner import _core
from triton_runner._device import gpu
from triton_runner._errors import fail, warn
from triton_runner._native import NativeKernel


def driver() -> _core.device.Driver:
    """The driver of this machine's GPU. Raises DiagnosticError where there is none."""
    backend = gpu()
    if backend is None:
        raise fail(
            "this machine has no GPU that CUDA or HIP can see", 'device="cpu" runs ttir, ttgir, llir and ptx'
        )
    return _core.device.driver(backend)


def _torch():
    # Only a torch that the program has imported already, and that sees the GPU.
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def current_device() -> int:
    """The device that torch would use, or that of the thread's context."""
    torch = _torch()
    return torch.cuda.current_device() if torch else driver().current_device()


def current_stream(device: int | None = None) -> int:
    """torch's current stream on a device (the current one) as a handle; the default stream without torch."""
    torch = _torch()
    return torch.cuda.current_stream(device).cuda_stream if torch else 0


@functools.cache
def _target(device: int) -> str:
    return driver().properties(device)["target"]


def current_target() -> str:
    """ "cuda:90" or "hip:gfx942" of the current device."""
    return _target(current_device())


def load(image, description: dict, device: int | None = None) -> GpuKernel:
    """A kernel of an artifact (cubin, PTX, code object) on a device, described by _core.artifact.describe."""
    return GpuKernel(image, description, current_device() if device is None else device)


class GpuKernel(NativeKernel):
    """An artifact on a device of this machine's GPU driver."""

    def __init__(self, image, description: dict, device: int):
        self.image = image if isinstance(image, bytes) else image.encode()
        self.device = device
        super().__init__(description)

    def load_code(self, params: list, options: dict) -> _core.Kernel:
        kernel = driver().load(self.image, self.name, self.level, params, options, self.device)
        for text in kernel.warnings:
            warn(text)
        return kernel

    def __repr__(self):
        return f"<{self.level} kernel {self.name} on device {self.device}>"
