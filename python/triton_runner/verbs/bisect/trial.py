"""Defines the result of one run of a program: the job in a worker (job.py) answers it, and the search reads
it."""

from __future__ import annotations

import dataclasses

from triton_runner._pipeline.failures import Failure
from triton_runner.verbs.bisect.inductor.compiled import Compiled


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
    waits: bool = False
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
    """A launch: its kernel, its grid, a fingerprint of each array afterwards, and of each array that is an
    input beforehand."""

    kernel: str
    grid: list
    arrays: dict
    inputs: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Launches:
    """The launches of a run, and by position the arrays of the selected one, packed for their way."""

    seen: list[Seen]
    kept: dict

    def other_input(self, other: Launches, where: str) -> str:
        """A sentence about an input of a launch that another run of the program does not share, although all
        launches before it left the same: then the program itself made other inputs, and outputs say nothing.
        where: "with Triton 3.8.0"."""
        for number, (mine, theirs) in enumerate(zip(self.seen, other.seen, strict=False)):
            if mine.kernel != theirs.kernel:
                return ""
            for name, bits in mine.inputs.items():
                if theirs.inputs.get(name, bits) != bits:
                    return (
                        f"the program makes other inputs {where}: {name} of launch {number + 1}, of kernel "
                        f"'{mine.kernel}', differs before the launch, so outputs are not compared; give it a "
                        "seed"
                    )
            if mine.arrays != theirs.arrays:
                return ""
        return ""


@dataclasses.dataclass(frozen=True)
class Place:
    """The place where a trap stopped a run."""

    file: str | None
    op: str | None
    line: int | None
    element: list
    kernel: str


@dataclasses.dataclass(frozen=True, eq=False)
class Trial:
    """The result of a run.

    - `verdict`: "right", "wrong" or "unknown"; `why`: the reason; `output`: what it printed.
    - `kernels`: those that it compiled; `failure`: why one was not compiled; `launches`: on request.
    - `choices`: the configuration of each autotuned kernel; `files`: imported from the program's folder.
    - `trap`, `race`, `place`: the kind of the trap that stopped it, which kind of race, and its place.
    - `partings`: sentences that say where machine code parts from PTX; `measured`: what a measure of the code
      gave.
    - `compiled`: the graphs of torch.compile, where the run watched them.
    """

    verdict: str
    why: str = ""
    output: str = ""
    kernels: list[Kernel] = dataclasses.field(default_factory=list)
    launches: Launches | None = None
    choices: dict = dataclasses.field(default_factory=dict)
    files: list = dataclasses.field(default_factory=list)
    trap: str | None = None
    race: str = ""
    place: Place | None = None
    partings: list = dataclasses.field(default_factory=list)
    measured: float | None = None
    failure: Failure | None = None
    compiled: Compiled | None = None

    @property
    def first_why(self) -> str:
        lines = [line.strip() for line in self.why.splitlines() if line.strip()]
        # The first line of an error in a kernel is its place, and the last says what is wrong.
        return " ".join([lines[0], lines[-1]] if lines[0].endswith(":") else lines[:1]) if lines else ""

    @property
    def last_lines(self) -> list[str]:
        """The last lines of its output, or the reason why it ended."""
        lines = [line[:200] for line in self.output.splitlines() if line.strip()][-8:]
        return [*lines, *([self.why] if self.why and not lines else [])]
