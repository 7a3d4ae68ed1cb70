"""Defines the results of verify() for a launch: the verdict, its findings, its runs and the bits of their
outputs.

The JSON of these is a format of its own (SCHEMA, doc/reference/cases.md)."""

from __future__ import annotations

import dataclasses

from triton_runner._artifact.relaunch import Outcome
from triton_runner._base.generated import Origin
from triton_runner._base.levels import LEVELS, levels_of

SCHEMA = "triton-runner.verify/3"
# The verdicts, from the best to the worst. Without a comparison of the result the best is NO_FAULT.
NO_FAULT = "no fault found"
NONDETERMINISTIC = "nondeterministic"
NO_LAUNCH = "no launch"
FINE = ("right", NO_FAULT, NONDETERMINISTIC)  # nothing is at fault, by themselves
_RANK = (*FINE, NO_LAUNCH, "unknown", "wrong")
# The result of a launch was compared by one of these, from the least to the most: nothing, a check that the
# program itself made and passed after the launch, or a reference that was given for it.
COMPARED = ("none", "program", "reference")


def worst(verdicts) -> str:
    """The worst of several verdicts: wrong, unknown, no launch, nondeterministic, no fault found, right."""
    return max(verdicts, key=_RANK.index, default=NO_LAUNCH)


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
class Change:
    """A change of the kernel that would make the result what it is compared with: a hint at its line."""

    file: str
    line: int
    text: str


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
    changes: list[Change] | None = None
    advice: str | None = None

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
    """The verdict on one launch. written: the arguments whose contents it changed; stores_nothing: no program
    came to a store, so that no comparison depends on the launch; only_tells: its code has no store, and it
    asserts or prints: other launches decide the verdict; compared: one of COMPARED; compared_by: the
    check of the program, or the reference; compile_seconds: the part of `seconds` that Triton's stages took;
    differed_by: a comparison of the program that gave False, and of which nothing came; idle_check: why a
    check of the program does not count as a comparison; origin: the user's line of a kernel that
    torch.compile wrote."""

    kernel: str
    grid: list[int]
    target: str
    levels: list[str]
    findings: list[Finding]
    bits: list[Bits]
    runs: list[Ran]
    not_run: list[NotRun]
    seconds: float
    compile_seconds: float = 0.0
    written: list[str] = dataclasses.field(default_factory=list)
    stores_nothing: bool = False
    only_tells: bool = False
    compared: str = "none"
    compared_by: str | None = None
    differed_by: str | None = None
    idle_check: str | None = None
    verdict: str = ""
    origin: Origin | None = None

    @property
    def run_seconds(self) -> float:
        """The sum of its runs."""
        return sum(run.seconds for run in self.runs)

    @property
    def lowest(self) -> str:
        """The lowest level that was run."""
        ran = {run.level for run in self.runs}
        return next((level for level in reversed(LEVELS) if level in ran), "")

    @property
    def below(self) -> list[str]:
        """The levels of the target below the lowest one that was run, which nothing here judged. LLIR runs as
        the PTX that it becomes."""
        levels = levels_of(self.target)
        return list(levels[levels.index(self.lowest) + 1 :]) if self.lowest in levels else []

    def compared_with(self, compared: str, by: str) -> Judged:
        """The same launch after something compared its result."""
        if COMPARED.index(compared) <= COMPARED.index(self.compared):
            return self
        return dataclasses.replace(self, compared=compared, compared_by=by).settled()

    def settled(self) -> Judged:
        """The same with the verdict that follows from its findings."""
        ran = {run.level for run in self.runs}
        if any(finding.is_fault for finding in self.findings):
            verdict = "wrong"
        elif not ran or not ran >= {*self.levels}:
            verdict = "unknown"
        else:
            is_decided = any(finding.kind == NONDETERMINISTIC for finding in self.findings)
            is_compared = self.compared != "none"
            verdict = NONDETERMINISTIC if is_decided else "right" if is_compared else NO_FAULT
        return dataclasses.replace(self, verdict=verdict)

    def _times(self) -> str:
        """Says what its seconds went to."""
        rest = max(self.seconds - self.run_seconds - self.compile_seconds, 0.0)
        parts = {"runs": self.run_seconds, "compiling": self.compile_seconds, "the rest": rest}
        return f"{self.seconds:.1f} s: " + ", ".join(f"{name} {part:.2f} s" for name, part in parts.items())

    def __str__(self) -> str:
        """The report of the launch."""
        grid = ", ".join(map(str, self.grid))
        how = list(dict.fromkeys(run.how.split(" ")[0] for run in self.runs))
        lines = [
            f"{self.kernel}, grid ({grid}), {self.target}: {self.verdict} ({self._times()})",
            f"  {len(self.runs)} runs at {', '.join(self.levels)}: {', '.join(how)}",
            *([f"  {self.origin}"] if self.origin else []),
        ]
        for finding in self.findings:
            first, *rest = finding.text.splitlines()
            lines.append(f"  {finding.severity}, {finding.check} at {', '.join(finding.levels)}: {first}")
            lines += [f"    {line}" for line in rest]
            if finding.is_fault and finding.advice:
                lines.append(f"    advice: {finding.advice}")
        lines += [
            f"  {bits.argument}: {bits.elements} of {bits.of} elements differ between "
            f"{' and '.join(bits.levels)}, by {float(bits.max_error):.3g} at most, as sums in another order "
            "may"
            for bits in self.bits
            if bits.elements and bits.agrees
        ]
        alike: dict[tuple, list[str]] = {}
        for other in self.not_run:
            alike.setdefault((other.how, other.why), []).append(other.level)
        for (how, why), levels in alike.items():
            first, *rest = why.splitlines()
            what = ", ".join([*levels, how] if how != "plain" else levels)
            lines += [f"  not run: {what}: {first}", *(f"    {line}" for line in rest)]
        return "\n".join(lines)


@dataclasses.dataclass
class Left:
    """The launches that a verdict does not judge. out: those beyond the limit; others: names of kernels that
    were not asked for; empty: launches of no programs, by kernel; timed: launches by which an autotuner
    chooses; elsewhere: launches in processes that the program started; unfinished: what was being judged when
    the process ended."""

    out: int = 0
    others: list[str] = dataclasses.field(default_factory=list)
    empty: dict[str, int] = dataclasses.field(default_factory=dict)
    timed: int = 0
    elsewhere: int = 0
    unfinished: str = ""

    def empty_launch(self, call) -> None:
        """Counts a launch of no programs."""
        self.empty[call.name] = self.empty.get(call.name, 0) + 1

    def lines(self) -> list[str]:
        lines = [
            f"{kernel}: {_launches(count)} of no programs, which Triton leaves out"
            for kernel, count in self.empty.items()
        ]
        whys = {
            "beyond the limit (--launches)": self.out, "by which an autotuner chooses": self.timed,
            "in processes that the program started": self.elsewhere,
        }  # fmt: skip
        return lines + [f"not judged: {_launches(count)} {why}" for why, count in whys.items() if count]


def _launches(count: int) -> str:
    return f"{count} launch{'es' * (count != 1)}"
