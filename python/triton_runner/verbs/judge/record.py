"""Records a call of an answer as a list of steps that another process can do again: operators of torch,
launches with the text of their kernel, and memory that came from elsewhere.

    ["op", "aten::relu", "default", [args], {kwargs}, [results]]      a tensor is {"t": number}
    ["launch", kernel, [grid], [[name, value], ...]]                   kernel: a number of `kernels`
    ["view", result, of, dtype, shape, strides, offset]                memory that is known, seen otherwise
    ["bytes", result, tensor]                                          memory that no step has made
    ["item", value, of]                                                a number that Python read
    ["seed", number]
"""

from __future__ import annotations

import contextlib

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._base.metadata import jsonable
from triton_runner._launch.launchers import Call, axes_of, observing
from triton_runner._memory.arguments import is_descriptor
from triton_runner._memory.torch_modes import sees_higher_order
from triton_runner.verbs.judge import wire

SPACES = ("aten", "prims")  # of torch's own operators
_MOST = 200_000  # steps of a call
_MOST_READ = 256  # numbers that one tolist() reads


class OtherTensor(TypeError):
    """A result is a tensor of a class that is not torch's own; name: that of the class."""

    def __init__(self, name: str):
        super().__init__(f"a tensor of the class {name}")
        self.name = name


class Known:
    """The tensors and kernels of an answer over all its calls. Tensors are kept, so that their memory stays
    their own."""

    def __init__(self):
        self.sent, self._numbers, self._kept = [], {}, []
        self.tensors, self.memory, self.numbers = [], {}, {}
        self.given: list = []  # the tensors that the last call was given

    def number(self, kernel) -> int:
        """The number of a kernel, which is added to those that are sent."""
        if id(kernel) not in self._numbers:
            compiled = compiled_of(kernel)
            level = "ttir" if compiled.has("ttir") else "ttgir"
            metadata = {**compiled.metadata()}
            self.sent.append(
                {
                    "name": compiled.name,
                    "level": level,
                    "target": compiled.target,
                    "text": str(compiled.asm[level]),
                    "metadata": metadata,
                }
            )
            self._numbers[id(kernel)] = len(self._numbers)
            self._kept.append(kernel)
        return self._numbers[id(kernel)]


