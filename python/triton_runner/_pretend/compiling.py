"""Makes torch.compile work on tensors that say cuda and are on the CPU: Inductor writes Triton kernels as for
a GPU.

Fake tensors say cuda to Python and are CPU tensors to torch's C++, as real ones are, so that autograd and the
choice of operators work on what will run. The modules of torch are changed when a program first imports them,
a few names each."""

from __future__ import annotations

import dataclasses
import importlib.abc
import importlib.machinery
import sys

import torch
import triton.backends

from triton_runner import testing
from triton_runner._pipeline import driver
from triton_runner._pretend import tensors
from triton_runner._pretend.lowlevel import CUDA

_CPU = torch.device("cpu")


def _change_fake_tensor(module) -> None:
    fake = module.FakeTensor

    def device(tensor):
        if tensor.fake_mode.in_kernel_invocation:
            return torch.device("meta")
        return CUDA if tensor.fake_device.type == "cpu" else tensor.fake_device

    def refuse(tensor, device):
        raise NotImplementedError

    convert = module.FakeTensorConverter.from_real_tensor

    def from_real_tensor(converter, mode, tensor, *args, source=None, **options):
        if type(source).__name__ == "FloatTensorSource":  # a number of Python's, which stays on the CPU
            tensors.mark(tensor, "cpu")
        return convert(converter, mode, tensor, *args, source=source, **options)

    module.FakeTensorConverter.from_real_tensor = from_real_tensor
    fake.device = property(device, refuse)
    if hasattr(fake, "_normalize_fake_device"):
        normalize = fake._normalize_fake_device
        fake._normalize_fake_device = staticmethod(
            lambda device: _CPU if device.type == "cuda" else normalize(device)
        )
        return
    make = fake.__new__  # before torch 2.13

    def __new__(cls, fake_mode, elem, device, *args, **options):
        on_gpu = torch.device(device).type == "cuda"
        return make(cls, fake_mode, elem, _CPU if on_gpu else device, *args, **options)

    fake.__new__ = __new__


def _change_inductor_utils(module) -> None:
    def decode_device(device):
        device = torch.device(device) if isinstance(device, str) else device
        # The tensors that the graph makes on the CPU are made on the one device that there is.
        return device if device is not None and device.type not in ("cpu", "cuda") else CUDA

    module.decode_device = decode_device
    module.is_big_gpu = lambda device=0: True  # matmul templates, however few cores there are


def _change_config(module) -> None:
    module.compile_threads = 1  # the engine takes TTIR: a worker would cost more than it saves
    for name in ("use_static_triton_launcher", "use_static_cuda_launcher"):  # the second before torch 2.11
        if hasattr(module, name):
            setattr(module, name, False)  # they launch cubins through the driver


def _change_heuristics(module) -> None:
    own = module.GPUTarget
    module.GPUTarget = lambda backend, arch, warp_size: own("cpu", arch, warp_size)
    # Tuning keeps copies of what a kernel changes in pinned memory where a GPU's is short.
    module.CachingAutotuner.copy_args_to_cpu_if_needed = lambda self, *args, **kwargs: {}


def _change_benchmarking(module) -> None:
    def best(benchmarker, fn, **options):
        return testing.do_bench(fn, warmup=1, rep=10, return_mode="min")

    if hasattr(module, "register_benchmarker"):
        module.register_benchmarker("cuda", best, override=True)
        return
    module.TritonBenchmarker.benchmark_gpu = best  # before torch 2.13
    module.InductorBenchmarker.benchmark_gpu = best


def _change_compile_fx(module) -> None:
    # mode="reduce-overhead": what is gained by it on a GPU, launching, costs little here.
    module.cudagraphify = lambda model, *args, **kwargs: model


def _change_eval_frame(module) -> None:
    context = module._TorchDynamoContext
    own = context.__init__

    def __init__(self, *args, **kwargs):
        own(self, *args, **kwargs)
        self.enter_exit_hooks.append(tensors.pop_mode)

    context.__init__ = __init__


_CHANGES = {
    "torch._subclasses.fake_tensor": _change_fake_tensor,
    "torch._dynamo.eval_frame": _change_eval_frame,
    "torch._inductor.config": _change_config,
    "torch._inductor.utils": _change_inductor_utils,
    "torch._inductor.compile_fx": _change_compile_fx,
    "torch._inductor.runtime.benchmarking": _change_benchmarking,
    "torch._inductor.runtime.triton_heuristics": _change_heuristics,
}


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds the modules of _CHANGES as Python does, and changes them when they have run."""

    def find_spec(self, name, path=None, target=None):
        if name not in _CHANGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None:
            return None
        own = spec.loader.exec_module

        def exec_module(module):
            own(module)
            _CHANGES[name](module)

        spec.loader.exec_module = exec_module
        return spec


def install() -> None:
    """Changes what is imported already, and sees to the rest."""
    table = triton.backends.backends
    table["nvidia"] = dataclasses.replace(table["nvidia"], driver=driver.LazyDriver)  # Inductor compares them
    guards = torch._C._dynamo.guards
    guards._empty_strided_cuda = guards._empty_strided_cpu
    for name, change in _CHANGES.items():
        if name in sys.modules:
            change(sys.modules[name])
    sys.meta_path.insert(0, _AfterImport())
