"""Adds a backend of the name "cpu" to Triton, which torch.compile asks for its kernels on the CPU
(torch._inductor.config.cpu_backend = "triton").

It stands in Triton's table of backends beside NVIDIA's and AMD's, and compiles nothing itself: a kernel for
"cpu" is compiled for the target of the settings in force and stopped at the level that the engine executes.
"""

from __future__ import annotations

import dataclasses
import sys

from triton_runner._settings import devices


class CpuCompiler:
    """The class that triton.backends["cpu"].compiler is: made for a target, it is the stopped backend that
    stands for it."""

    @staticmethod
    def supports_target(target) -> bool:
        return target.backend == "cpu"

    def __new__(cls, target):
        from triton.compiler.compiler import make_backend

        return make_backend(stopped_target())


CpuCompiler.runner_base = CpuCompiler  # what stands for it is stoppable


def stopped_target():
    """The target that "cpu" means now."""
    # Not when the package is imported, which only enters the backend in Triton's table.
    from triton_runner._pipeline import kernel
    from triton_runner._pipeline.targets import make_target

    kernel.install()
    compile_in_this_process()
    return make_target(*devices.cpu_target())


def placed(target, source):
    """The target for this source of Triton's compile(): one that stops gets a digest of where the source's
    functions stand."""
    if not getattr(target, "level", None):
        return target
    from triton_runner._pipeline import places  # as in stopped_target()

    return dataclasses.replace(target, places=places.digest(source))


def compile_in_this_process() -> None:
    """Inductor's compile workers are processes that know Triton only; a kernel's TTIR takes milliseconds."""
    config = sys.modules.get("torch._inductor.config")
    if config is not None and config.compile_threads != 1:
        config.compile_threads = 1


def mark_compiled(kernel):
    """Sets what Inductor asks each kernel for, without the stages that would tell of a GPU: a kernel on the
    CPU has neither registers nor shared memory."""
    kernel.n_regs = kernel.n_spills = kernel.shared = 0
    kernel.metadata = kernel.runner_metadata
    return kernel


def install(driver) -> None:
    """Enters it in Triton's table of backends with its driver class, where none of that name stands."""
    import triton.backends

    table = triton.backends.backends
    if "cpu" not in table:
        table["cpu"] = triton.backends.Backend(compiler=CpuCompiler, driver=driver)
