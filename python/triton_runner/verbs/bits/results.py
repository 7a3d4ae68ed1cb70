"""Defines the results of `bits`: configurations in classes of equal bits, and where and why two classes part.

The JSON of these is a format of its own (SCHEMA)."""

from __future__ import annotations

import dataclasses

SCHEMA = "triton-runner.bits/1"
UNEXPLAINED = "not explained"


@dataclasses.dataclass(frozen=True)
class Row:
    """A configuration. bits: the class of its outputs, "A", "B"; None: it was not run, and state and text say
    why. code: configurations with one number must have equal bits by what their code computes; None: nothing
    is known. seconds: of its run."""

    options: dict
    label: str
    bits: str | None = None
    code: int | None = None
    state: str = ""
    text: str = ""
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Origin:
    """A place where two classes part: the op, its variable, its line, the program and iteration of the first
    class, both numbers. cause: one of CAUSES; evidence: what the two sides show of it."""

    cause: str
    evidence: str
    op: str = ""
    variable: str = ""
    file: str = ""
    line: int = 0
    program: list[int] | None = None
    iteration: list[int] | None = None
    numbers: list[float] | None = None


@dataclasses.dataclass(frozen=True)
class Parting:
    """How two classes differ: between which configurations, in which argument, its first element that
    differs and both numbers, how many of how many elements differ, by how much at most; is_rounding: whether
    the tolerance of the type explains it; origins: where it begins, the first at the front."""

    classes: list[str]
    labels: list[str]
    argument: str
    element: list[int]
    numbers: list[float | int | bool | str]
    elements: int
    of: int
    max_error: float | str
    is_rounding: bool
    origins: list[Origin]


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch in its configurations. contradictions: configurations that must have equal bits by their
    code and have not."""

    kernel: str
    launch: int
    grid: list[int]
    target: str
    level: str
    rows: list[Row]
    partings: list[Parting]
    contradictions: list[list[str]]
    seconds: float

    @property
    def classes(self) -> list[str]:
        return list(dict.fromkeys(row.bits for row in self.rows if row.bits))


@dataclasses.dataclass(frozen=True)
class Bits:
    """All launches. left_out: launches beyond the limit; status: the program's."""

    schema: str
    launches: list[Launch]
    left_out: int
    status: int

    @property
    def exit_status(self) -> int:
        """1 if bits differ or the program failed; 125 without a launch, or where none of its configurations
        runs."""
        if self.status or any(len(one.classes) > 1 for one in self.launches):
            return 1
        return 0 if self.launches and all(one.classes for one in self.launches) else 125
