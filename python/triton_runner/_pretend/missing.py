"""Replaces the names of torch.cuda that cannot be had without a GPU by functions that raise the reason."""

from __future__ import annotations

import importlib

# Maps what is needed and not there to the names of torch.cuda that need it.
_NEEDED = {
    "it reads a GPU's sensors through NVML, and there is no GPU": (
        "device_memory_used memory_usage utilization temperature power_draw clock_rate list_gpu_processes "
        "memory.list_gpu_processes"
    ),
    "green contexts split the multiprocessors of a GPU": "GreenContext green_contexts.GreenContext",
    "the memory is the CPU's, and no allocator of CUDA serves it": (
        "CUDAPluggableAllocator memory.CUDAPluggableAllocator change_current_allocator "
        "memory.change_current_allocator caching_allocator_alloc memory.caching_allocator_alloc "
        "caching_allocator_delete memory.caching_allocator_delete"
    ),
    "GPUDirect storage reads files into a GPU's memory": (
        "gds.GdsFile gds.gds_register_buffer gds.gds_deregister_buffer"
    ),
    "it sends between GPUs through NCCL; torch.distributed's gloo works on the CPU": (
        "nccl.all_gather nccl.all_reduce nccl.broadcast nccl.init_rank nccl.reduce nccl.reduce_scatter "
        "nccl.unique_id nccl.version"
    ),
    'torch.sparse_coo_tensor(..., device="cuda") takes the place of the old types of sparse tensors': (
        "sparse.BFloat16Tensor sparse.ByteTensor sparse.CharTensor sparse.DoubleTensor sparse.FloatTensor "
        "sparse.HalfTensor sparse.IntTensor sparse.LongTensor sparse.ShortTensor"
    ),
    "it times the kernels of a GPU's BLAS": "tunable.tune_gemm_in_file tunable.mgpu_tune_gemm_in_file",
}
MISSING = {f"torch.cuda.{name}": why for why, names in _NEEDED.items() for name in names.split()}


def _raising(name: str, reason: str):
    def missing(*args, **kwargs):
        raise RuntimeError(f"{name} is not there under --pretend-cuda: {reason}")

    missing.__name__ = missing.__qualname__ = name.rsplit(".", 1)[1]
    return missing


def install() -> None:
    """Puts what raises the reason in the place of each name that this torch has."""
    for name, reason in MISSING.items():
        module, _, attribute = name.rpartition(".")
        try:
            module = importlib.import_module(module)
        except ImportError:  # another release of torch
            continue
        own = getattr(module, attribute, None)
        if own is not None and not isinstance(own, type):
            setattr(module, attribute, _raising(name, reason))
        elif own is not None:  # a class stays one, for isinstance
            init = _raising(name, reason)
            setattr(module, attribute, type(attribute, (), {"__init__": init, "__module__": own.__module__}))
