"""Stops Triton's backends at the level that the CPU executes, so that neither LLVM nor ptxas runs for it.

Each backend in triton.backends is replaced by a subclass that behaves as the original unless its target says
at which level to stop. This module is imported only when the CPU becomes Triton's device."""

from __future__ import annotations

import dataclasses

import triton.backends

from triton_runner import _core
from triton_runner._base.levels import MLIR
from triton_runner._pipeline import plans
from triton_runner._pipeline.printed_stages import print_later_stages
from triton_runner._pipeline.stages import tried
from triton_runner._pipeline.targets import target_name

# The stages of the Triton and the Gluon front end above the levels that the CPU executes.
_GLUON_ENTRY = "glir"


def _say_cluster(module, dims) -> None:
    """Notes in TTIR how many programs a cluster has, as Meta's fork does from TTGIR on (`ctas_per_cga`)."""
    builder = triton._C.libtriton.ir.builder(module.context)
    for axis, size in zip("xyz", dims, strict=False):
        module.set_attr(f"ttg.cluster-dim-{axis}", builder.get_int32_attr(size))


def _stopped(base):
    class Backend(base):
        runner_base = base

        def __init__(self, target):
            super().__init__(target)
            self.runner_level = getattr(target, "level", None)
            if self.runner_level:
                self.binary_ext = self.runner_level

        def hash(self):
            if not self.runner_level:
                return super().hash()
            places = getattr(self.target, "places", "")
            return f"triton_runner-{self.runner_level}-{self.target.backend}-{self.target.arch}-{places}"

        def add_stages(self, stages, options, *arguments):
            super().add_stages(stages, plans.with_options(options), *arguments)
            if not self.runner_level:
                return
            planned = plans.wrap(stages, self)
            # Gluon has no TTIR: its first level that the CPU executes is TTGIR.
            level = self.runner_level if self.runner_level in stages else "ttgir"
            names = list(stages)
            later = {name: stages.pop(name) for name in names[names.index(level) + 1 :]}
            language = "gluon" if _GLUON_ENTRY in names else "triton"
            if planned is None:
                for above, name in zip([names[0], *names], list(stages), strict=False):
                    stages[name] = tried(name, above, stages[name], target_name(self.target), language)
            last = stages[level]

            def finish(source, metadata):
                module = last(source, metadata)
                if level in MLIR:
                    module = plans.stop_in(planned, module, later, metadata)
                if level == "ttir" and (dims := getattr(options, "ctas_per_cga", None)):
                    _say_cluster(module, dims)
                if level in MLIR:  # the stages below write it themselves
                    metadata["name"] = _core.kernel_names(str(module), f"<{level}>")[0]
                metadata["triton_runner_level"] = level
                metadata["triton_runner_language"] = language
                if level in MLIR:
                    name = f"{metadata['name']}.{level}"
                    print_later_stages(str(module), level, target_name(self.target), metadata, name, language)
                return module

            stages[level] = finish

        # The first thing that CompiledKernel asks of a backend: the level travels in the metadata, as targets
        # are written to disk without ours.
        def pack_metadata(self, metadata):
            level = getattr(metadata, "triton_runner_level", None)
            if level is None:
                return super().pack_metadata(metadata)
            self.runner_level = self.binary_ext = level
            return metadata.num_warps, metadata.num_ctas, 0

    Backend.__name__ = Backend.__qualname__ = base.__name__
    return Backend


def install() -> None:
    """Replaces the backends by their stoppable subclasses; once."""
    backends = triton.backends.backends
    for name, backend in list(backends.items()):
        if not hasattr(backend.compiler, "runner_base"):
            backends[name] = dataclasses.replace(backend, compiler=_stopped(backend.compiler))
