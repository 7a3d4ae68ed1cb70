"""Makes tensors say that they are on cuda:0, unless they were made on the CPU or moved there.

A mark on a tensor's storage says "cpu" or "cuda". Calls of torch's functions in the main thread pass through
a mode that marks what is made on the CPU and what is computed from it; whatever carries no mark says cuda.
torch's own kernels for making tensors on CUDA make them on the CPU, in every thread. Moving between the two
copies, as on a GPU."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from triton_runner._base.errors import package_folders
from triton_runner._memory import torch_modes
from triton_runner._pretend import making, objects
from triton_runner._pretend.lowlevel import CUDA

_CPU = torch.device("cpu")
_OWN = "to cuda cpu type get_device pin_memory is_pinned _make_wrapper_subclass"
_own = {name: getattr(torch.Tensor, name) for name in _OWN.split()}
_own_device = torch.Tensor.device.__get__
_constructors = _device_constructors()
_FROM_MEMORY = ("from_numpy", "frombuffer", "from_dlpack", "from_file")  # which no function mode sees
_moving = threading.local()


def _real_device(tensor):
    """torch's own answer. A function mode (verify has one) would be handed the property that Tensor has,
    which is ours."""
    if not torch._C._is_torch_function_mode_enabled():
        return _own_device(tensor)
    with torch._C.DisableTorchFunction():
        return _own_device(tensor)


def asks_for_cuda(value) -> bool:
    """Returns whether a device argument means a CUDA device; a number does."""
    if isinstance(value, str):
        return value == "cuda" or value.startswith("cuda:")
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, int) and not isinstance(value, bool)


def _asks_for_cpu(value) -> bool:
    return isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cpu"


def _is_traced(tensor) -> bool:
    """Fake and functional tensors, which torch.compile makes: all of them say cuda."""
    return (
        type(tensor) is not torch.Tensor
        and not isinstance(tensor, torch.nn.Parameter)
        and hasattr(type(tensor), "__torch_dispatch__")
        and type(tensor).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl
    )


def _mark_of(tensor):
    """ "cpu", "cuda" or None for a tensor whose memory is the CPU's."""
    if _is_traced(tensor):
        return None
    try:
        return getattr(tensor.untyped_storage(), "runner_device", None)
    except (NotImplementedError, RuntimeError):
        return None


def mark(value, device: str):
    """Marks the storages of a tensor, or of a list of tensors, and returns it."""
    if isinstance(value, torch.Tensor):
        if _real_device(value).type == "cpu" and not _is_traced(value):
            with contextlib.suppress(NotImplementedError, RuntimeError):  # sparse tensors have no storage
                value.untyped_storage().runner_device = device
    elif isinstance(value, (tuple, list)):
        for item in value:
            mark(item, device)
    return value


def _device(tensor):
    real = _real_device(tensor)
    if real.type != "cpu" or _mark_of(tensor) == "cpu":
        return real
    return CUDA


def _says_cuda(tensor) -> bool:
    return tensor.device.type == "cuda"


def _find_device(args, kwargs):
    """The device that arguments of Tensor.to ask for, and the arguments without it; None if for none."""
    args, kwargs = list(args), dict(kwargs)
    if "device" in kwargs:
        return kwargs.pop("device"), args, kwargs
    other = kwargs.pop("other", None)
    if args and isinstance(args[0], torch.Tensor):
        other = args.pop(0)
    if other is not None:
        kwargs.setdefault("dtype", other.dtype)
        return other.device, args, kwargs
    if args and (isinstance(args[0], (str, torch.device)) or asks_for_cuda(args[0])):
        return args.pop(0), args, kwargs
    return None, args, kwargs


def _own_to(tensor, *args, **kwargs):
    """torch's own Tensor.to. It hands function modes the method of that name, which is ours, to go on with:
    that is called with the same tensor then."""
    before = getattr(_moving, "tensor", None)
    _moving.tensor = tensor
    try:
        return _own["to"](tensor, *args, **kwargs)
    finally:
        _moving.tensor = before


