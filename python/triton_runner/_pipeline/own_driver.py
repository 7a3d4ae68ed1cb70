"""Puts Triton's own CUDA driver and launcher, unchanged, on the libcuda.so.1 of src/driver and on torch's
CPU tensors (run --driver)."""

from __future__ import annotations

import ctypes
import functools
import os
import types

from triton_runner import testing
from triton_runner._base.errors import fail
from triton_runner._settings import devices

WORD = "TRITON_RUNNER_CUDA_DRIVER"  # in the environment: Triton's own driver is asked for
_ALREADY_REGISTERED = 712


class _Registered:
    """Makes the memory of tensors known to the driver for as long as a launch takes."""

    def __init__(self, cuda, values):
        self._cuda, self._values, self._held = cuda, values, []

    def __enter__(self):
        # In the order of the arguments, so that the driver's numbers of blocks are the same in every run.
        for address, count in dict.fromkeys(_storages(self._values)):
            status = self._cuda.cuMemHostRegister_v2(ctypes.c_void_p(address), ctypes.c_size_t(count), 2)
            if status == 0:
                self._held.append(address)
            elif status != _ALREADY_REGISTERED:
                raise fail(f"cuMemHostRegister of {count} bytes at {address:#x}: error {status}")

    def __exit__(self, *error):
        for address in self._held:
            self._cuda.cuMemHostUnregister(ctypes.c_void_p(address))


def _storages(values):
    """(address, bytes) of the storage of each tensor among values, of tuples and descriptors too."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _storages(value)
            continue
        value = getattr(value, "base", None) if hasattr(value, "block_shape") else value
        tensor = getattr(value, "base", value)  # of triton.reinterpret
        if hasattr(tensor, "untyped_storage") and tensor.untyped_storage().nbytes():
            yield tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()


@functools.cache
def own_driver():
    """Returns the driver. torch is asked for nothing: it may have no CUDA, or pretend to have one."""
    from triton.backends.nvidia import driver as theirs

    # Before anything else names it: what is loaded stands for every later libcuda.so.1.
    library = os.path.join(os.environ.get("TRITON_LIBCUDA_PATH", ""), "libcuda.so.1")
    cuda = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)

    class Launcher(theirs.CudaLauncher):
        def __init__(self, src, metadata):
            super().__init__(src, metadata)
            own = self.launch

            def launch(*args):  # with the scratch memory, which its caller has got from an allocator
                with _Registered(cuda, args):
                    own(*args)

            self.launch = launch

    class OwnDriver(theirs.CudaDriver):
        def __init__(self):
            self.utils = theirs.CudaUtils()
            self.launcher_cls = Launcher
            self.get_current_device = lambda: 0
            self.set_current_device = lambda device: None
            self.get_current_stream = lambda device=None: 0
            self.get_device_capability = lambda device=0: _capability(cuda)

        @classmethod
        def is_active(cls):
            return True

        def get_active_torch_device(self):
            import torch

            return torch.device("cuda", 0) if devices.pretends_cuda else torch.device("cpu")

        def get_benchmarker(self):
            return testing.do_bench

        def get_empty_cache_for_benchmark(self):
            return types.SimpleNamespace(zero_=lambda: None)

        def allocate_default_profile_scratch(self, size, alignment, stream):
            import torch

            return torch.zeros(size, dtype=torch.int8)

    status = cuda.cuInit(0)
    context = ctypes.c_void_p()
    status = status or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    status = status or cuda.cuCtxSetCurrent(context)
    if status:
        raise fail(f"libcuda.so.1 answers error {status} when it is started")
    return OwnDriver()


def _capability(cuda) -> tuple[int, int]:
    values = [ctypes.c_int(), ctypes.c_int()]
    for value, attribute in zip(values, (75, 76), strict=True):  # COMPUTE_CAPABILITY_MAJOR, _MINOR
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
    return values[0].value, values[1].value
