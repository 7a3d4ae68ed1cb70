"""Makes Triton's CompiledKernel for the CPU: the executed level is compiled, the later ones when they are
first asked for."""

from __future__ import annotations

import os

import triton
import triton.compiler
import triton.compiler.compiler
from triton.runtime.errors import OutOfResources

from triton_runner import _core
from triton_runner._base.lazy import LazyAsm, Onward
from triton_runner._base.levels import LEVELS, MLIR, binary_level, is_above, levels_below
from triton_runner._base.markers import without_markers
from triton_runner._base.releases import installed
from triton_runner._launch import simt
from triton_runner._launch.launchers import launcher, signature
from triton_runner._pipeline import backend, places
from triton_runner._pipeline.stages import compile_onward
from triton_runner._pipeline.targets import compiled_for


class LazyMetadata:
    """Triton's metadata; a field that a later stage writes (shared, ...) runs the stages up to that one when
    it is first asked for. later(): the metadata after them, as a dict."""

    def __init__(self, own, later):
        self._known = own
        self._later = later

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        known = self.__dict__["_known"]
        if hasattr(known, name):
            return getattr(known, name)
        metadata = self.__dict__["_later"]()
        if name not in metadata:
            raise AttributeError(f"the kernel's metadata has no field {name!r}")
        return metadata[name]

    @property
    def _fields(self):
        return tuple(self._asdict())

    def _asdict(self):
        return {**self._later(), **self._known._asdict()}

    def __iter__(self):
        return iter(self._asdict().values())

    def __repr__(self):
        return f"LazyMetadata({', '.join(f'{k}={v!r}' for k, v in self._known._asdict().items())})"


class _RegisterCounts:
    """n_regs and n_spills: what ptxas (or the AMD assembler) would give the kernel."""

    def __init__(self, name):
        self.name = name

    def __get__(self, kernel, owner=None):
        if kernel is None:
            return self
        values = kernel.__dict__
        if self.name not in values:
            if not values.get("runner_level"):
                raise AttributeError(self.name)
            values["n_regs"], values["n_spills"] = kernel.runner_resources()
        return values[self.name]

    def __set__(self, kernel, value):
        kernel.__dict__[self.name] = value


def _make_class(base):
    class CompiledKernel(base):
        n_regs = _RegisterCounts("n_regs")
        n_spills = _RegisterCounts("n_spills")
        runner_base = base

        def __init__(self, src, metadata_group, hash):
            super().__init__(src, metadata_group, hash)
            self.metadata_group = metadata_group
            level = self.runner_level = getattr(self.metadata, "triton_runner_level", None)
            if level is None:
                return
            self.runner_metadata = self.metadata
            text = self.kernel
            if isinstance(text, bytes) and LEVELS[level].is_text:
                text = text.decode()
            self._onward = Onward(self._compile)
            self.asm = LazyAsm(
                {**self.asm, level: text},
                levels_below(compiled_for(self.runner_metadata), level),
                self._complete,
            )
            self.metadata = LazyMetadata(self.runner_metadata, self._later_metadata)
            self.n_max_threads = 1024

        def _later_metadata(self):
            # After LLIR no stage of any release writes a field but the name, which is known.
            return self._complete("llir").metadata if is_above(self.runner_level, "llir") else {}

        def _complete(self, to):
            text = self.asm[self.runner_level]
            if to not in MLIR:  # statements for our engines, which other code would print
                text = without_markers(text, self.runner_level, self.name)
            return self._onward.to(text, to)

        def _compile(self, text, to):
            return compile_onward(
                text, self.runner_level, to, compiled_for(self.runner_metadata),
                self.runner_metadata._asdict(), self.name, self.runner_metadata.triton_runner_language,
            )  # fmt: skip

        def runner_resources(self):
            binary = binary_level(compiled_for(self.runner_metadata))
            description = _core.artifact.describe(
                self.asm[binary], binary, self.name, "", f"{self.name}.{binary}"
            )
            return description["n_regs"] or 0, description["n_spills"] or 0

        def _init_handles(self):
            if self.runner_level is None:
                return super()._init_handles()
            if self.module is None:
                self._module_pid = os.getpid()
                text = self.asm[self.runner_level]
                if LEVELS[self.runner_level].engine == "simt":
                    self._check_shared()
                    function = simt.load_compiled(
                        text, self.name, signature(self.src), self.runner_metadata._asdict()
                    )
                else:
                    warps = getattr(self.runner_metadata, "num_warps", 0) or 0
                    function = _core.load_tile(
                        text, f"{self.name}.{self.runner_level}", self.name, warps,
                        simt.contracts(self.runner_metadata._asdict()),
                        installed().sums_in_trees, compiled_for(self.runner_metadata),
                    )  # fmt: skip
                self.module = self.function = function
                setattr(self, installed().run_field, launcher(self.function, self.src, self))

        def _check_shared(self):
            """As Triton does: autotuning goes on without a configuration that the target cannot hold."""
            limit = _core.max_shared_bytes(compiled_for(self.runner_metadata))
            if self.runner_metadata.shared > limit:
                raise OutOfResources(self.runner_metadata.shared, limit, "shared memory")

    CompiledKernel.__name__ = CompiledKernel.__qualname__ = base.__name__
    return CompiledKernel


def install() -> None:
    """Puts our backends and the subclass in Triton's place; once. What is compiled for a GPU behaves as
    before."""
    backend.install()
    places.install()
    base = triton.compiler.compiler.CompiledKernel
    if hasattr(base, "runner_base"):
        return
    triton.compiler.compiler.CompiledKernel = triton.compiler.CompiledKernel = _make_class(base)
