"""Makes torch's C++ create CUDA tensors on the CPU: it replaces the operators that make them, and the guard
asked before."""

from __future__ import annotations

import ctypes
import os

import torch

CPU = torch.device("cpu")
_library = None
_MAKING = ("empty.memory_format", "empty_strided", "tril_indices", "triu_indices", "_efficientzerotensor")


def _redirect(name: str) -> None:
    """The CUDA kernel of an operator that makes a tensor: the CPU's, in any thread, called from anywhere."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def on_cpu(*args, **kwargs):
        kwargs["device"] = CPU
        kwargs.pop("pin_memory", None)
        return _marked(operator(*args, **kwargs))

    _library.impl(name, on_cpu, "CUDA")


def _guard_cuda() -> None:
    """torch's C++ asks a guard before it looks at a CUDA device. A build without CUDA has none: it gets the
    one that does nothing, which torch itself puts in place of a guard that counts no devices."""

    class Guard(torch._C._acc.DeviceGuard):
        def type_(self):
            return torch._C._autograd.DeviceType.CUDA

        def device_count(self):
            return 0

    folder = os.path.dirname(torch.__file__)
    library = ctypes.CDLL(os.path.join(folder, "lib", "libc10.so"))
    registry = (ctypes.c_void_p * 21).in_dll(library, "_ZN3c104impl26device_guard_impl_registryE")
    cuda, private = 1, 20  # c10::DeviceType
    if registry[cuda]:
        torch._C._ensureCUDADeviceGuardSet()
        return
    before = registry[private]
    torch._C._acc.register_python_privateuseone_device_guard(Guard())
    registry[cuda], registry[private] = registry[private], before
    torch._C._ensureCUDADeviceGuardSet()


def _marked(tensor):
    tensor.untyped_storage().runner_device = "cuda"
    return tensor


def install() -> None:
    """For the rest of the process."""
    global _library
    _library = torch.library.Library("aten", "IMPL")
    for name in _MAKING:
        _redirect(name)
    if hasattr(torch._C, "_acc"):
        _guard_cuda()
