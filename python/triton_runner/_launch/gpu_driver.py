"""Loads artifacts on a GPU, through the driver that this machine has. It is tested through
tests/python/launch/test_gpu_launch.py and tests/python/launch/test_device_fake.py. It is described in
doc/internals/devices.md."""

from __future__ import annotations

import functools
import sys

from triton_runner import _core
from triton_runner._base.errors import fail, warn
from triton_runner._base.releases import installed
from triton_runner._launch import launchers, simt
from triton_runner._launch.native import Executor
from triton_runner._settings import devices
from triton_runner._settings.devices import gpu, loaded_libraries
from triton_runner._worker.spelling import option


def driver() -> _core.device.Driver:
    """The driver of this machine's GPU. Raises DiagnosticError where there is none."""
    backend = gpu()
    if backend is None:
        raise fail(
            "this machine has no GPU that CUDA or HIP can see",
            f"{option('device', 'cpu')} runs ttir, ttgir, llir and ptx",
        )
    return _core.device.driver(backend)


def _torch():
    # Only a torch that the program has imported already, and that sees the GPU.
    torch = None if devices.pretends_cuda else sys.modules.get("torch")
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


def executor(image, description: dict, device: int | None = None, block=None, cluster=None) -> Executor:
    """A kernel of an artifact (cubin, PTX, code object) on a device, described by _core.artifact.describe."""
    image = image if isinstance(image, bytes) else image.encode()
    device = current_device() if device is None else device

    def load(name: str, level: str, params: list, options: dict) -> _core.Kernel:
        kernel = driver().load(image, name, level, params, options, device)
        for text in kernel.warnings:
            warn(text)
        return kernel

    return Executor(description, load, device, block=block, cluster=cluster)


# Triton's own launchers, and what they load.
_LAUNCHERS = {"cuda": ("CudaLauncher", "cubin"), "hip": ("HIPLauncher", "hsaco")}


def adopted(kernel) -> _core.device.GpuKernel | None:
    """Returns what launches a kernel that Triton has compiled and loaded on the current device; None where a
    launch of Triton's is more than a call of the driver: with scratch memory, sanitizers, another launcher
    than CUDA's or HIP's own."""
    from triton.runtime import driver as config

    run = getattr(kernel, installed().run_field, None)
    launcher, level = _LAUNCHERS.get(gpu(), ("", ""))
    if type(run).__name__ != launcher or type(run) is not getattr(config.active, "launcher_cls", None):
        return None
    meta = kernel.metadata
    signature = launchers.signature(kernel.src)
    if level == "hsaco" and not _is_plain_on_hip(meta, signature):
        return None
    scratch = (getattr(run, f"{name}_scratch_size", 0) for name in ("global", "profile"))
    if any(scratch) or getattr(run, "gsan_enabled", False):
        return None
    device = config.active.get_current_device()
    params = simt.params_of(signature)
    cluster = getattr(meta, "cluster_dims", None) if level == "cubin" else None  # HIP's launchers ignore it
    options = {
        "block": (meta.num_warps * getattr(meta, "warp_size", 32), 1, 1), "shared": meta.shared,
        "cluster": tuple(cluster or (getattr(meta, "num_ctas", 1), 1, 1)),
        "grid_of_blocks": getattr(meta, "ctas_per_cga", None) is not None,
        "cooperative": getattr(meta, "launch_cooperative_grid", False),
        "pdl": getattr(meta, "launch_pdl", False),
        "hidden_pointers": installed().hidden_pointers,
        "tensordesc_meta": list(getattr(meta, "tensordesc_meta", None) or ()) or None,
    }  # fmt: skip
    return driver().adopt(kernel.function, kernel.name, level, params, options, device)


def _is_plain_on_hip(metadata, signature) -> bool:
    """Returns whether each parameter is a word, blocks of a cluster are launched as our driver does, and
    Triton has loaded the function by the library that ours is."""
    is_word = all(isinstance(kind, str) and not kind.startswith("tensordesc") for _, kind in signature)
    clusters = getattr(metadata, "num_ctas", 1) > 1 and not installed().hip_clusters
    return is_word and not clusters and len(loaded_libraries("libamdhip64.so")) == 1
