"""Loads in a worker what each first compilation of Inductor loads and makes: more than half of a run's CPU
time, which the processes forked there do without. MODULES are for _worker/child.py's preload()."""

from __future__ import annotations

import contextlib
import functools

MODULES = (
    "torch._dynamo", "torch._inductor.compile_fx", "torch._inductor.codegen.triton",
    "torch._inductor.codegen.common:init_backend_registration",
    "torch._inductor.codecache:torch_key",  # it hashes torch
    *(f"torch._dynamo.backends.{name}" for name in (
        "inductor", "cudagraphs", "distributed", "onnxrt", "tensorrt", "torchxla", "tvm",
    )),
    *(f"torch._inductor.{name}" for name in (
        "bounds", "choices", "compiler_bisector", "hooks", "tiling_utils", "codegen.memory_planning",
        "codegen.segmented_tree", "fx_passes.efficient_conv_bn_eval",
    )),
    "torch._dynamo.repro.after_dynamo", "torch.distributed.tensor.experimental", "torch.export._trace",
    "torch.export._unlift", "torch.fx.experimental.validator", "torch._subclasses.schema_check_mode",
    "sympy.tensor.tensor",
)  # fmt: skip


def modules(device: str) -> tuple[str, ...]:
    """The names to preload for programs whose tensors are on a device, "cpu" or "cuda"."""
    return (*MODULES, f"{__name__}:{device}")


@functools.cache
def cpu() -> None:
    """Makes the patterns for graphs on the CPU."""
    _make_patterns("cpu")


@functools.cache
def cuda() -> None:
    """Makes the patterns for graphs on the GPU, after --pretend-cuda is installed."""
    _make_patterns("cuda:0")


def _make_patterns(device: str) -> None:
    """Makes the patterns of Inductor's passes, which it keeps by device. A release that does so in another
    way makes them itself."""
    with contextlib.suppress(Exception):
        import torch
        from torch._inductor.fx_passes import joint_graph, post_grad

        joint_graph.lazy_init(torch.device(device))
        post_grad.lazy_init()
