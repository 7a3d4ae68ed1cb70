"""Defines the results of `profile`: what a launch executed, by instruction and by line, and the bounds that
follow.

The JSON of these is a format of its own (SCHEMA). Counts are those of `_core.probe.COUNTS`; zeros are left
out."""

from __future__ import annotations

import dataclasses

SCHEMA = "triton-runner.profile/1"


@dataclasses.dataclass(frozen=True)
class Collision:
    """The worst bank conflict of an instruction: how many words meet in which bank; two of the threads, and
    where in the block's shared memory they access; in which program."""

    ways: int
    bank: int
    threads: list[int]
    offsets: list[int]
    program: int


@dataclasses.dataclass(frozen=True)
class Instruction:
    """An instruction of the machine code. ptx_line, ttgir_line: the lines that it was made from (0: not
    known); address: in AMDGCN its line; file, line: of the program; pipe: "" where no source says; share: of
    all warp instructions."""

    address: int
    text: str
    opcode: str
    pipe: str
    space: str
    access: str
    ptx_line: int
    ttgir_line: int
    file: str
    line: int
    share: float
    counts: dict[str, int]
    flops: int = 0
    matrix_operations: int = 0
    matrix_type: str = ""
    collision: Collision | None = None


@dataclasses.dataclass(frozen=True)
class Bound:
    """The least that a launch, or a line of it, takes because of one resource of the chip: cycles of an SM
    and microseconds. A bound, not a prediction. about: what is counted and the rate that it is divided
    by."""

    name: str
    cycles: float
    microseconds: float
    about: str


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a level ("python", "ptx", "ttgir"): its text, its counts, its share of all warp instructions,
    and which resource binds it most ("" without a chip). causes: what it pays for besides its work."""

    level: str
    file: str
    line: int
    text: str
    share: float
    counts: dict[str, int]
    flops: int = 0
    bound_by: str = ""
    microseconds: float = 0.0
    collision: Collision | None = None
    causes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Group:
    """Warps of a block that executed the same instructions equally often."""

    warps: list[int]
    instructions: int


@dataclasses.dataclass(frozen=True)
class Roofline:
    """The place of a launch under the roofline: its operations for each byte that has to come from memory,
    the chip's ratio at which memory and arithmetic bind alike, and what binds."""

    operations: int
    bytes: int
    intensity: float | None
    ridge: float
    bound_by: str


@dataclasses.dataclass(frozen=True)
class Stall:
    """Why warps did not issue an instruction: the reason, its share of the warps' time; the instruction and
    the line of the program that it comes from."""

    reason: str
    share: float
    address: int
    text: str
    file: str
    line: int


@dataclasses.dataclass(frozen=True)
class Run:
    """The reason that holds for a warp from one cycle to another for most of the time: its number among the
    timeline's, and the address of the instruction that the warp issues or waits at."""

    begin: float
    end: float
    reason: int
    address: int


@dataclasses.dataclass(frozen=True)
class Timeline:
    """The timeline of the warps of an SM's first block, in each of many equal parts of its time: short waits
    between two longer ones do not show. A reason is "issuing", or what a warp waits for."""

    cycles: float
    reasons: list[str]
    warps: list[list[Run]]


@dataclasses.dataclass(frozen=True)
class Estimate:
    """How long a launch takes on a chip.

    - `cycles`, `microseconds`: from its start to its end, caches empty. `clock`: in Hz, that a card of this
      kind chooses for such a launch: it falls where the tensor cores are busy.
    - `bound_by`: the resource that is busy for most of the time, or what warps wait for most.
    - `kind`: "under 5 us", "memory-bound", "tensor cores" or "latency-bound". `error`: the mean absolute
      error that was measured for it, 0.1 for 10 %; None: the chip was not measured.
    - `waves`: programs of an SM by those that it holds at once. `programs`: how many ran, of how many.
    - `stalls`: the largest share first. `busy`: the part of the time that each resource was at work.
    - `timeline`: of the SM's first block; None where nobody asked for it.
    """

    kernel: str
    chip: str
    cycles: float
    microseconds: float
    clock: float
    bound_by: str
    kind: str
    error: float | None
    waves: float
    blocks_per_sm: int
    programs: int
    of: int
    stalls: list[Stall]
    busy: dict[str, float]
    dram_bytes: float
    seconds: float
    notes: list[str]
    timeline: Timeline | None = None


@dataclasses.dataclass(frozen=True)
class Launch:
    """A launch.

    - `programs`: how many ran; `of`: how many there are (in clusters: clusters). is_extrapolated: the counts
      are those of all, because the programs that ran agree; else they are of those that ran.
    - `counters`: by their names in `_core.probe.COUNTERS`; `opcodes`, `pipes`: warp instructions.
    - `loaded_bytes`, `stored_bytes`: of global memory, each sector once, by the programs that ran.
    - `flops`: of threads and matrices. `chip`, `bounds`, `roofline`: of a named chip.
    - `estimate`: of its time on the chip, where it was asked for.
    """

    kernel: str
    launch: int
    grid: list[int]
    target: str
    warps: int
    programs: int
    of: int
    is_extrapolated: bool
    counters: dict[str, int]
    opcodes: dict[str, int]
    pipes: dict[str, int]
    flops: int
    matrix_operations: dict[str, int]
    loaded_bytes: int
    stored_bytes: int
    groups: list[Group]
    registers: int | None
    spills: int | None
    shared: int | None
    occupancy: dict | None
    chip: str
    bounds: list[Bound]
    roofline: Roofline | None
    lines: list[Line]
    instructions: list[Instruction]
    notes: list[str]
    seconds: float
    estimate: Estimate | None = None

    @property
    def bound(self) -> Bound | None:
        """The largest of the bounds."""
        return self.bounds[0] if self.bounds else None

    def lines_of(self, level: str = "python") -> list[Line]:
        """The lines of a level, the largest share first."""
        return [line for line in self.lines if line.level == level]


@dataclasses.dataclass(frozen=True)
class Profile:
    """The launches that were profiled; left_out: how many were not; status: of the program; others: kernels
    that were launched and not asked for."""

    schema: str
    launches: list[Launch]
    left_out: int = 0
    status: int = 0
    others: list[str] = dataclasses.field(default_factory=list)