def _to(tensor, *args, **kwargs):
    if getattr(_moving, "tensor", None) is tensor:
        return _own["to"](tensor, *args, **kwargs)
    if _is_traced(tensor) or _real_device(tensor).type != "cpu":
        # torch's C++ knows no accelerator that a number could mean.
        args = [CUDA if type(value) is int else value for value in args[:1]] + list(args[1:])
        if type(kwargs.get("device")) is int:
            kwargs["device"] = CUDA
        return _own_to(tensor, *args, **kwargs)
    device, rest, options = _find_device(args, kwargs)
    if device is None:
        result = _own_to(tensor, *args, **kwargs)
        return mark(result, "cpu") if _mark_of(tensor) == "cpu" else result
    kind = "cuda" if asks_for_cuda(device) else torch.device(device).type
    if kind not in ("cuda", "cpu"):
        return _own_to(tensor, *args, **kwargs)
    if rest and isinstance(rest[0], torch.dtype):
        options["dtype"] = rest.pop(0)
    for name, value in zip(("non_blocking", "copy"), rest):  # noqa: B905  (both may be left out)
        options[name] = value
    options = {name: value for name, value in options.items() if value is not None}
    if _mark_of(tensor) != kind:
        options["copy"] = True
    return mark(_own_to(tensor, _CPU, **options), kind)


def _cuda(tensor, device=None, non_blocking=False, memory_format=torch.preserve_format):
    return _to(tensor, "cuda", non_blocking=non_blocking, memory_format=memory_format)


def _cpu(tensor, memory_format=torch.preserve_format):
    return _to(tensor, "cpu", memory_format=memory_format)


def _type(tensor, dtype=None, non_blocking=False, **kwargs):
    if dtype is None:
        name = _own["type"](tensor)
        return name.replace("torch.", "torch.cuda.", 1) if _says_cuda(tensor) and "cuda" not in name else name
    name = (
        dtype
        if isinstance(dtype, str)
        else getattr(dtype, "__module__", "") + "." + getattr(dtype, "__name__", "")
    )
    if name.startswith("torch.cuda."):
        return tensor.to(getattr(torch.cuda, name.rsplit(".", 1)[1]).dtype).cuda()
    return _own["type"](tensor, dtype, non_blocking, **kwargs)


def _pin_memory(tensor, device=None):
    if _is_pinned(tensor):
        return tensor
    copy = mark(tensor.clone(), "cpu")
    copy.untyped_storage().runner_pinned = True
    return copy


def _is_pinned(tensor, device=None):
    return not _is_traced(tensor) and getattr(tensor.untyped_storage(), "runner_pinned", False)


def _make_wrapper_subclass(cls, size, strides=None, *args, **kwargs):
    """torch's C++ is told the truth about tensors that wrap others."""
    args = [_CPU if isinstance(a, torch.device) and a.type == "cuda" else a for a in args]
    if asks_for_cuda(kwargs.get("device")):
        kwargs["device"] = _CPU
    return _own["_make_wrapper_subclass"](cls, size, strides, *args, **kwargs)


_GIVEN = {
    "to": _to,
    "cuda": _cuda,
    "cpu": _cpu,
    "type": _type,
    "get_device": lambda tensor: 0 if _says_cuda(tensor) else -1,
    "pin_memory": _pin_memory,
    "is_pinned": _is_pinned,
    "record_stream": lambda tensor, stream: None,
    "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass),
    "device": property(_device),
    "is_cuda": property(_says_cuda),
    "is_cpu": property(lambda tensor: tensor.device.type == "cpu"),
}


