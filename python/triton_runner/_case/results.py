"""The results of verify() for a launch: the verdict, its findings, its runs and the bits of their outputs.

The JSON of these is a format of its own (SCHEMA, doc/reference/cases.md)."""

from __future__ import annotations

import dataclasses

from triton_runner._artifact.relaunch import Outcome

SCHEMA = "triton-runner.verify/2"
NONDETERMINISTIC = "nondeterministic"
_RANK = ("right", NONDETERMINISTIC, "unknown", "wrong")


def worst(verdicts) -> str:
    """The worst of several verdicts: wrong, unknown, nondeterministic, right."""
    return max(verdicts, key=_RANK.index, default="unknown")


@dataclasses.dataclass(frozen=True)
class Bits:
    """The difference of an argument between two runs. agrees: noise explains it; allowed: the largest
    difference that noise explains, in the array's unit; element, numbers: the first element beyond that, or
    else the first that differs."""

    argument: str
    bits_equal: bool
    agrees: bool
    elements: int
    of: int | None = None
    max_error: float | str | None = None
    allowed: float | None = None
    element: list[int] | None = None
    numbers: list[float | int | bool | str] | None = None
    levels: list[str] | None = None


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that is wrong or may be. text: the whole report; the reference describes the other fields."""

    check: str
    severity: str
    levels: list[str]
    kind: str
    message: str
    file: str
    line: int
    argument: str
    text: str
    column: int | None = None
    op: str | None = None
    value: str | None = None
    program: list[int] | None = None
    element: list[int] | None = None
    iterations: list[int] | None = None
    place: str | None = None
    notes: list[str] | None = None
    how: str | None = None
    evidence: Bits | dict | None = None
    why: str | None = None
    reaches: str | None = None
    lines: list[dict] | None = None
    cause: str | None = None
    copies: list[dict] | None = None
    diverged: dict | None = None

    @property
    def is_fault(self) -> bool:
        return self.severity == "fault"

    def at(self, level: str) -> Finding:
        """The same finding, at one more level."""
        return self if level in self.levels else dataclasses.replace(self, levels=[*self.levels, level])

    def saying(self, text: str, **more) -> Finding:
        """The same finding with one more line in its report. more: other fields."""
        return dataclasses.replace(self, text=f"{self.text}\n{text}", **more)

    def warned(self, why: str, is_fault: bool = False) -> Finding:
        """The same finding as a warning with a reason. is_fault: it remains a fault."""
        return self.saying(why, why=why, severity="fault" if is_fault else "warning")


@dataclasses.dataclass(frozen=True)
class Ran:
    """A run. outputs: a hash of each argument that it changed."""

    level: str
    how: str
    seconds: float
    outputs: dict[str, str]
    trap: str | None

    @classmethod
    def of(cls, run: Outcome) -> Ran:
        hashes, trap = run.contents.hashes, str(run.trap) if run.trap else None
        return cls(run.level, run.how, round(run.seconds, 4), hashes, trap)


@dataclasses.dataclass(frozen=True)
class NotRun:
    """A run that was not possible, and why."""

    level: str
    how: str
    why: str


@dataclasses.dataclass(frozen=True)
class Judged:
    """The verdict on one launch."""

    kernel: str
    grid: list[int]
    target: str
    levels: list[str]
    findings: list[Finding]
    bits: list[Bits]
    runs: list[Ran]
    not_run: list[NotRun]
    seconds: float
    verdict: str = ""

    def settled(self) -> Judged:
        """The same with the verdict that follows from its findings."""
        ran = {run.level for run in self.runs}
        if any(finding.is_fault for finding in self.findings):
            verdict = "wrong"
        elif not ran or not ran >= {*self.levels}:
            verdict = "unknown"
        else:
            is_decided = any(finding.kind == NONDETERMINISTIC for finding in self.findings)
            verdict = NONDETERMINISTIC if is_decided else "right"
        return dataclasses.replace(self, verdict=verdict)

    def __str__(self) -> str:
        """The report of the launch."""
        grid = ", ".join(map(str, self.grid))
        how = list(dict.fromkeys(run.how.split(" ")[0] for run in self.runs))
        lines = [
            f"{self.kernel}, grid ({grid}), {self.target}: {self.verdict} ({self.seconds:.1f} s)",
            f"  {len(self.runs)} runs at {', '.join(self.levels)}: {', '.join(how)}",
        ]
        for finding in self.findings:
            first, *rest = finding.text.splitlines()
            lines.append(f"  {finding.severity}, {finding.check} at {', '.join(finding.levels)}: {first}")
            lines += [f"    {line}" for line in rest]
        lines += [
            f"  {bits.argument}: {bits.elements} of {bits.of} elements differ between "
            f"{' and '.join(bits.levels)}, by {bits.max_error:.3g} at most, as sums in another order may"
            for bits in self.bits
            if not bits.bits_equal and bits.agrees
        ]
        lines += [f"  not run: {o.level}, {o.how}: {o.why.splitlines()[0]}" for o in self.not_run]
        return "\n".join(lines)
