"""CPU tensors that say they are CUDA tensors, for scripts that ask for device="cuda" (triton-runner run
--pretend-cuda).

A TorchFunctionMode sends every request for a CUDA device to the CPU and lets tensors answer cuda:0 when
asked where
they are; about 35 names of torch.cuda answer for one device. Streams and events read the CPU's clock.
"""

from __future__ import annotations

import types

import torch
from torch.overrides import TorchFunctionMode

from triton_runner import _core, _cublas, _driver, _graphs, _half_sums

_CPU = torch.device("cpu")
_CUDA = torch.device("cuda", 0)
_get_device = torch.Tensor.device.__get__
_get_is_cuda = torch.Tensor.is_cuda.__get__
_get_is_cpu = torch.Tensor.is_cpu.__get__
_STAYS = (torch.Tensor.cuda, torch.Tensor.pin_memory)


def _asks_for_cuda(value) -> bool:
    if isinstance(value, str):
        return value == "cuda" or value.startswith("cuda:")
    return isinstance(value, torch.device) and value.type == "cuda"


class _OnCpu(TorchFunctionMode):
    def __torch_function__(self, function, types_, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.device:
            return function(*args, **kwargs)
        if function == _get_device:
            return _CUDA
        if function == _get_is_cuda:
            return True
        if function == _get_is_cpu:
            return False
        if function is torch.Tensor.get_device:
            return 0
        if function in _STAYS:
            return args[0]
        if function is torch.Tensor.record_stream:
            return None
        device = kwargs.get("device")
        if _asks_for_cuda(device) or (isinstance(device, int) and not isinstance(device, bool)):
            kwargs["device"] = _CPU
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if any(_asks_for_cuda(value) for value in args):
            args = tuple(_CPU if _asks_for_cuda(value) else value for value in args)
        return function(*args, **kwargs)


class Event(_driver._Event):
    """torch.cuda.Event."""


class Stream(_driver._Stream):
    """torch.cuda.Stream: launches have finished when they return, so there is nothing to wait for."""

    device = _CUDA
    device_index = 0
    stream_id = 0

    def __init__(self, *args, **kwargs):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record()
        return event

    def query(self):
        return True


class _Guard:
    """torch.cuda.device, device_of, stream: a context that changes nothing."""

    def __init__(self, *args, **kwargs):
        self.idx = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class _GeneratorType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _Generator)


_Generator = torch.Generator


class Generator(metaclass=_GeneratorType):
    """torch.Generator, on the CPU whichever device is asked for."""

    def __new__(cls, device="cpu"):
        return _Generator("cpu")


def _capability(device=None):
    return _driver.cpu_driver().get_device_capability()


def _properties(device=None):
    target = _driver.cpu_target()[0]
    major, minor = _capability()
    known = _driver.cpu_driver().utils.get_device_properties()
    return types.SimpleNamespace(
        name=f"CPU, as {target}",
        major=major,
        minor=minor,
        multi_processor_count=known["multiprocessor_count"],
        total_memory=16 << 30,
        warp_size=known["warpSize"],
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=known["max_shared_mem"],
        shared_memory_per_multiprocessor=known["max_shared_mem"],
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        L2_cache_size=32 << 20,
        gcnArchName="" if target.startswith("cuda") else target.split(":")[1],
    )


def _nothing(*args, **kwargs):
    return None


def _zero(*args, **kwargs):
    return 0


def _true(*args, **kwargs):
    return True


def _stream(*args, **kwargs):
    return Stream()


_CUDA_NAMES = {
    "is_available": _true,
    "is_initialized": _true,
    "init": _nothing,
    "_lazy_init": _nothing,
    "device_count": lambda: 1,
    "current_device": _zero,
    "set_device": _nothing,
    "synchronize": _nothing,
    "get_device_capability": _capability,
    "get_device_properties": _properties,
    "get_device_name": lambda device=None: _properties().name,
    "get_arch_list": lambda: ["sm_{}{}".format(*_capability())],
    "is_bf16_supported": _true,
    "is_current_stream_capturing": lambda: False,
    "current_stream": _stream,
    "default_stream": _stream,
    "Stream": Stream,
    "ExternalStream": Stream,
    "Event": Event,
    "stream": _Guard,
    "device": _Guard,
    "device_of": _Guard,
    "_DeviceGuard": _Guard,
    "empty_cache": _nothing,
    "ipc_collect": _nothing,
    "reset_peak_memory_stats": _nothing,
    "memory_allocated": _zero,
    "memory_reserved": _zero,
    "max_memory_allocated": _zero,
    "max_memory_reserved": _zero,
    "mem_get_info": lambda device=None: (16 << 30, 16 << 30),
    "manual_seed": _nothing,
    "manual_seed_all": _nothing,
    "seed": _nothing,
    "seed_all": _nothing,
    "get_rng_state": lambda device=None: torch.get_rng_state(),
    "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
}
_mode = None


def install() -> None:
    """From here on torch has one CUDA device, which is the CPU; for the rest of the process."""
    global _mode
    if _mode is not None:
        return
    for name, value in _CUDA_NAMES.items():
        setattr(torch.cuda, name, value)
    torch.cuda.default_generators = (torch.default_generator,)
    torch.version.cuda = torch.version.cuda or "12.8"
    torch.Generator = Generator
    for name in ("_cuda_getCurrentRawStream", "_cuda_exchangeDevice", "_cuda_maybeExchangeDevice"):
        setattr(torch._C, name, _zero)
    if hasattr(torch, "accelerator"):
        for name, value in {
            "is_available": _true,
            "current_accelerator": lambda *args, **kwargs: torch.device("cuda"),
            "current_device_index": _zero,
            "device_count": lambda: 1,
            "synchronize": _nothing,
        }.items():
            setattr(torch.accelerator, name, value)
    for part in (_cublas, _graphs, _half_sums):
        part.install()
    _driver.first_device = 0
    _core.set_pretend_cuda(True)
    _mode = _OnCpu()
    _mode.__enter__()