def _tensors_in(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from (item for item in value if isinstance(item, torch.Tensor))


def _is_tracing() -> bool:
    """Returns whether torch.compile is at work: a dispatch mode that is not ours is on."""
    top = torch._C._len_torch_dispatch_stack() - 1
    return top >= 0 and not getattr(torch._C._get_dispatch_stack_at(top), "watches_memory", False)


_ELSEWHERE = "If CUDA has it, convert to float32 (or unsigned integers to int64) for the call, and back after"


class _Marking(TorchFunctionMode):
    """Marks what torch's functions make on the CPU, and what they compute from such tensors alone."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = objects.on_cpu(kwargs or {})
        if _is_tracing():
            return function(*args, **kwargs)
        if function in _constructors:
            return _construct(function, args, kwargs)
        try:
            result = function(*args, **kwargs)
        except NotImplementedError as error:
            if "\" not implemented for '" in str(error) and "--pretend-cuda" not in str(error):
                error.args = (f"{error} on the CPU, where --pretend-cuda computes. {_ELSEWHERE}",)
            raise
        if isinstance(result, torch.Tensor) and _asks_for_cpu(kwargs.get("device")):
            return mark(result, "cpu")  # as of zeros_like(x, device="cpu")
        if isinstance(result, (torch.Tensor, tuple, list)):
            inputs = [*_tensors_in(args), *_tensors_in(kwargs.values())]
            if inputs and all(_mark_of(t) == "cpu" for t in inputs):
                for tensor in _tensors_in([result]):
                    if _mark_of(tensor) is None:
                        mark(tensor, "cpu")
        return result


def _construct(function, args, kwargs):
    """torch.empty and all that take a device: made on the CPU, marked with what was asked for."""
    device = kwargs.get("device")
    kwargs = dict(kwargs)
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False
        return _pin_memory(function(*args, **kwargs))
    if device is None:
        like = next(_tensors_in(args), None)  # new_zeros, zeros_like
        default = torch.get_default_device() if like is None else _device(like)
    else:
        default = CUDA if asks_for_cuda(device) else torch.device(device)
        if default.type == "cuda":
            kwargs["device"] = _CPU
    ghosts_from = int(os.environ.get("TRITON_RUNNER_GHOST", "0"))  # bytes: larger tensors are ghosts; 0: none
    if ghosts_from and default.type == "cuda":
        from triton_runner._memory import ghost_tensor  # programs on such tensors are few

        if (ghost := ghost_tensor.made_by(function, args, kwargs, ghosts_from)) is not None:
            return ghost
    result = function(*args, **kwargs)
    if default.type == "cuda" and isinstance(result, torch.Tensor) and _mark_of(result) == "cpu":
        result = result.clone()  # as_tensor of what is on the CPU
    return mark(result, default.type)


def _place(storage):
    """torch.save: where a storage says it is."""
    if storage.device.type != "cpu":
        return None
    return "cpu" if getattr(storage, "runner_device", None) == "cpu" else "cuda:0"


def _restore(storage, location):
    """torch.load: where a storage was, or is wanted."""
    if location == "cpu" or location.startswith("cuda"):
        storage.runner_device = location.split(":")[0]
        return storage
    return None


def _from_memory(name: str):
    """A function of torch that shows memory of the CPU, as from_numpy. What this package makes by it has no
    mark: it stands for an argument of a launch."""
    own = getattr(torch, name)

    @functools.wraps(own)
    def made(*args, **kwargs):
        result = own(*args, **kwargs)
        is_ours = sys._getframe(1).f_code.co_filename.startswith(package_folders())
        is_marked = is_ours or _mark_of(result) is not None or _is_tracing()
        return result if is_marked else mark(result, "cpu")

    return made


_mode = _Marking()


def pop_mode():
    """Leaves the marking mode, for torch.compile, which would trace it; returns what enters it again."""
    return torch_modes.pop(_mode)


def _autocast_both() -> None:
    """torch.autocast("cuda") is the CPU's autocast too, which is the one that its tensors meet. That one is
    for types of 16 bits where Python asks for it, and casts to any type."""
    autocast = torch.amp.autocast_mode.autocast
    enter, leave = autocast.__enter__, autocast.__exit__

    def __enter__(self):
        if self.device == "cuda":
            self._on_cpu = autocast("cpu", torch.bfloat16, self._enabled, self._cache_enabled)
            self._on_cpu.fast_dtype = self.fast_dtype
            enter(self._on_cpu)
        return enter(self)

    def __exit__(self, *error):
        result = leave(self, *error)
        if self.device == "cuda":
            leave(self._on_cpu, *error)
        return result

    autocast.__enter__, autocast.__exit__ = __enter__, __exit__


def install() -> None:
    """Puts all of it in torch's place."""
    making.install()
    for name, value in _GIVEN.items():
        if callable(value):
            value.__name__ = name  # by it torch.compile knows methods of tensors
        setattr(torch.Tensor, name, value)
    for name in _FROM_MEMORY:
        setattr(torch, name, _from_memory(name))
    storage = torch.UntypedStorage
    storage.cuda = lambda self, device=None, non_blocking=False: _restore(self.clone(), "cuda")
    torch.serialization.register_package(5, _place, _restore)
    torch.set_default_tensor_type = _set_default_tensor_type
    _autocast_both()
    _mode.__enter__()


_own_set_default_tensor_type = torch.set_default_tensor_type


def _set_default_tensor_type(kind) -> None:
    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
    if name.startswith("torch.cuda."):
        torch.set_default_device("cuda")
        name = name.replace("torch.cuda.", "torch.")
    _own_set_default_tensor_type(name)
