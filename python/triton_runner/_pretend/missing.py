"""Names of torch.cuda that cannot be had without a GPU, each with its reason, which calling it raises."""

from __future__ import annotations

import importlib

_NVML = "it reads a GPU's sensors through NVML, and there is no GPU"
_NCCL = "it sends between GPUs through NCCL; torch.distributed's gloo works on the CPU"
_GDS = "GPUDirect storage reads files into a GPU's memory"
_SPARSE = 'torch.sparse_coo_tensor(..., device="cuda") takes the place of the old types of sparse tensors'
_ALLOCATOR = "the memory is the CPU's, and no allocator of CUDA serves it"

# Name: what it needs that is not there.
MISSING = {
    "torch.cuda.device_memory_used": _NVML,
    "torch.cuda.memory_usage": _NVML,
    "torch.cuda.utilization": _NVML,
    "torch.cuda.temperature": _NVML,
    "torch.cuda.power_draw": _NVML,
    "torch.cuda.clock_rate": _NVML,
    "torch.cuda.list_gpu_processes": _NVML,
    "torch.cuda.memory.list_gpu_processes": _NVML,
    "torch.cuda.GreenContext": "green contexts split the multiprocessors of a GPU",
    "torch.cuda.green_contexts.GreenContext": "green contexts split the multiprocessors of a GPU",
    "torch.cuda.CUDAPluggableAllocator": _ALLOCATOR,
    "torch.cuda.memory.CUDAPluggableAllocator": _ALLOCATOR,
    "torch.cuda.change_current_allocator": _ALLOCATOR,
    "torch.cuda.memory.change_current_allocator": _ALLOCATOR,
    "torch.cuda.caching_allocator_alloc": _ALLOCATOR,
    "torch.cuda.memory.caching_allocator_alloc": _ALLOCATOR,
    "torch.cuda.caching_allocator_delete": _ALLOCATOR,
    "torch.cuda.memory.caching_allocator_delete": _ALLOCATOR,
    "torch.cuda.gds.GdsFile": _GDS,
    "torch.cuda.gds.gds_register_buffer": _GDS,
    "torch.cuda.gds.gds_deregister_buffer": _GDS,
    "torch.cuda.nccl.all_gather": _NCCL,
    "torch.cuda.nccl.all_reduce": _NCCL,
    "torch.cuda.nccl.broadcast": _NCCL,
    "torch.cuda.nccl.init_rank": _NCCL,
    "torch.cuda.nccl.reduce": _NCCL,
    "torch.cuda.nccl.reduce_scatter": _NCCL,
    "torch.cuda.nccl.unique_id": _NCCL,
    "torch.cuda.nccl.version": _NCCL,
    **{
        f"torch.cuda.sparse.{kind}Tensor": _SPARSE
        for kind in ("BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
    },
    "torch.cuda.tunable.tune_gemm_in_file": "it times the kernels of a GPU's BLAS",
    "torch.cuda.tunable.mgpu_tune_gemm_in_file": "it times the kernels of a GPU's BLAS",
}


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
