"""Runs CUDA graphs on CPU tensors (--pretend-cuda): a capture records the launches of kernels and the
operators of torch without running the kernels, and a replay repeats them on the same memory.

As on a GPU, what a capture writes is there after the first replay and not before, memory that a capture
allocates lives as long as its graph, and reading a value while capturing is an error. A TorchDispatchMode
sees the operators below autograd; kernels come from where they are launched, as an observer sees them."""

from __future__ import annotations

import contextlib
import itertools
import threading

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from triton_runner import _settings
from triton_runner._launch import launchers
from triton_runner._memory.torch_modes import sees_higher_order

_UNCAPTURABLE = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_ALLOCATIONS = {"empty", "empty_strided", "empty_like", "empty_permuted", "new_empty", "new_empty_strided"}

_active: CUDAGraph | None = None  # one capture at a time in a process, as torch has it
_handles = itertools.count(1)


def is_capturing() -> bool:
    return _active is not None


def _hold(value):
    """The value, its tensors as aliases: other memory put into a tensor later does not reach the graph."""
    return tree_map_only(torch.Tensor, torch.Tensor.detach, value)


def _tensors(value) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _written(function, args, kwargs) -> list[torch.Tensor]:
    """The arguments that the operator writes, as its schema says."""
    result = []
    for i, argument in enumerate(function._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            result += _tensors(args[i] if i < len(args) else kwargs.get(argument.name))
    return result


def _storage(tensor) -> int:
    return tensor.untyped_storage()._cdata


def _not_permitted(what: str) -> RuntimeError:
    return RuntimeError(
        f"CUDA error: operation not permitted when stream is capturing: {what} needs what a kernel computes, "
        "and kernels run at replay()"
    )


@sees_higher_order
class _Operators(TorchDispatchMode):
    """Hands the operators of a capture to its graph."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else the first operator imports torch._dynamo

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return self.graph._record_operator(function, args, kwargs or {})


class CUDAGraph:
    """torch.cuda.CUDAGraph."""

    def __init__(self, keep_graph=False):
        self._calls: list = []  # (name, a function without arguments)
        self._memory: list = []  # what the capture allocated
        self._changed: list = []  # tensors that a replay writes
        self._state = "new"
        self._pool = None

    def capture_begin(self, pool=None, capture_error_mode="global", check_input_liveness=False):
        global _active
        if _active is not None:
            raise RuntimeError("a CUDA graph is being captured: one capture at a time can be underway")
        if self._state != "new":
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new "
                "instance or call reset()"
            )
        self._pool = pool or graph_pool_handle()
        self._thread = threading.get_ident()
        self._inside = False
        self._mode = _Operators(self)
        self._mode.__enter__()
        self._state = "capturing"
        _active = self
        launchers.observe(self._see, outermost=True)

    def capture_end(self):
        global _active
        if self._state != "capturing":
            raise RuntimeError("capture_end() without a capture_begin()")
        _active = None
        launchers.forget(self._see)
        self._mode.__exit__(None, None, None)
        del self._mode
        self._state = "captured"

    def instantiate(self):
        pass

    def replay(self):
        if self._state != "captured":
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture")
        if _active is not None:
            _active._append("graph", self.replay)  # a graph within a graph
            return
        counted = tuple(tensor for tensor in self._changed if not tensor.is_inference())
        with torch._C._AutoDispatchBelowAutograd(), torch.autograd._unsafe_preserve_version_counter(counted):
            for _, call in self._calls:
                call()

    def reset(self):
        if self._state == "capturing":
            self.capture_end()
        self.__init__()

    def pool(self):
        if self._pool is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture")
        return self._pool

    def enable_debug_mode(self):
        pass

    def debug_dump(self, debug_path):
        """Writes the calls in order, for Graphviz."""
        lines = ["digraph captured {"]
        lines += [f'  n{i} [label="{name}"];' for i, (name, _) in enumerate(self._calls)]
        lines += [f"  n{i} -> n{i + 1};" for i in range(len(self._calls) - 1)]
        with open(debug_path, "w") as file:
            file.write("\n".join([*lines, "}"]) + "\n")

    def _append(self, name, call):
        self._calls.append((name, call))

    @contextlib.contextmanager
    def _executing(self):
        """Runs a block whose launches and calls belong to an operator that is recorded as a whole."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False

    def _see(self, launch: launchers.Call, go) -> None:
        """Keeps a launch for replays, with the settings in force, if it is part of the capture. As on a GPU,
        the hooks around launches see the one that is captured, not the replays."""
        if self._inside or threading.get_ident() != self._thread:
            return go()
        with self._executing(), torch.utils._python_dispatch._disable_current_modes():
            held = _hold(launch.args)
        settings = _settings.current()

        def call():
            token = _settings.enter(_settings.limited(settings))
            try:
                launch.again(*held)
            finally:
                _settings.leave(token)

        self._append(launch.name, call)
        for hook in launch.hooks:
            hook()

    def _record_operator(self, function, args, kwargs):
        if _UNCAPTURABLE.intersection(function.tags):
            raise _not_permitted(str(function))
        with self._executing():
            written = _written(function, args, kwargs)
            before = [(tensor, tensor.shape, tensor.clone()) for tensor in written]
            result = function(*args, **kwargs)
            for tensor, shape, values in before:
                if tensor.shape == shape:  # else the operator is one that changes shapes: memory it does not
                    tensor.copy_(values)
            storages = {_storage(tensor) for tensor in _tensors((args, kwargs))}
            fresh = [_storage(tensor) not in storages for tensor in _tensors(result)]
            outputs = [_hold(tensor) for tensor in _tensors(result)]
            self._memory += itertools.compress(outputs, fresh)
            packet = function._overloadpacket.__name__
            if not (written or any(fresh)) or packet in _ALLOCATIONS:
                return result
            held_args, held_kwargs = _hold((args, kwargs))
            self._changed += [_hold(tensor) for tensor in written]
        self._changed += itertools.compress(outputs, fresh)

        def call():
            again = _tensors(function(*held_args, **held_kwargs))
            for output, value, is_fresh in zip(outputs, again, fresh, strict=True):
                if is_fresh:
                    output.copy_(value)

        self._append(str(function), call)
        return result


def graph_pool_handle():
    """torch.cuda.graph_pool_handle: a token; graphs share no memory here."""
    return (0, next(_handles))


def install() -> None:
    """Puts graphs in the place of torch.cuda's."""
    graphs = torch.cuda.graphs
    torch.cuda.CUDAGraph = graphs.CUDAGraph = CUDAGraph
    torch.cuda.graph_pool_handle = graphs.graph_pool_handle = graph_pool_handle
    # torch's own functions, which ask these:
    graphs._cuda_isCurrentStreamCapturing = torch._C._cuda_isCurrentStreamCapturing = is_capturing
    torch.cuda.is_current_stream_capturing = graphs.is_current_stream_capturing
    torch._C._host_emptyCache = lambda: None
    synchronize = torch.cuda.synchronize

    def synchronize_unless_capturing(device=None):
        if _active is not None:
            raise _not_permitted("torch.cuda.synchronize()")
        synchronize(device)

    torch.cuda.synchronize = synchronize_unless_capturing
