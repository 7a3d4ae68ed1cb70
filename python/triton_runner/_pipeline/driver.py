"""LazyDriver is the driver that Triton asks for its device: inert until its first use, then the CPU or
Triton's own driver of a GPU."""

from __future__ import annotations

import functools
import os
import time
import types

from triton_runner import _settings, testing
from triton_runner._pipeline import own_driver
from triton_runner._settings import devices, quick_mode
from triton_runner._settings.devices import cpu_target, resolved_device

# Dynamic shared memory that a block may ask for, by target; used for device properties only.
_SHARED = {
    "75": 65536, "80": 166912,
    **dict.fromkeys(("86", "89", "120", "121"), 101376), **dict.fromkeys(("90", "100", "103"), 232448),
}  # fmt: skip


class LazyDriver:
    """Stands in triton.runtime.driver. Every use goes to the driver of the settings in force."""

    def __init__(self, own=None):
        self.__dict__["_own"] = own or cpu_driver

    @staticmethod
    def is_active() -> bool:
        """Returns whether Triton's table of backends has a GPU: programs ask before they take a path for
        one."""
        return devices.pretends_cuda

    # Triton's launchers for AMD assert that the driver is one of their own class.
    @property
    def __class__(self):
        return type(_resolve(self))

    # Every launch asks for these, without the detour of __getattr__.
    def get_current_device(self):
        return _resolve(self).get_current_device()

    def get_current_stream(self, device=None):
        return _resolve(self).get_current_stream(device)

    def __getattr__(self, name):
        return getattr(_resolve(self), name)

    def __setattr__(self, name, value):
        setattr(_resolve(self), name, value)

    def __repr__(self):
        return "<triton_runner's lazy driver>"


def _resolve(lazy):
    device = resolved_device()
    if device == "cpu":
        return own_driver.own_driver() if os.environ.get(own_driver.WORD) else cpu_driver()
    own = lazy._own
    return own() if callable(own) else own


class Event:
    """torch.cuda.Event on the CPU's clock: launches have finished when they return."""

    def __init__(self, *args, **kwargs):
        self.seconds = 0.0

    def record(self, stream=None):
        self.seconds = time.perf_counter()

    def synchronize(self):
        pass

    def wait(self, stream=None):
        pass

    def query(self):
        return True

    def elapsed_time(self, end):
        """Milliseconds; never 0, as benchmarks divide by it."""
        return max((end.seconds - self.seconds) * 1e3, 1e-6)


class Stream:
    cuda_stream = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def synchronize(self):
        pass

    def wait_stream(self, stream):
        pass


class _DeviceInterface(types.SimpleNamespace):
    """The part of torch.cuda that Triton's benchmarking uses."""

    def __init__(self):
        super().__init__(
            Event=Event,
            synchronize=lambda device=None: None,
            current_device=lambda: 0,
            set_device=lambda device: None,
            current_stream=lambda device=None: Stream(),
            default_stream=lambda device=None: Stream(),
            Stream=Stream,
            stream=lambda stream: Stream(),
        )


class _Utils:
    """The functions that Triton keeps in a C extension for its GPU drivers."""

    def get_device_properties(self, device=None):
        arch = cpu_target()[0].split(":")[1]
        return {
            "max_shared_mem": _SHARED.get(arch, 65536 if arch.startswith("gfx") else 101376),
            "max_num_regs": 65536,
            "multiprocessor_count": quick_mode.multiprocessors(arch) or len(os.sched_getaffinity(0)),
            "warpSize": 64 if arch.startswith("gfx9") else 32,
            "sm_clock_rate": 1000000,
            "mem_clock_rate": 1000000,
            "mem_bus_width": 64,
            "max_threads_per_sm": 2048,
            "arch": arch,
        }

    def unload_module(self, module):
        pass

    def set_printf_fifo_size(self, size):
        pass

    # Host descriptors of 3.2 and 3.3: 128 bytes in the form that the engines read. Boxes and swizzles are
    # chosen as Triton's own functions of these names do: the compiled code relies on it.
    def fill_1d_tma_descriptor(self, address, dim, block, element_size, out):
        _core().write_tensor_map(out, address, [dim], [block], element_size)

    def fill_2d_tma_descriptor(self, address, dim1, dim0, block1, block0, element_size, out):
        row = block0 * element_size
        swizzle = 3 if row >= 128 else 2 if row >= 64 else 1 if row >= 32 else 0
        box = [block1, min(block0, 128 // element_size)]
        _core().write_tensor_map(out, address, [dim1, dim0], box, element_size, swizzle)


def _core():
    from triton_runner import _core

    return _core


@functools.cache
def cpu_driver():
    """The CPU as Triton's device. Making it puts our backends and kernel class in Triton's place."""
    from triton.backends.driver import DriverBase

    # Not with the driver, which every import of the package loads.
    from triton_runner._pipeline import cpu_backend, kernel
    from triton_runner._pipeline.targets import make_target

    kernel.install()

    class CpuDriver(DriverBase):
        launcher_cls = None  # our CompiledKernel makes its own

        def __init__(self):
            self.utils = _Utils()
            self._devices = {}  # by target and level
            self._numbers = {}  # the same by the settings that name them

        @classmethod
        def is_active(cls):
            return True

        def get_current_target(self):
            cpu_backend.compile_in_this_process()
            return make_target(*cpu_target())

        def get_current_device(self):
            # Triton's caches are keyed by the device: each (target, level) is one.
            settings = _settings.current()
            named = settings.target, settings.level
            number = self._numbers.get(named)
            if number is None:
                number = self._devices.setdefault(cpu_target(), devices.first_device + len(self._devices))
                self._numbers[named] = number
            return number

        def set_current_device(self, device):
            pass

        def get_current_stream(self, device=None):
            return 0

        def get_device_capability(self, device=None):
            kind, arch = cpu_target()[0].split(":")
            return divmod(int(arch), 10) if kind == "cuda" else (9, 4)

        def get_active_torch_device(self):
            import torch

            return torch.device("cuda", 0) if devices.pretends_cuda else torch.device("cpu")

        def get_device_interface(self):
            return _DeviceInterface()

        def map_python_to_cpp_type(self, ty):
            return "void*" if ty.startswith("*") else ty

        def get_benchmarker(self):
            return testing.do_bench

        def get_empty_cache_for_benchmark(self):
            return types.SimpleNamespace(zero_=lambda: None)

        def clear_cache(self, cache):
            pass

        def assemble_tensormap_to_arg(self, tensormaps_info, args):
            return args

        def allocate_default_profile_scratch(self, size, alignment, stream):
            return None

    return CpuDriver()
