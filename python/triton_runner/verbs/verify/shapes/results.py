"""Defines the results of `verify --shapes`, of which its JSON is made (SCHEMA, doc/reference/shapes.md)."""

from __future__ import annotations

import dataclasses

from triton_runner._base.typed import as_json
from triton_runner._kernel.cases.results import NO_FAULT

SCHEMA = "triton-runner.shapes/1"
# of a call: right (its result was compared), without a fault (it was not), or what ended it otherwise
JUDGED = ("right", NO_FAULT, "wrong")
STATES = (*JUDGED, "refused", "outside", "error", "not judged")


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something wrong with a call. kind: "result" (another result than the reference), "unwritten", "writes",
    "repeat", "shape", "error", or a check of verify ("oob", "race", ...); finding: what verify says of the
    launch, as its JSON has it."""

    kind: str
    message: str
    kernel: str = ""
    file: str = ""
    line: int = 0
    finding: dict | None = None

    @property
    def same(self) -> tuple:
        """Returns what faults of one cause have in common."""
        return self.kind, self.kernel, self.file, self.line


@dataclasses.dataclass(frozen=True)
class Called:
    """A call that was tried: what it was, and what came of it. sizes, layouts, dtypes, values, repeated,
    huge, config, form: of the case; launches: kernels with their grids."""

    number: int
    case: str
    sizes: dict[str, int]
    layouts: dict[str, str]
    dtypes: dict[str, str]
    values: str
    repeated: bool
    huge: bool
    config: int
    form: int
    state: str
    why: str
    faults: list[Fault]
    launches: list[str]
    seconds: float


@dataclasses.dataclass(frozen=True)
class Found:
    """A fault with the smallest call that shows it. first: the first call that did; count: calls that did;
    tries: calls that were made to get to the smallest."""

    fault: Fault
    case: str
    sizes: dict[str, int]
    layouts: dict[str, str]
    dtypes: dict[str, str]
    values: str
    first: str
    count: int
    tries: int


@dataclasses.dataclass(frozen=True)
class Hint:
    """Something that no right function needs to do, and that makes a comparison or a measurement worthless.
    kind: "returns its input", "lazy result", "no kernel", "idle kernels", "clock", "comparison",
    "writes"."""

    kind: str
    message: str
    case: str = ""


@dataclasses.dataclass(frozen=True)
class Shapes:
    """The verdict on a function: right, no fault found (its results were compared with nothing), wrong or
    unknown; why: what the verdict rests on. forms: what it takes, one text a form of its calls."""

    schema: str
    verdict: str
    function: str
    reference: str | None = dataclasses.field(metadata={"null": True})
    source: str
    forms: list[dict]
    seed: int
    faults: list[Found]
    hints: list[Hint]
    calls: list[Called]
    program: dict
    seconds: float
    environment: dict
    compared: str
    why: list[str]
    strict: bool

    @property
    def status(self) -> int:
        return {"right": 0, NO_FAULT: 125 * self.strict, "wrong": 1, "unknown": 125}[self.verdict]

    def count(self, state: str) -> int:
        return sum(call.state == state for call in self.calls)

    def to_dict(self) -> dict:
        return as_json(self)
