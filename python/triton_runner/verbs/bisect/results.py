"""Defines the results of bisection: faults with their passes and evidence. The command's JSON is made of
these."""

from __future__ import annotations

import dataclasses
import os

from triton_runner._base.typed import FLAT, NULL
from triton_runner._kernel.compiling.crashes import Crash, NamedPass, Refused
from triton_runner.verbs.bisect.classes import Differs

MEANS = ("execution", "leave-out", "splice")


@dataclasses.dataclass(frozen=True)
class Oracle:
    """The measure that decides that a kernel is wrong: "wrong", "callable", "program" with its path, or a
    measure and its bound. name: the instruction that is counted; chip: on which cycles are estimated; than:
    of "cycles", the release with so many cycles (`base`), of which `bound` is a multiple."""

    kind: str
    name: str | None = None
    compare: str | None = None
    bound: float | None = None
    path: str | None = None
    chip: str | None = None
    than: str | None = None
    base: float | None = None

    def __str__(self) -> str:
        """The oracle as the user wrote it, without folders."""
        if self.than:
            return f"slower>{self.bound / self.base:g}"
        if self.compare:
            return f"{f'instr:{self.name}' if self.name else self.kind}{self.compare}{self.bound:g}"
        return os.path.basename(self.path) if self.path else self.kind


@dataclasses.dataclass(frozen=True)
class KernelLaunch:
    """A launch of a kernel as it is sent to a worker: arguments as texts of `exec`, or {"array": packed}.
    reference: the expected arrays afterwards."""

    arguments: list
    grid: list
    constexprs: dict
    options: dict
    oracle: Oracle
    reference: dict | None = None

    @classmethod
    def of(cls, told: dict) -> KernelLaunch:
        return cls(**{**told, "oracle": Oracle(**told["oracle"])})


@dataclasses.dataclass(frozen=True)
class Step:
    """A pass in the form of plans: the nth with its name in a stage. others: passes before it that could not
    be judged."""

    stage: str
    add: str
    nth: int = 1
    others: tuple = dataclasses.field(default=(), compare=False)

    @property
    def selector(self) -> dict:
        return {"adds": [self.add], "nth": self.nth, "stage": self.stage}

    def __str__(self) -> str:
        return short_name(self.add)


def short_name(add: str) -> str:
    return add.rpartition(".")[2]


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The place where a result is wrong, or where the engine stopped. said: the last lines that the program
    printed. differs: the difference between an array of a launch and the expected one (`than`)."""

    file: str
    op: str | None = dataclasses.field(default=None, metadata=NULL)
    line: int | None = dataclasses.field(default=None, metadata=NULL)
    element: list[int] | None = dataclasses.field(default=None, metadata=NULL)
    got: float | int | bool | str | None = dataclasses.field(default=None, metadata=NULL)
    want: float | int | bool | str | None = dataclasses.field(default=None, metadata=NULL)
    said: list[str] = dataclasses.field(default_factory=list)
    differs: Differs | None = dataclasses.field(default=None, metadata=FLAT)
    kernel: str | None = None
    argument: str | int | None = None
    launch: int | None = None
    launches: int | None = None
    than: str | None = None

    @classmethod
    def of_trap(cls, program: str, place, printed: list[str] | None = None) -> Evidence:
        """The place where the engine, or a check of it, stopped a program; place: of a trial."""
        known = {name: at for name, at in vars(place).items() if at is not None}
        return cls(**{"file": program, "said": printed or [], **known})

    def at(self, op) -> Evidence:
        """The same evidence, at the location of an op."""
        file, line = op.location.file or self.file, op.location.line or None
        return dataclasses.replace(self, op=op.name, file=file, line=line)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else ""
        if self.differs is None:
            return f"  {place}{self.op or 'it stops here'}" if place else ""
        differs = self.differs
        element = ", ".join(map(str, differs.element or ()))
        than = ("with " if self.than.startswith("Triton") else "") + self.than
        size = f", by at most {differs.size:.3g} of the largest" if differs.size is not None else ""
        return (
            f"  {place}{self.op or 'an array'}: {self.argument}[{element}] of kernel '{self.kernel}' is "
            f"{differs.got!r}, and {differs.want!r} {than}\n"
            f"  launch {self.launch + 1} of {self.launches} differs first; {differs.elements} of "
            f"{differs.of} elements differ ({differs.class_}{size})"
        )


@dataclasses.dataclass(frozen=True)
class Unjudged:
    """A release that could not be judged."""

    version: str
    why: str


@dataclasses.dataclass(frozen=True)
class Releases:
    """The releases by their verdicts. crashed: the compiler fails; refused: its front end refuses the
    kernel."""

    wrong: list[str]
    right: list[str]
    unknown: list[Unjudged]
    crashed: list[Crash] | None = None
    refused: list[Refused] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompilerFault:
    """A fault of consecutive releases. levels: the verdict at each level; conditions: settings that show the
    fault if the default timing hides it; faults: those of Found."""

    verdict: str
    release: Releases | None = None
    level: str | None
    stage: str | None
    pass_: NamedPass | None
    confirmed_by: list[str]
    evidence: list[Evidence]
    faults: list | None = None
    notes: list[str]
    levels: dict[str, str] | None = None
    spliced_with: str | None = None
    conditions: list[dict] | None = None
    crash: Crash | None = None
    refused: Refused | None = None

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        if self.crash:
            return f"{'cannot be judged: ' * (self.verdict == 'unknown')}{self.crash.headline}"
        if self.refused:
            who = (
                "the kernel is refused by the front end"
                if self.verdict == "kernel"
                else "the front end refuses it"
            )
            return f"{who}: {self.refused}"
        if self.verdict in _SAID:
            return _SAID[self.verdict]
        if self.verdict in ("front end", "kernel"):
            return f"the initial IR is wrong already: {self.verdict}"
        if self.level is None:
            return "wrong, and none of its levels and passes was found to make it so"
        where = f"first wrong at {self.level}"
        if self.pass_:
            return f"{where}, in {self.stage}, pass {self.pass_.name} ({self.pass_.argument})"
        return f"{where}{', in ' + self.stage if self.stage else ''}"

    def said(self) -> list[str]:
        """The compiler's message about a kernel that it does not compile, or the line with a caret."""
        return (self.crash or self.refused).lines() if self.crash or self.refused else []


