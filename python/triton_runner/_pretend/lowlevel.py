"""Replaces the functions of torch._C below torch.cuda and torch.accelerator, for one device that is the CPU.

torch.cuda's own Python runs on top of them, so that its names need no stand-ins and mean what they mean to
torch._dynamo, which wants each of them to be a function of its own: hence one new function for each row."""

from __future__ import annotations

import os
import threading
import types

import torch

from triton_runner._pipeline import driver
from triton_runner._settings import devices

CUDA = torch.device("cuda", 0)
_DEVICE_TYPE = 1  # c10::DeviceType::CUDA
_FIRST_RAW_STREAM = 0


def capability() -> tuple[int, int]:
    """The compute capability that the CPU's target has; Hopper's for an AMD target."""
    return driver.cpu_driver().get_device_capability()


class _CudaDeviceProperties(types.SimpleNamespace):
    """torch.cuda.get_device_properties()."""


def _properties(device=0):
    target = devices.cpu_target()[0]
    major, minor = capability()
    properties = driver.cpu_driver().utils.get_device_properties()
    return _CudaDeviceProperties(
        name=f"CPU, as {target}",
        major=major,
        minor=minor,
        multi_processor_count=properties["multiprocessor_count"],
        total_memory=_memory()[1],
        warp_size=properties["warpSize"],
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=properties["max_shared_mem"],
        shared_memory_per_multiprocessor=properties["max_shared_mem"],
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        regs_per_multiprocessor=65536,
        L2_cache_size=32 << 20,
        clock_rate=properties["sm_clock_rate"],
        memory_clock_rate=properties["mem_clock_rate"],
        memory_bus_width=properties["mem_bus_width"],
        is_integrated=1,
        is_multi_gpu_board=0,
        pci_bus_id=0,
        pci_device_id=0,
        pci_domain_id=0,
        uuid="00000000-0000-0000-0000-000000000000",
        gcnArchName="" if target.startswith("cuda") else target.split(":")[1],
    )


def _memory() -> tuple[int, int]:
    """(free, all) bytes of the CPU's memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


def _memory_stats(device=0):
    """Nothing is counted: the memory is the CPU's."""
    pools = ("all", "small_pool", "large_pool")
    kinds = (
        "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes",
        "active_bytes", "inactive_split_bytes", "requested_bytes",
    )  # fmt: skip

    def zeros():
        return {"current": 0, "peak": 0, "allocated": 0, "freed": 0}

    stats = {kind: {pool: zeros() for pool in pools} for kind in kinds}
    stats.update(oversize_allocations=zeros(), oversize_segments=zeros())
    for count in ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc"):
        stats[count] = 0
    stats.update(num_device_free=0, max_split_size=-1)
    return stats


_settings = {"sync_debug": 0, "fraction": 1.0, "caching": True, "cublas": 0, "cublaslt": 0, "metadata": ""}
_streams = threading.local()


def _current_stream(device=0):
    return getattr(_streams, "current", (_FIRST_RAW_STREAM, 0, _DEVICE_TYPE))


def _set_stream(stream_id, device_index=0, device_type=_DEVICE_TYPE):
    _streams.current = (stream_id, device_index, device_type)


def _set(name):
    def setter(value, *rest):
        _settings[name] = value

    return setter


def _get(name):
    return lambda *args: _settings[name]


def _returns(value):
    return lambda *args, **kwargs: value


