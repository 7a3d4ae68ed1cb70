"""Replaces torch.cuda's classes: streams and events on the CPU's clock, generators, and the old types of
tensors."""

from __future__ import annotations

import ctypes
import itertools
import struct

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
        return _own_generator("cpu") if torch.device(device).type == "cpu" else CudaGenerator()


_states: dict = {}  # (seed, offset): the state of a generator of the CPU; of this process
_STATES_MOST = 10_000


class CudaGenerator(_own_generator):
    """A generator of CUDA's: its state is 16 bytes, a seed and an offset. The numbers are those of a
    generator of the CPU, whose own state is kept under these two. of: that generator, where it is another
    one."""

    def __new__(cls, of=None):
        return _own_generator.__new__(cls, "cpu")

    def __init__(self, of=None):
        self.real = of if of is not None else super()

    @property
    def device(self):
        return CUDA

    def initial_seed(self):
        return self.real.initial_seed()

    def manual_seed(self, seed):
        self.real.manual_seed(seed)
        return self

    def seed(self):
        return self.real.seed()

    def get_offset(self):
        """0 as long as nothing was drawn; then a multiple of 4, a larger one for each state that somebody
        asks for."""
        state, seed = self.real.get_state(), self.initial_seed()
        if torch.equal(state, _own_generator("cpu").manual_seed(seed).get_state()):
            return 0
        known = [at for (of, at), it in _states.items() if of == seed and torch.equal(it, state)]
        if known:
            return known[0]
        offset = 4 + max((at for _, at in _states), default=0)
        if len(_states) >= _STATES_MOST:
            del _states[next(iter(_states))]
        _states[seed, offset] = state
        return offset

    def set_offset(self, offset):
        """One that this process has not given begins a sequence of its own."""
        seed = self.initial_seed()
        if (state := _states.get((seed, offset))) is not None:
            self.real.set_state(state)
        else:
            self.real.manual_seed(seed)
            if offset:  # the seed stays, and other numbers come
                state = self.real.get_state()
                self.real.set_state(_drawn(state, offset))

    def get_state(self):
        pair = self.initial_seed() & (2**64 - 1), self.get_offset()
        state = torch.frombuffer(bytearray(struct.pack("<2Q", *pair)), dtype=torch.uint8)
        state.untyped_storage().runner_device = "cpu"
        return state

    def set_state(self, state):
        data = bytes(state.tolist())
        if len(data) not in (8, 16):
            raise RuntimeError("RNG state is wrong size")
        seed, offset = struct.unpack("<2Q", data.ljust(16, b"\0"))
        self.manual_seed(seed)
        self.set_offset(offset)
        return self


def _drawn(state, offset: int):
    """The state of a generator of the CPU after it has given a few numbers, as many as an offset says."""
    generator = _own_generator("cpu")
    generator.set_state(state)
    torch.rand(1 + offset % (1 << 20), generator=generator)
    return generator.get_state()


def on_cpu(kwargs: dict) -> dict:
    """Keywords for torch's own functions: the generator that CUDA's default one stands for."""
    generator = kwargs.get("generator")
    if isinstance(generator, CudaGenerator) and isinstance(generator.real, _own_generator):
        return {**kwargs, "generator": generator.real}
    return kwargs


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
    cuda.default_generators = (CudaGenerator(torch.default_generator),)
    _profile_on_cpu()
    for name in OLD_TYPES:
        setattr(cuda, name, _old_type(name))


def _graph_pool_handle():
    return 0, next(_ids)
