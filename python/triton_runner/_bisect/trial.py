"""The result of one run of a program: what the job in a worker answers (job.py) and the search reads."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Ran:
    """A pass that ran in a compilation. after: the number of the text after it, or None."""

    stage: str
    add: str
    ran: bool
    after: int | None


@dataclasses.dataclass(frozen=True)
class LlvmPass:
    """A pass inside LLVM. text: the number of the IR after it."""

    name: str
    argument: str
    text: int | None


@dataclasses.dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel that a run compiled, and its passes. first: the number of the text before them; texts, made
    (by level), metadata: present if they were kept; llvm: passes inside LLVM by level, whose texts are
    llvm_texts."""

    name: str
    passes: list[Ran]
    first: int | None
    shared: int = 0
    asynchronous: bool = False
    texts: list = dataclasses.field(default_factory=list)
    made: dict = dataclasses.field(default_factory=dict)
    metadata: dict = dataclasses.field(default_factory=dict)
    llvm: dict[str, list[LlvmPass]] = dataclasses.field(default_factory=dict)
    llvm_texts: list = dataclasses.field(default_factory=list)

    @property
    def source(self) -> str | None:
        """The IR that the front end produced."""
        return None if self.first is None else self.texts[self.first]

    def around(self, stage: str, add: str, nth: int) -> tuple:
        """The IR before and after a pass; None where it was not kept."""
        before, seen = self.first, 0
        for step in self.passes:
            seen += (step.stage, step.add) == (stage, add)
            if seen == nth and (step.stage, step.add) == (stage, add):
                return tuple(
                    None if number is None else self.texts[number] for number in (before, step.after)
                )
            before = step.after
        return None, None


@dataclasses.dataclass(frozen=True)
class Seen:
    """A launch: its kernel, its grid, and a fingerprint of each array afterwards."""

    kernel: str
    grid: list
    arrays: dict


@dataclasses.dataclass(frozen=True, eq=False)
class Launches:
    """The launches of a run, and by position the arrays of the selected one, packed for their way."""

    seen: list[Seen]
    kept: dict


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a trap stopped a run."""

    file: str | None
    op: str | None
    line: int | None
    element: list
    kernel: str


@dataclasses.dataclass(frozen=True, eq=False)
class Trial:
    """The result of a run: "right", "wrong" or "unknown" and the reason, its output, the kernels that it
    compiled, its launches on request, the configuration of each autotuned kernel, the files imported from the
    program's folder, the kind and place of the trap that stopped it, sentences that say where machine code
    parts from PTX, and the number that a measure of the code gave."""

    verdict: str
    why: str = ""
    output: str = ""
    kernels: list[Kernel] = dataclasses.field(default_factory=list)
    launches: Launches | None = None
    choices: dict = dataclasses.field(default_factory=dict)
    files: list = dataclasses.field(default_factory=list)
    trap: str | None = None
    place: Place | None = None
    partings: list = dataclasses.field(default_factory=list)
    measured: float | None = None

    @property
    def first_why(self) -> str:
        lines = [line.strip() for line in self.why.splitlines() if line.strip()]
        # Of an error in a kernel the first line is its place, and the last what is wrong.
        return " ".join([lines[0], lines[-1]] if lines[0].endswith(":") else lines[:1]) if lines else ""

    @property
    def last_lines(self) -> list[str]:
        """The last lines of its output, or the reason why it ended."""
        lines = [line[:200] for line in self.output.splitlines() if line.strip()][-8:]
        return [*lines, *([self.why] if self.why and not lines else [])]
