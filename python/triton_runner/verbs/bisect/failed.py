"""Judges releases that do not compile a kernel of the program: whose fault is that?

A compiler that fails where another release compiles the kernel is at fault; if none compiles it, nothing can
be judged. A front end that refuses the kernel says that the kernel is at fault, unless an older release takes
it."""

from __future__ import annotations

import dataclasses

from triton_runner._kernel.compiling.crashes import Crash, Refused
from triton_runner.verbs.bisect.results import CompilerFault, Evidence
from triton_runner.verbs.bisect.runs import Release
from triton_runner.verbs.bisect.trial import Trial

_LEVELS = {"source": "ttir"}  # the level of the fault, where the front end is at it


@dataclasses.dataclass(frozen=True)
class Uncompiled:
    """The releases that do not compile a kernel. faults: [(releases, fault)]; instead: the verdict where no
    release compiles it."""

    crashed: list[Crash]
    refused: list[Refused]
    faults: list
    instead: CompilerFault | None

    @property
    def versions(self) -> set[str]:
        return {each.version for each in (*self.crashed, *self.refused)}


def uncompiled(
    wanted: list[str], judged: dict[str, Trial], releases: dict[str, Release], name: str
) -> Uncompiled:
    """The releases among those wanted that do not compile a kernel. name: the program's."""
    crashed, refused = {}, {}
    for version in wanted:
        failure = judged[version].failure
        if failure is not None and failure.is_kernels:
            refused[version] = Refused.of(version, failure)
        elif failure is not None:
            release = releases[version]
            crashed[version] = Crash.of(version, failure, release.reproducer(judged[version]))
    able = [
        v
        for v in wanted
        if judged[v].failure is None and (judged[v].kernels or judged[v].verdict != "unknown")
    ]
    faults = []
    for run in _runs(wanted, crashed) if able else ():
        faults.append((run, _fault("compiler", name, crash=crashed[run[-1]])))
    for run in _runs(wanted, refused):
        if any(wanted.index(version) < wanted.index(run[0]) for version in able):
            faults.append((run, _fault("front end", name, refused=refused[run[-1]])))
    instead = None
    if not able and crashed:
        instead = _fault("unknown", name, crash=crashed[[*crashed][-1]])
    elif not able and refused and len(refused) == len(wanted):
        newest = [*refused][-1]
        instead = _fault("kernel", name, refused=refused[newest])
    return Uncompiled([*crashed.values()], [*refused.values()], faults, instead)


def _runs(wanted: list[str], failed: dict) -> list[list[str]]:
    """Consecutive releases among those that fail."""
    runs: list[list[str]] = []
    for before, version in zip([None, *wanted], wanted, strict=False):
        if version in failed:
            if before not in failed:
                runs.append([])
            runs[-1].append(version)
    return runs


def _fault(
    verdict: str, name: str, crash: Crash | None = None, refused: Refused | None = None
) -> CompilerFault:
    level = _LEVELS.get(crash.level, crash.level) if crash else "ttir"
    return CompilerFault(
        verdict=verdict, level=level, stage=crash and crash.stage, pass_=crash and crash.pass_,
        confirmed_by=[], evidence=[Evidence(name, kernel=(crash or refused).kernel or None)], notes=[],
        crash=crash, refused=refused,
    )  # fmt: skip
