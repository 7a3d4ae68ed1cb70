"""Describes a release that does not compile a kernel: its compiler fails (Crash), or its front end refuses
the kernel (Refused).

    make_ttgir, pass TritonGPUCoalesce (tritongpu-coalesce): Assertion `n > 0' failed
"""

from __future__ import annotations

import dataclasses

from triton_runner._base.errors import source_line
from triton_runner._kernel.compiling import passes_select
from triton_runner._pipeline.failures import Failure


@dataclasses.dataclass(frozen=True)
class NamedPass:
    """A pass by its names. add: the function of Triton that adds it; None inside LLVM."""

    name: str
    argument: str
    add: str | None
    nth: int


@dataclasses.dataclass(frozen=True)
class Crash:
    """A release whose compiler fails on a kernel. function: of LLVM's bindings, where that ran and no pass of
    MLIR; how: the type of the exception, the name of the signal, or "timeout"; reproducer: a folder with a
    run.sh."""

    version: str
    level: str
    stage: str
    pass_: NamedPass | None
    function: str | None
    how: str
    message: str
    kernel: str
    reproducer: str | None = None

    @classmethod
    def of(cls, version: str, failure: Failure, reproducer: str | None) -> Crash:
        is_pass = failure.add is not None and not failure.add.startswith("llvm.")
        named = NamedPass(*passes_select.name_of(failure.add), failure.add, 1) if is_pass else None
        return cls(
            version, failure.level, failure.stage, named, None if is_pass else failure.add, failure.how,
            failure.message, failure.kernel, reproducer,
        )  # fmt: skip

    @property
    def where(self) -> str:
        """The stage, and the pass or the function in it."""
        if self.pass_:
            return f"{self.stage}, pass {self.pass_.name} ({self.pass_.argument})"
        return f"{self.stage}, {self.function}" if self.function else self.stage

    @property
    def headline(self) -> str:
        return f"the compiler fails in {self}"

    def __str__(self) -> str:
        return f"{self.where}: {self.message.splitlines()[0]}"

    def lines(self) -> list[str]:
        """All that the compiler said, and how to see it again."""
        kernel = f"  kernel '{self.kernel}'" if self.kernel else "  a kernel"
        lines = [f"{kernel}, {self.how} in Triton {self.version}"]
        lines += [f"  | {line}" for line in self.message.splitlines()]
        return [*lines, *([f"  to see it again: sh {self.reproducer}/run.sh"] if self.reproducer else [])]


@dataclasses.dataclass(frozen=True)
class Refused:
    """A release whose front end refuses the kernel, at a line of it."""

    version: str
    kernel: str
    message: str
    file: str
    line: int
    column: int

    @classmethod
    def of(cls, version: str, failure: Failure) -> Refused:
        place = failure.file, failure.line, failure.column
        return cls(version, failure.kernel, failure.message, *place)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}error: {self.message.splitlines()[0]}"

    def lines(self) -> list[str]:
        """The line of the kernel, and a caret at the column."""
        return [f"  {line}" for line in source_line(self.file, self.line, self.column)]