_SAID = {
    "right": "right in every release that was judged", "unknown": "cannot be told",
    "hardware": "hardware: the target rounds more coarsely than the program expects",
    "undefined": "undefined: the result depends on behaviour that the kernel does not define",
    "nondeterministic": "nondeterministic: the result depends on the order of atomics",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Found(CompilerFault):
    """The result of bisection: the newest fault (or the verdict, if there is no fault) and all faults.
    reproducer: the folder that --save wrote."""

    target: str
    runs: int
    reproducer: str | None = None

    def page(self, name: str) -> str:
        """The report, to be pasted into an issue. name: the program's."""
        lines = [f"{name}: {self.headline}", ""]
        for kind in ("wrong", "right"):
            if releases := getattr(self.release, kind):
                lines.append(f"{kind:<8} {', '.join(releases)}")
        lines += [
            f"unknown  {release.version}: {release.why.splitlines()[0]}" for release in self.release.unknown
        ]
        released = self.release
        lines += [f"crashes  {each.version}: {each}" for each in released.crashed or ()]
        lines += [f"refused  {each.version}: {each}" for each in released.refused or ()]
        if not self.faults:
            lines += self.said()
            lines += ["", *(f"note: {note}" for note in self.notes)] if self.notes else []
            lines += filter(None, map(str, self.evidence))
        for fault in reversed(self.faults):
            lines += ["", f"Triton {fault.release.wrong[-1]}, {self.target}: {fault.headline}"]
            if fault.confirmed_by:
                spliced = f" with Triton {fault.spliced_with}" if "splice" in fault.confirmed_by else ""
                lines.append(f"  found by {' and '.join(fault.confirmed_by)}{spliced}")
            if fault.levels:
                names = {"source": "front end's TTIR"}
                verdicts = (f"{names.get(level, level)} {verdict}" for level, verdict in fault.levels.items())
                lines.append("  " + ", ".join(verdicts))
            lines += fault.said()
            lines += [f"  {note}" for note in fault.notes]
            lines += filter(None, map(str, fault.evidence))
            lines += [f"  | {line}" for evidence in fault.evidence for line in evidence.said]
        if self.reproducer:
            lines += ["", f"to see it again: sh {self.reproducer}/run.sh"]
        return "\n".join(lines)
