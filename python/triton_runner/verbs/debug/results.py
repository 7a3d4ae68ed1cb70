"""Defines the results of a session, as frozen dataclasses: the events of a program, and its state at a
stop."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Frame:
    """A line of the source in a function, innermost first in a list of them."""

    function: str
    file: str
    line: int
    column: int = 0


@dataclasses.dataclass(frozen=True)
class Stopped:
    """A launch has stopped; `op` is the next op or instruction.

    - `reason`: "breakpoint", "statement" (dl.breakpoint), "step", "entry", "moment", "interrupt", "trap",
      "beginning" (it was to go back, and nothing is before), "thawed" (nothing but what was frozen could go
      on).
    - `breakpoints`: the numbers of those that were hit.
    - `task`: 0, or the number of a partition; below the IR the first thread in the block.
    - `threads`: below the IR (block in the cluster, first thread, how many), else ().
    - `op`, `text`, `at`: the op or instruction, as its text has it, and its line there.
    - `wave`: threads of a warp, or of one of AMD's wavefronts.
    - `note`: of a place that is in a pipeline's prologue or epilogue: which iteration it is of.
    - `trap`, `trap_kind`: of a launch that stands at a fault, all of it and what it is ("out of bounds").
    - `moment`: how many places the launch had come to: the same in each run of it.
    """

    reason: str
    kernel: str
    level: str
    launch: int
    program: list[int]
    task: int
    iterations: list[int]
    op: str
    text: str
    at: int
    frames: list[Frame]
    moment: int
    place: int
    breakpoints: list[int] = dataclasses.field(default_factory=list)
    threads: list[int] = dataclasses.field(default_factory=list)
    trap: str | None = None
    trap_kind: str | None = None
    hidden: int = 0  # frames of inlined functions that begin here: a step goes into them
    note: str = ""
    wave: int = 32
    event: str = "stopped"

    @property
    def file(self) -> str:
        return self.frames[0].file if self.frames else ""

    @property
    def line(self) -> int:
        return self.frames[0].line if self.frames else 0


@dataclasses.dataclass(frozen=True)
class Exited:
    """The program has ended. error: what it raised, in a line."""

    status: int
    error: str | None = None
    event: str = "exited"


@dataclasses.dataclass(frozen=True)
class Value:
    """A value in sight: its own name and that of its Python variable, and what its op is."""

    name: str
    variable: str
    type: str
    shape: list[int]
    op: str
    line: int


@dataclasses.dataclass(frozen=True)
class Barrier:
    """An mbarrier: its address in the shared memory of a block, what its phase lacks, who waits for it."""

    at: int
    state: str
    waiting: list[str]
    block: int = 0
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Buffer:
    """A buffer in shared or tensor memory ("shared", "tensor"); of tensor memory bytes along each lane."""

    name: str
    space: str
    at: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class BreakpointInfo:
    """A breakpoint. places: how many places of the launch that stands, or last stood, it has."""

    number: int
    where: str
    condition: str
    program: list[int] | None
    skip: int
    temporary: bool
    enabled: bool
    hits: int
    places: int


@dataclasses.dataclass(frozen=True)
class Differing:
    """The first record of a value in which two sides differ: its line and variable, its names on both sides,
    the iteration, the element, both numbers, the largest error, how many elements differ, all in words."""

    file: str
    line: int
    variable: str
    value: str
    other_value: str
    iteration: list[int]
    element: list[int]
    number: float | int | str
    other_number: float | int | str
    max_error: float | str
    elements: int
    of: int
    text: str


@dataclasses.dataclass(frozen=True)
class Compared:
    """The result of compare() for a program of the grid: compared values, those that differ in the order of
    execution, notes."""

    side: str
    other: str
    program: list[int]
    values: int
    differences: list[Differing]
    notes: list[str]
