"""Gives a compiled kernel one face, whichever way it was compiled: by Triton for a launch, or from an
artifact.

Dumps ask a Compiled for texts, types, what a launch passes, and for the kernel compiled again from another
text. How the two kinds of kernel answer differs here and nowhere else."""

from __future__ import annotations

import contextlib

from triton_runner import _core
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.reading import compile_options
from triton_runner._base.levels import binary_level, level_of_text
from triton_runner._base.releases import installed
from triton_runner._launch import simt
from triton_runner._launch.launchers import launcher, pieces, signature
from triton_runner._pipeline.stages import compile_onward
from triton_runner._settings import devices


class Recompiled(str):
    """A text that a kernel was compiled to again, which may ask for more shared memory than its own.

    shared: bytes of it; None where the compiler does not say.
    """

    shared: int | None = None


class Compiled:
    """Both kinds of kernel have these.

    kernel: what a launch returns: Triton's CompiledKernel, or an ArtifactKernel.
    entry: the level that it entered at, "python" for a function of Python.
    level, target: what executes it, and what it was compiled for.
    asm: the texts by level; one that is not there is compiled when it is asked for.
    block, cluster: threads and blocks that its PTX was given because its text does not say them, or None.
    """

    kernel: object
    name: str
    entry: str
    level: str
    target: str
    asm: dict
    block: tuple | None
    cluster: tuple | None
    language = "triton"

    def __init__(self, kernel):
        self.kernel, self.name, self.asm = kernel, kernel.name, kernel.asm

    def has(self, level: str) -> bool:
        """Returns whether a text is there without being compiled."""
        return level in dict.keys(self.asm)

    def label(self, level: str) -> str:
        """Returns the name of a level's text in messages."""
        return f"{self.name}.{level}"

    def recompile(self, text: str, level: str, to: str) -> Recompiled:
        """The text at `to` of another text of one of its levels, compiled as the kernel was."""
        compiled = compile_onward(text, level, to, self.target, self.options(), self.name, self.language)
        again = Recompiled(compiled.asm[to])
        again.shared = compiled.metadata.get("shared")
        return again

    def options(self) -> dict:
        """Returns what Triton's later stages have to know: compile options, and the metadata that they were
        part of."""

    def metadata(self) -> dict:
        """Returns what the compiler said of it when it wrote it, as far as it is known."""

    def description(self) -> dict:
        """Returns what _core.artifact.describe says of its code and parameters."""

    def metadata_value(self, name: str):
        """A fact of the code that executes, such as num_warps; None where nothing says it."""

    def shared(self) -> int | None:
        """Bytes of shared memory; None where they are not known."""

    def registers(self) -> int | None:
        """Registers of a thread: as loaded on a GPU; on the CPU those that ptxas would give it."""

    def passed(self, bound: dict, constexprs: set) -> list:
        """(name, value) of what a launch with these arguments passes to the code, constexprs left out."""

    def hidden(self, named: list) -> int:
        """Returns how many of the entry's last parameters a launch with (name, value) pairs fills by
        itself."""

    def running(self, ptx: str):
        """A context manager: launches of the kernel inside of the block run this PTX."""


def compiled_of(kernel) -> Compiled:
    """The Compiled of what a launch or load() returns."""
    return _Artifact(kernel) if isinstance(kernel, ArtifactKernel) else _Triton(kernel)


def _with_shared(metadata: dict, text: str) -> dict:
    """The metadata of a kernel that runs another text."""
    shared = getattr(text, "shared", None)
    return metadata if shared is None else {**metadata, "shared": max(shared, metadata.get("shared") or 0)}


class _Artifact(Compiled):
    """An ArtifactKernel: nothing is known of it but what its texts and its file's metadata say."""

    def __init__(self, kernel):
        super().__init__(kernel)
        self.entry, self.level, self.target = kernel.artifact.level, kernel.level, kernel.target
        self.block = getattr(kernel.function, "block", None)
        self.cluster = getattr(kernel.function, "cluster", None)

    def label(self, level: str) -> str:
        return self.kernel.artifact.label if level == self.entry else super().label(level)

    def options(self) -> dict:
        return compile_options(self.kernel.artifact)

    def metadata(self) -> dict:
        return self.description().get("metadata") or {}

    def description(self) -> dict:
        return getattr(self.kernel.function, "description", {})

    def metadata_value(self, name: str):
        return self.description().get(name)

    def shared(self) -> int | None:
        return self.metadata_value("shared")

    def registers(self) -> int | None:
        if devices.resolved_device() != "cpu":
            return self.kernel.function.resources().get("n_regs")
        return self.kernel.n_regs

    def passed(self, bound: dict, constexprs: set) -> list:
        return [(name, value) for name, value in bound.items() if name not in constexprs]

    def hidden(self, named: list) -> int:
        return self.kernel.function.settle(named)[1]

    @contextlib.contextmanager
    def running(self, ptx: str):
        own = self.kernel.function
        description = _with_shared(own.description, ptx)
        label = self.label(level_of_text(ptx))
        self.kernel.function = simt.executor(ptx, label, description, own.block, own.cluster)
        try:
            yield
        finally:
            self.kernel.function = own


class _Triton(Compiled):
    """Triton's CompiledKernel, whose metadata says everything."""

    entry = "python"
    block = cluster = None

    def __init__(self, kernel):
        from triton_runner._pipeline.targets import compiled_for  # with Triton, which artifacts do without

        super().__init__(kernel)
        self._known = getattr(kernel, "runner_metadata", kernel.metadata)
        self.target = compiled_for(self._known)
        self.level = getattr(kernel, "runner_level", None) or binary_level(self.target)
        self.language = getattr(self._known, "triton_runner_language", "triton")

    def options(self) -> dict:
        return self._known._asdict()

    def metadata(self) -> dict:
        return self._known._asdict()

    def description(self) -> dict:
        return _core.artifact.describe(self.asm["ttgir"], "ttgir", self.name, "", self.label("ttgir"))

    def metadata_value(self, name: str):
        return getattr(self._known, name, None)

    def shared(self) -> int | None:
        return self.kernel.metadata.shared

    def registers(self) -> int | None:
        return getattr(self.kernel, "n_regs", None)  # on a GPU not before it is loaded

    def passed(self, bound: dict, constexprs: set) -> list:
        return [p for name, kind in signature(self.kernel.src) for p in pieces(name, kind, bound.get(name))]

    def hidden(self, named: list) -> int:
        return installed().hidden_pointers

    @contextlib.contextmanager
    def running(self, ptx: str):
        metadata = _with_shared(self.metadata(), ptx)
        function = simt.load_compiled(ptx, self.name, signature(self.kernel.src), metadata)
        self.kernel._init_handles()
        field = installed().run_field
        own = getattr(self.kernel, field)
        setattr(self.kernel, field, launcher(function, self.kernel.src))
        try:
            yield
        finally:
            setattr(self.kernel, field, own)
