"""Defines the results of `bisect --torch`. The command's JSON is made of these."""

from __future__ import annotations

import dataclasses

from triton_runner._base.typed import NULL
from triton_runner.verbs.bisect.inductor.compiled import Line, Parting
from triton_runner.verbs.bisect.inductor.switches import SUBSYSTEMS
from triton_runner.verbs.bisect.results import CompilerFault


@dataclasses.dataclass(frozen=True)
class Cause:
    """The part of torch.compile without which the program is right. kind: a subsystem of switches.py, or
    "setting"; name: of the application, or the setting as it is written; number and of: which application
    makes it wrong, counted from 1, of how many."""

    kind: str
    name: str
    number: int | None = None
    of: int | None = None

    def __str__(self) -> str:
        if self.kind == "setting":
            return f"right with {self.name}"
        return f"{SUBSYSTEMS[self.kind]} {self.number} of {self.of}: {self.name}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judged:
    """The verdict on one release of torch.

    - `verdict`: "right", "program" (wrong without torch.compile), "dynamo", "aot", "decomposition",
      "inductor", "backend" (the program's own), "compiler" (Triton), "undefined" (a race), "rounding",
      "random" (Inductor draws other numbers than eager), "not compiled" or "unknown".
    - `is_crash`: the part fails, instead of being wrong.
    - `stages`: the verdict of each stage that ran; `levels`: of each level of Triton.
    - `cause`: the pass, fusion, lowering or setting; `parting`: the first value that differs.
    - `line`, `node`, `kernel`: the answer, as far as it is known.
    - `fault`: the bisection of Triton's passes, where Triton is at fault.
    """

    torch: str
    triton: str
    verdict: str
    headline: str
    is_crash: bool = False
    stages: dict[str, str] = dataclasses.field(default_factory=dict)
    cause: Cause | None = dataclasses.field(default=None, metadata=NULL)
    others: list[Cause] = dataclasses.field(default_factory=list)
    parting: Parting | None = dataclasses.field(default=None, metadata=NULL)
    node: str | None = dataclasses.field(default=None, metadata=NULL)
    kernel: str | None = dataclasses.field(default=None, metadata=NULL)
    line: Line | None = dataclasses.field(default=None, metadata=NULL)
    levels: dict[str, str] | None = None
    fault: CompilerFault | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    said: list[str] = dataclasses.field(default_factory=list)
    graphs: int = 0
    compared: int = 0
    runs: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class TorchFound:
    """The result of `bisect --torch`: the verdict on the newest release that is wrong, or else on the newest
    that was judged; and on each."""

    verdict: str
    program: str
    target: str
    releases: list[Judged]

    @property
    def main(self) -> Judged:
        """The release whose verdict this is."""
        return next(one for one in reversed(self.releases) if one.verdict == self.verdict)