def _capability_row(device=0):
    dtypes = {getattr(torch, name) for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
    return {"supported_dtypes": dtypes}


def _scatter(tensor, devices, chunk_sizes=None, dim=0, streams=None):
    return [tensor.to(CUDA, copy=True)]


def _gather_out(tensors, out, dim=0):
    return torch.cat(tensors, dim, out=out)


# Functions that return a constant, whatever they are given.
_CONSTANT = (
    (
        None,
        "_cuda_init _cuda_setDevice _cuda_synchronize _cuda_sleep _cuda_ipc_collect "
        "_cuda_clearCublasWorkspaces _cuda_resetCublasWorkspaceSize _cuda_resetCublasLtWorkspaceSize "
        "_cuda_emptyCache _cuda_resetAccumulatedMemoryStats _cuda_resetPeakMemoryStats "
        "_cuda_resetAccumulatedHostMemoryStats _cuda_resetPeakHostMemoryStats _cuda_record_memory_history "
        "_cuda_record_memory_history_legacy _cuda_allocationTraceback _cuda_attach_out_of_memory_observer "
        "_cuda_getCheckpointState _cuda_setCheckpointPoolState _cuda_beginAllocateToPool "
        "_cuda_beginAllocateCurrentThreadToPool _cuda_beginAllocateCurrentStreamToPool "
        "_cuda_endAllocateToPool _cuda_releasePool _host_emptyCache _accelerator_setDeviceIndex "
        "_accelerator_synchronizeDevice _accelerator_emptyCache _accelerator_emptyHostCache "
        "_accelerator_resetAccumulatedStats _accelerator_resetPeakStats "
        "_accelerator_hooks_set_current_device",
    ),
    (
        0,
        "_cuda_getDevice _cuda_exchangeDevice _cuda_maybeExchangeDevice _cuda_getCurrentBlasHandle "
        "_cuda_getCurrentSolverHandle _accelerator_getDeviceIndex _accelerator_exchangeDevice "
        "_accelerator_maybeExchangeDevice _accelerator_hooks_get_current_device "
        "_accelerator_hooks_exchange_device _accelerator_hooks_maybe_exchange_device",
    ),
    (1, "_cuda_getDeviceCount _accelerator_hooks_device_count"),
    (False, "_cuda_isInBadFork _cuda_canDeviceAccessPeer _cuda_isHistoryEnabled"),
    (True, "_cuda_hasPrimaryContext _cuda_checkPoolLiveAllocations _accelerator_isAllocatorInitialized"),
)
# A row gives one of these: a function as it is, or a constant that each call returns.
_ROWS = {
    **{name: value for value, names in _CONSTANT for name in names.split()},
    "_cuda_getCompiledVersion": 12080,
    "_cuda_getArchFlags": lambda: "sm_{}{}".format(*capability()),
    "_cuda_getCurrentStream": _current_stream,
    "_cuda_getDefaultStream": lambda device=0: (_FIRST_RAW_STREAM, 0, _DEVICE_TYPE),
    "_cuda_getStreamFromExternal": lambda pointer, device=0: (pointer, 0, _DEVICE_TYPE),
    "_cuda_setStream": _set_stream,
    "_cuda_getCurrentRawStream": lambda device=0: _current_stream()[0],
    "_cuda_isCurrentStreamCapturing": False,  # _launch/graphs.py replaces it where launches are recorded
    "_cuda_setCublasWorkspaceSize": _set("cublas"),
    "_cuda_getCublasWorkspaceSize": _get("cublas"),
    "_cuda_setCublasLtWorkspaceSize": _set("cublaslt"),
    "_cuda_getCublasLtWorkspaceSize": _get("cublaslt"),
    "_cuda_set_sync_debug_mode": _set("sync_debug"),
    "_cuda_get_sync_debug_mode": _get("sync_debug"),
    "_cuda_memoryStats": _memory_stats,
    "_cuda_hostMemoryStats": lambda: {},
    "_cuda_setMemoryFraction": _set("fraction"),
    "_cuda_getMemoryFraction": _get("fraction"),
    "_cuda_memorySnapshot": lambda *args: {"segments": [], "device_traces": [], "allocator_settings": {}},
    "_cuda_setMemoryMetadata": _set("metadata"),
    "_cuda_getMemoryMetadata": _get("metadata"),
    "_cuda_getAllocatorBackend": "native",
    "_cuda_cudaCachingAllocator_enable": _set("caching"),
    "_cuda_cudaCachingAllocator_is_enabled": _get("caching"),
    # torch.cuda.comm, between as many devices as there are: one.
    "_broadcast": lambda tensor, devices: [tensor],
    "_broadcast_out": lambda tensor, outs: [out.copy_(tensor) for out in outs],
    "_broadcast_coalesced": lambda tensors, devices, size: [list(tensors)],
    "_gather": lambda tensors, dim=0, device=0: torch.cat(tensors, dim),
    "_gather_out": _gather_out,
    "_scatter": _scatter,
    "_scatter_out": lambda tensor, outs, dim=0, streams=None: [outs[0].copy_(tensor)],
    "_accelerator_getAccelerator": torch.device("cuda"),
    "_get_accelerator": torch.device("cuda"),
    "_accelerator_getStream": lambda index=0: torch.cuda.current_stream(),
    "_accelerator_setStream": lambda stream: torch.cuda.set_stream(stream),
    "_accelerator_getDeviceStats": _memory_stats,
    "_accelerator_getMemoryInfo": lambda index=0: _memory(),
    "_accelerator_getDeviceCapability": _capability_row,
}

_TUNABLE = {
    "tunableop_enable": True, "tunableop_tuning_enable": True, "record_untuned_enable": True,
    "tunableop_set_max_tuning_duration": 30, "tunableop_set_max_tuning_iterations": 100,
    "tunableop_set_rotating_buffer_size": -1, "tunableop_set_filename": "tunableop_results.csv",
}  # fmt: skip


def _tunable_rows():
    """torch.cuda.tunable keeps its settings; nothing is tuned, as no BLAS of a GPU runs."""
    switches = ("tunableop_enable", "tunableop_tuning_enable", "record_untuned_enable")
    for setter, value in _TUNABLE.items():
        _settings[setter] = False if setter in switches else value
        getter = setter.replace("_set_", "_get_").replace("_enable", "_is_enabled")
        yield f"_cuda_{setter}", _set(setter)
        yield f"_cuda_{getter}", _get(setter)
    yield "_cuda_tunableop_set_numerical_check_tolerances", _returns(None)
    yield "_cuda_tunableop_read_file", _returns(False)
    yield "_cuda_tunableop_get_results", lambda: ()
    yield "_cuda_tunableop_get_validators", lambda: ()


def install() -> None:
    """Puts the functions in torch._C, and in the modules of torch that took names from it before."""
    for name, value in [*_ROWS.items(), *_tunable_rows()]:
        f = value if isinstance(value, types.FunctionType) else _returns(value)
        own = types.FunctionType(f.__code__, f.__globals__, name, f.__defaults__, f.__closure__)
        setattr(torch._C, name, own)
    torch._C._has_cuda = True
    torch.version.cuda = torch.version.cuda or "12.8"
    cuda = torch.cuda
    cuda._cudart = _Runtime(_memory)
    cuda._cached_device_count = 1
    cuda._exchange_device = torch._C._cuda_exchangeDevice
    cuda._maybe_exchange_device = torch._C._cuda_maybeExchangeDevice
    cuda._is_in_bad_fork = torch._C._cuda_isInBadFork
    cuda._get_device_properties = _properties
    cuda._CudaDeviceProperties = _CudaDeviceProperties
    cuda.nvtx._nvtx = _Ranges()
    cuda.graphs._cuda_isCurrentStreamCapturing = torch._C._cuda_isCurrentStreamCapturing
    pools = "beginAllocateToPool beginAllocateCurrentThreadToPool endAllocateToPool releasePool"
    for name in (f"_cuda_{pool}" for pool in pools.split()):
        setattr(cuda.memory, name, getattr(torch._C, name))
    cuda.init()


class _Runtime:
    """torch.cuda.cudart(): the few functions that torch and programs call."""

    def __init__(self, memory):
        self._memory = memory

    class cudaError(int):
        success = 0

    def cudaMemGetInfo(self, device=0):
        return self._memory()

    def cudaGetErrorString(self, error):
        return "no error" if error == 0 else f"error {int(error)}"

    def __getattr__(self, name):
        if name.startswith("cuda"):  # cudaProfilerStart, cudaHostRegister, cudaStreamCreate ...
            return lambda *args: 0
        raise AttributeError(name)


class _Ranges:
    """torch.cuda.nvtx: ranges are counted as they nest, and shown nowhere."""

    def __init__(self):
        self.depth = threading.local()

    def rangePushA(self, message):
        depth = getattr(self.depth, "now", 0)
        self.depth.now = depth + 1
        return depth

    def rangePop(self):
        self.depth.now = getattr(self.depth, "now", 0) - 1
        return self.depth.now

    def rangeStartA(self, message):
        return 0

    def rangeEnd(self, handle):
        pass

    def markA(self, message):
        pass

    def deviceRangeStart(self, *args):
        return 0

    def deviceRangeEnd(self, *args):
        pass