@sees_higher_order
class Recorder(TorchDispatchMode):
    """Sees the operators of torch and the launches in its block."""

    watches_memory = True  # what --pretend-cuda asks of a mode: it traces nothing

    def __init__(self, known: Known):
        super().__init__()
        self.steps, self.parts, self.launches = [], [], 0
        self._kernels, self._known, self._kept, self._memory = (
            known,
            known.numbers,
            known.tensors,
            known.memory,
        )
        self._inside = False

    def add(self, tensor) -> int:
        """Gives a tensor a number."""
        self._known[id(tensor)] = number = len(self._kept)
        self._kept.append(tensor)
        if tensor.untyped_storage().nbytes():
            self._memory.setdefault(tensor.untyped_storage().data_ptr(), number)
        return number

    def knows(self, tensor) -> bool:
        """Whether a step has touched the memory of a tensor."""
        return tensor.untyped_storage().data_ptr() in self._memory

    def number(self, tensor) -> int:
        """The number of a tensor; of one that no step has made, after a step that says where it is from."""
        if id(tensor) in self._known:
            return self._known[id(tensor)]
        with torch._C._DisableTorchDispatch():
            plain = tensor.detach()
            of = self._memory.get(plain.untyped_storage().data_ptr())
            number = self.add(tensor)
            if of is not None and plain.untyped_storage().nbytes():
                place = [list(plain.shape), list(plain.stride()), plain.storage_offset()]
                self.steps.append(["view", number, of, wire.dtype_name(plain), *place])
            else:
                self.steps.append(["bytes", number, wire.described(plain, self.parts)])
        return number

    def value(self, value):
        """An argument as steps have it."""
        if isinstance(value, torch.Tensor):
            return {"t": self.number(value)}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": "cpu"}
        if isinstance(value, (torch.layout, torch.memory_format)):
            return {"torch": str(value).removeprefix("torch.")}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return {"other": type(value).__name__}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if self._inside or len(self.steps) > _MOST:
            return func(*args, **(kwargs or {}))
        name, overload = func._schema.name, func._overloadname
        if name.partition("::")[0] not in SPACES:  # the answer's own: what it does inside is what counts
            body = _body_of(name)
            if body is not None:
                with self:
                    return body(*args, **(kwargs or {}))
        words = [self.value(value) for value in args]
        named = {key: self.value(value) for key, value in (kwargs or {}).items()}
        out = func(*args, **(kwargs or {}))
        if not isinstance(out, (torch.Tensor, list, tuple)):
            self.steps.append(["item", name, overload, words, out if _is_plain(out) else None])
            return out
        results = out if isinstance(out, (list, tuple)) else [out]
        step = ["op", name, overload, words, named, []]
        self.steps.append(step)
        for result in results:
            if isinstance(result, torch.Tensor):
                known = self._known.get(id(result))
                step[-1].append(self.add(result) if known is None else known)
            else:
                step[-1].append(None)
        return out

    def launch(self, call: Call, go) -> None:
        """An observer of launches."""
        self._launch(call)
        inside, self._inside = self._inside, True
        try:
            go()
        finally:
            self._inside = inside

    def _launch(self, call: Call) -> None:
        named = [[name, self._argument(value)] for name, value in call.named]
        self.launches += 1
        self.steps.append(["launch", self._kernels.number(call.kernel), list(axes_of(call.grid)), named])

    def _argument(self, value):
        if is_descriptor(value):
            block = [int(n) for n in value.block_shape]
            shape, strides = [int(n) for n in value.shape], [int(n) for n in value.strides]
            padding = str(getattr(value, "padding", "zero"))
            return {"descriptor": [self._argument(value.base), shape, strides, block, padding]}
        if isinstance(value, torch.Tensor):
            return {"t": self.number(value)}
        if hasattr(value, "data_ptr"):  # a view with another type (triton.reinterpret)
            base = getattr(value, "base", None)
            if isinstance(base, torch.Tensor):
                return {"as": [{"t": self.number(base)}, str(value.dtype)]}
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return jsonable(value) if isinstance(value, (list, dict)) else {"other": type(value).__name__}

    def result(self, value):
        """Returns what a call gave, its tensors by number. Raises OtherTensor, or TypeError."""
        if isinstance(value, torch.Tensor):
            if type(value) not in (torch.Tensor, torch.nn.Parameter):
                raise OtherTensor(type(value).__name__)
            return {"tensor": self.number(value)}
        if isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub":
            return {"tensor": self.number(torch.from_numpy(value))}  # memory that a step may know
        if isinstance(value, (list, tuple)):
            return {"list": [self.result(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[str(k), self.result(v)] for k, v in value.items()]}
        if _is_plain(value) or value is None:
            return {"is": value}
        raise TypeError(f"a value of the class {type(value).__name__}")

    def recording(self):
        """A context manager: operators and launches inside are recorded."""
        stack = contextlib.ExitStack()
        stack.enter_context(observing(self.launch))
        stack.enter_context(_seeds(self))
        stack.enter_context(_lists())
        stack.enter_context(self)
        return stack


def _body_of(name: str):
    """The function of an operator that torch.library.custom_op() or triton_op() made; None: of another."""
    made = torch._library.custom_ops.OPDEFS.get(name)
    of_devices = getattr(made, "_backend_fns", {})
    return of_devices.get("cuda") or of_devices.get("cpu") or getattr(made, "_init_fn", None)


def _is_plain(value) -> bool:
    return isinstance(value, (bool, int, float, str))


@contextlib.contextmanager
def _lists():
    """Inside, tolist() of a short tensor reads each number by .item(), which is a step."""
    own = torch.Tensor.tolist

    def tolist(self):
        if self.numel() > _MOST_READ:
            return own(self)
        return self.item() if not self.dim() else [one.tolist() for one in self.unbind()]

    torch.Tensor.tolist = tolist
    try:
        yield
    finally:
        torch.Tensor.tolist = own


class _seeds:
    """Inside, torch.manual_seed() is a step."""

    def __init__(self, recorder):
        self._recorder = recorder

    def __enter__(self):
        names = [(torch, "manual_seed"), (torch.random, "manual_seed")]
        names += [(torch.cuda, "manual_seed"), (torch.cuda, "manual_seed_all")]
        self._before = [(owner, name, getattr(owner, name)) for owner, name in names]
        self._is_inside = False
        for owner, name, own in self._before:
            setattr(owner, name, self._noting(own))

    def _noting(self, own):
        def manual_seed(seed):
            is_inside, self._is_inside = self._is_inside, True
            try:
                if not is_inside:
                    self._recorder.steps.append(["seed", int(seed)])
                return own(seed)
            finally:
                self._is_inside = is_inside

        return manual_seed

    def __exit__(self, *_):
        for owner, name, own in self._before:
            setattr(owner, name, own)
