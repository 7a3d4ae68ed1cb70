"""Takes down the machine and environment that a verdict or a case was made on."""

from __future__ import annotations

import importlib.metadata
import os
import platform

from triton_runner import _core
from triton_runner._launch import gpu_driver
from triton_runner._settings import devices

_PREFIXES = ("TRITON_", "MLIR_", "LLVM_", "NVPTX_", "AMDGCN_", "DISABLE_", "USE_IR_LOC", "PYTORCH_", "CUDA_")
_PACKAGES = ("triton-runner", "triton", "pytorch-triton", "torch", "numpy", "ml_dtypes")


def taken() -> dict:
    """Releases, platform, instruction set, GPU, and the variables that change what Triton does; nothing that
    identifies its owner."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "versions": versions,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "isa": _core.isa(),
        "gpu": gpu_driver.current_target() if devices.gpu() else None,
        "environment": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(_PREFIXES) and not name.endswith(("_DIR", "_PATH", "_HOME"))
        },
    }
