"""Declares the verdict on an answer, and its JSON: one row a trial."""

from __future__ import annotations

import dataclasses

VERSION = 1
FORMATS = ("kernelbench", "tritonbench", "backendbench", "plain")  # of tasks (formats.py)
# The closed list, by exit status.
STATUS = {
    "verified": 0, "wrong": 1, "unsafe": 3, "no_kernel": 4, "idle": 5, "cached": 6, "tampered": 7, "error": 8,
    "too_slow": 9, "not_judged": 125,
}  # fmt: skip
VERDICTS = tuple(STATUS)
# An answer with several faults gets the verdict that stands first here.
RANK = (
    "too_slow", "tampered", "error", "cached", "unsafe", "wrong", "no_kernel", "idle", "not_judged",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something that is wrong with an answer.

    - `verdict`: what it makes of the answer; `call`: of which inputs it was seen.
    - `message`: what happened; `advice`: one clause that says what to do.
    - `line`: of the answer; `element`: of a tensor of the result, or of a kernel's tile; None where unknown.
    """

    verdict: str
    message: str
    advice: str
    call: str = "own"
    line: int | None = None
    element: list[int] | None = None
    kernel: str | None = None
    check: str | None = None


@dataclasses.dataclass(frozen=True)
class Case:
    """One call with generated inputs: "right", or one of the verdicts, or "left out" where the reference does
    not take them."""

    inputs: str
    state: str
    message: str | None = None


@dataclasses.dataclass(frozen=True)
class Generated:
    """The second verdict, on inputs that the task does not have: "verified" or the worst of its cases."""

    verdict: str
    cases: list[Case]


@dataclasses.dataclass(frozen=True)
class Cost:
    """CPU seconds of the three processes of a trial, and the most that the answer's may take."""

    answer: float
    broker: float
    reference: float
    limit: float

    @property
    def total(self) -> float:
        return self.answer + self.broker + self.reference


@dataclasses.dataclass(frozen=True)
class Time:
    """The estimated time of all launches of a call. microseconds: None where `why` says what has no estimate;
    error: the mean absolute error that was measured for such launches, 0.1 for 10 %; None: it was not."""

    microseconds: float | None
    error: float | None
    launches: int
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Speed:
    """The estimated times of an answer on a chip, and of the reference as torch.compile makes it."""

    chip: str
    answer: Time
    reference: Time

    @property
    def ratio(self) -> float | None:
        """The reference's time by the answer's."""
        times = [self.reference.microseconds, self.answer.microseconds]
        return times[0] / times[1] if all(times) else None


@dataclasses.dataclass(frozen=True)
class Row:
    """A trial: an answer to a task.

    - `verdict`: one of VERDICTS; `why`: a sentence; `faults`: all of them, that of the verdict first.
    - `generated`: the verdict on generated inputs; None: it was not asked for, or the first is not verified.
    - `scaled`: constants of the task that were made smaller, [was, is]; `sandboxed`: whether the answer had
      no files and no network; `seed`: repeats the trial.
    - `speed`: of a verified answer, where a chip was named.
    """

    version: int
    task: str
    answer: str
    verdict: str
    status: int
    why: str
    faults: list[Fault]
    notes: list[str]
    launches: int
    kernels: list[str]
    seed: int
    sandboxed: bool
    scaled: dict[str, list[int]]
    cost: Cost
    generated: Generated | None = None
    speed: Speed | None = None

    @property
    def label(self) -> str:
        """The verdict with what restricts it."""
        more = [
            word for word, holds in (("scaled", self.scaled), ("unsandboxed", not self.sandboxed)) if holds
        ]
        return f"{self.verdict} ({', '.join(more)})" if more and self.verdict == "verified" else self.verdict
