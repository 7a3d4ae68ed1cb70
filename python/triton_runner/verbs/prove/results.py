"""Declares the results of `prove`: of each kernel an answer for each property.

The JSON of these is a format of its own (SCHEMA)."""

from __future__ import annotations

import dataclasses

SCHEMA = "triton-runner.prove/1"
PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"
NOTHING = "nothing to prove"

# The properties, as --property names them, and what is proved where they hold.
PROPERTIES = {
    "bounds": "each access is inside of its argument",
    "overflow": "no address, mask or loop bound overflows",
    "disjoint": "no two programs meet at an element, but by atomics",
    "covered": "each element of an output is written",
    "division": "no division by zero",
    "ends": "counted loops end",
    "buffers": "what is in flight to shared memory is waited for",
    "refines": "the TTGIR accesses no element that the TTIR does not",
}


@dataclasses.dataclass(frozen=True)
class Assumed:
    """An assumption and where it comes from."""

    text: str
    place: str


@dataclasses.dataclass(frozen=True)
class Reason:
    """A reason why a proof stopped, or a fault, with its line."""

    text: str
    file: str = ""
    line: int = 0


def reason_at(text: str, place) -> Reason:
    """A reason with the line of an op's place (facts.py)."""
    return Reason(text, place.file, place.line)


@dataclasses.dataclass(frozen=True)
class CounterExample:
    """A launch that the engine ran. arguments: numbers by parameter, of tensors their elements; grid; report:
    what the engine said of it; command: runs it again."""

    arguments: dict
    grid: list[int]
    report: str
    file: str = ""
    line: int = 0


@dataclasses.dataclass(frozen=True)
class Answer:
    """verdict: proved, refuted, unknown, "nothing to prove". count: of accesses, loops, divisions, outputs
    that were looked at. assumptions: those of this answer alone."""

    property: str
    verdict: str
    count: int
    reasons: list[Reason]
    counter_example: CounterExample | None = None
    seconds: float = 0.0
    assumptions: list[Assumed] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Proof:
    """The verdicts about one kernel. contradictory: the assumptions that cannot hold together, with which
    everything would be proved."""

    kernel: str
    target: str
    assumptions: list[Assumed]
    answers: list[Answer]
    contradictory: list[Assumed]
    seconds: float

    @property
    def verdicts(self) -> set:
        return {answer.verdict for answer in self.answers}


@dataclasses.dataclass(frozen=True)
class Proofs:
    """All kernels. status: the program's; left_out: launches that were not looked at, and why; broken: the
    words of --given that a launch of the program goes against."""

    schema: str
    proofs: list[Proof]
    left_out: list[Reason]
    status: int
    broken: list[Reason] = dataclasses.field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """1 something is refuted, or the program failed; 3 assumptions contradict each other, or a launch; 4
        something is unknown; 125 no kernel; else 0."""
        if self.status or any(REFUTED in proof.verdicts for proof in self.proofs):
            return 1
        if self.broken or any(proof.contradictory for proof in self.proofs):
            return 3
        if any(UNKNOWN in proof.verdicts for proof in self.proofs):
            return 4
        return 0 if self.proofs else 125
