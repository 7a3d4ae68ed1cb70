"""torch.cuda's classes: streams and events on the CPU's clock, generators, and the old types of tensors."""

from __future__ import annotations

import ctypes
import itertools

import torch

from triton_runner._pipeline import driver
from triton_runner._pretend.lowlevel import CUDA

_ids = itertools.count(1)


class Event(driver.Event):
    """torch.cuda.Event: the time at which it was recorded; all launches before it have finished."""

    device = CUDA
    cuda_event = 0
    event_id = 0

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        super().__init__()

    @property
    def _as_parameter_(self):
        return ctypes.c_void_p(self.cuda_event)

    def ipc_handle(self):
        raise RuntimeError("an event of --pretend-cuda belongs to its process: it has no ipc_handle()")

    @classmethod
    def from_ipc_handle(cls, device, handle):
        raise RuntimeError("an event of --pretend-cuda belongs to its process: none comes from a handle")


class Stream(driver.Stream):
    """torch.cuda.Stream: launches have finished when they return, so there is nothing to wait for."""

    device = CUDA
    device_index = 0
    device_type = 1

    def __init__(
        self, device=None, priority=0, stream_id=None, device_index=0, device_type=1, stream_ptr=None
    ):
        self.priority = priority
        number = stream_ptr if stream_ptr is not None else stream_id
        self.stream_id = next(_ids) if number is None else number

    @staticmethod
    def priority_range():
        return 0, -1

    @property
    def cuda_stream(self):
        return self.stream_id

    @property
    def native_handle(self):
        return self.stream_id

    @property
    def _as_parameter_(self):
        return ctypes.c_void_p(self.stream_id)

    def __cuda_stream__(self):
        return 0, self.stream_id

    def __enter__(self):
        self._before = torch.cuda.current_stream()
        torch.cuda.set_stream(self)
        return self

    def __exit__(self, *error):
        torch.cuda.set_stream(self._before)
        return False

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def query(self):
        return True

    def is_capturing(self):
        return torch.cuda.is_current_stream_capturing()

    def __eq__(self, other):
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self):
        return hash((self.stream_id, self.device))

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.stream_id:#x}>"


class ExternalStream(Stream):
    """torch.cuda.ExternalStream: another library's stream, known by its number."""

    def __init__(self, stream_ptr, device=None, **kwargs):
        super().__init__(stream_ptr=stream_ptr)


_own_generator = torch.Generator


class _GeneratorType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _own_generator)


class Generator(metaclass=_GeneratorType):
    """torch.Generator, on the CPU whichever device is asked for."""

    def __new__(cls, device="cpu"):
        return _own_generator("cpu")


class MemPool:
    """torch.cuda.MemPool: a name for memory that is the CPU's."""

    def __init__(self, allocator=None, use_on_oom=False, **kwargs):
        self.allocator = allocator
        self.id = (0, next(_ids))

    def use_count(self):
        return 1

    def snapshot(self, *args):
        return []


class _OldType(type):
    """torch.cuda.FloatTensor and its kind: made like torch.FloatTensor, and a test of dtype and device."""

    def __instancecheck__(cls, value):
        return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype == cls.dtype


def _old_type(name: str):
    plain = getattr(torch, name)

    def make(cls, *args, **kwargs):
        kwargs.pop("device", None)
        return plain(*args, **kwargs).cuda()

    fields = {"dtype": plain.dtype, "is_cuda": True, "is_sparse": False, "__module__": "torch.cuda"}
    return _OldType(name, (), {"__new__": make, **fields})


_KINDS = ("Byte", "Double", "Float", "Half", "Long", "Int", "Short", "Char", "Bool", "BFloat16")
OLD_TYPES = [f"{kind}Tensor" for kind in _KINDS]


def _profile_on_cpu() -> None:
    """torch.profiler: what a GPU would be asked for is the CPU's, and counted there."""
    profile = torch.autograd.profiler.profile
    own = profile.__init__

    def __init__(self, *args, use_cuda=False, use_device=None, use_cpu=True, **options):
        asked = use_cuda or use_device == "cuda"
        own(self, *args, use_device=None if asked else use_device, use_cpu=use_cpu or asked, **options)

    profile.__init__ = __init__


def install() -> None:
    """Puts the classes in torch.cuda, and in its modules that have them by name."""
    cuda = torch.cuda
    for module in (cuda, cuda.streams):
        for ours in (Stream, ExternalStream, Event):
            setattr(module, ours.__name__, ours)
    cuda.graphs._graph_pool_handle = torch._C._graph_pool_handle = _graph_pool_handle
    cuda.MemPool = cuda.memory.MemPool = MemPool
    torch._C._cuda_CUDAAllocator_AllocatorState = type("_cuda_CUDAAllocator_AllocatorState", (), {})
    torch.Generator = Generator
    _profile_on_cpu()
    for name in OLD_TYPES:
        setattr(cuda, name, _old_type(name))


def _graph_pool_handle():
    return 0, next(_ids)
