"""Implements triton_runner.verify(): a verdict on one or several launches, as an object, as JSON and as a
report. The last line of the report is the verdict, and the lines above it say why it is that one."""

from __future__ import annotations

import collections
import dataclasses
import json
import linecache
import os
from collections.abc import Callable

from triton_runner import _settings
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.loading import load
from triton_runner._artifact.relaunch import of_call
from triton_runner._base.errors import fail
from triton_runner._base.levels import levels_of
from triton_runner._base.typed import as_json
from triton_runner._kernel.cases import case, fingerprint, judge
from triton_runner._kernel.cases.results import (
    COMPARED,
    NO_FAULT,
    NONDETERMINISTIC,
    SCHEMA,
    Judged,
    Left,
    worst,
)
from triton_runner._launch import launchers
from triton_runner._launch.launchers import Call, observing
from triton_runner._pretend.running import CRASHES, Ended
from triton_runner._settings import devices
from triton_runner._worker.spelling import option
from triton_runner.verbs.verify import references
from triton_runner.verbs.verify.changes import search

_nothing = lambda text: None  # noqa: E731
_UNCHECKED = (
    "nothing here checks the result: assert what the program prints, or use --reference FILE:FUNCTION"
)
_FAR = "the program measures how far its result is from another tensor, which is not near:"
_INTERRUPTED = 130
# The exit status of each verdict, and with strict.
_STATUS = {"right": (0, 0), NO_FAULT: (0, 125), NONDETERMINISTIC: (0, 1), "wrong": (1, 1)}
_UNJUDGED = (125, 125)
_SHOWN = 4  # checks of the program that are named
_IDLE = "no program of {} stores anything in this launch"
_EACH = (
    "no check here is known to compare every element of the result{}: assert_close(result, expected) of "
    "torch.testing does, and so does --reference FILE:FUNCTION"
)
_HINT = "compare it by an assertion in the program, or by --reference FILE:FUNCTION"


@dataclasses.dataclass(frozen=True)
class JudgedProgram:
    """A program whose launches were judged: its name, and how it ended. differs: lines on the element that
    its own comparison found wrong."""

    name: str
    ended: Ended
    differs: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Returns whether it ended by itself with another status than 0, or a check of it failed aside."""
        stopped = self.ended.how == "killed" and self.ended.message not in CRASHES
        failed = bool(self.ended.status) or self.ended.how == "failed aside"
        return failed and self.ended.how not in ("interrupted", "uncompiled") and not stopped

    @property
    def is_expectation(self) -> bool:
        """Returns whether it ended because of what it expects: by an assertion, or with a status that it
        chose."""
        return self.ended.how in ("exited", "left", "failed aside") or self.ended.error == "AssertionError"

    def why(self) -> list[str]:
        """Explains an end that is not the ordinary one."""
        it = self.ended
        place = f" at {it.file}:{it.line}" if it.file else ""
        source = linecache.getline(it.file, it.line).strip() if it.file else ""
        shown = [f"    {source}"] * bool(source)
        if it.how == "raised":
            first = (it.message or "").strip().partition("\n")[0].removeprefix("error: ")
            if it.error == "KernelTrap":
                return [f"a fault of the launch{place} ended the program: {first}", *shown]
            what = "'s assertion failed" if it.error == "AssertionError" else f"'s own {it.error} ended it"
            what = (
                " ended" if it.error == "DiagnosticError" else what
            )  # what was refused stands in the message
            return [f"the program{what}{place}{': ' + first if first else ''}", *shown]
        if it.how == "failed aside":
            first = (it.message or "").strip().partition("\n")[0]
            what = "assertion" if it.error == "AssertionError" else f"check ({it.error})"
            where = "in a thread or an exit function, which leaves the exit status 0"
            return [f"the program's {what} failed{place}, {where}{': ' + first if first else ''}", *shown]
        if it.how == "uncompiled":
            return [f"cannot be judged: {it.message}"]
        if it.how == "refused":
            return [f"{it.message}{place}", *shown]
        if it.how == "exited" and it.status:
            return [f"the program itself ended with status {it.status}{place}", *shown]
        if it.how == "left":
            return [
                f"the program left this process with status {it.status}, by os._exit() or for another one: "
                "what it does after that is not seen"
            ]
        if it.how == "killed":
            return [f"the program was killed by {it.message}"]
        if it.how == "interrupted":
            return ["the program was interrupted"]
        return []

    def to_json(self) -> dict:
        return {"name": self.name, **as_json(self.ended)}


class Verdict:
    """The result of verify().

    - `verdict`: "right" (nothing is at fault, and something compared the result), "no fault found" (nothing
      compared it), "nondeterministic" (the order of atomics decides an output), "wrong" (a check reported
      something that reaches a result, levels disagree, or a comparison does not hold), "no launch", or
      "unknown" (a level could not be run).
    - `compared`: "none", "program" (a check of the program ran after the launch, and passed) or "reference".
    - `why`: the lines that say why the verdict is that one.
    - `launches`: a dict for each launch, with kernel, grid, findings, runs, bits, not_run, compared.
    - `findings`: the findings of all launches, faults first.
    - `status`: the exit status of `triton-runner verify`. A Verdict is true where it is 0.
    """

    def __init__(
        self, judged: list[Judged], program: JudgedProgram | None = None, left: Left | None = None,
        strict: bool = False, notes=(),
    ):  # fmt: skip
        self.judged, self.program, self.left = judged, program, left or Left()
        self.strict, self._notes = strict, notes  # on references
        results = [one for one in judged if not (one.only_tells and one.verdict == NO_FAULT)] or judged
        verdicts = [one.verdict for one in results]
        if self.left.unfinished or (program is not None and program.ended.status and not program.failed):
            verdicts.append("unknown")
        elif program is not None and program.failed and (judged or program.ended.how == "refused"):
            verdicts.append("wrong")  # else, without a launch, no kernel was at fault
        self.verdict = worst(verdicts)
        self.compared = min((one.compared for one in results), key=COMPARED.index, default="none")

    @property
    def _is_interrupted(self) -> bool:
        return self.program is not None and self.program.ended.how == "interrupted"

    @property
    def launches(self) -> list[dict]:
        return as_json(self.judged)

    @property
    def findings(self) -> list[dict]:
        all_findings = [finding for judgement in self.judged for finding in judgement.findings]
        return as_json(sorted(all_findings, key=lambda finding: not finding.is_fault))

    @property
    def status(self) -> int:
        if self._is_interrupted:
            return _INTERRUPTED
        return _STATUS.get(self.verdict, _UNJUDGED)[self.strict]

    def __bool__(self) -> bool:
        return self.status == 0

    def to_dict(self) -> dict:
        return {
            "schema": SCHEMA, "verdict": self.verdict, "compared": self.compared, "why": self.why,
            "program": self.program and self.program.to_json(), "launches": self.launches,
            "left_out": self.left.out, "not_judged": as_json(self.left), "environment": fingerprint.taken(),
        }  # fmt: skip

    def to_json(self) -> str:
        """Returns everything as JSON, in the format that the reference describes."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        lines = [str(judgement) for judgement in self.judged]
        return "\n".join([*lines, *self.left.lines(), *self._depth(), *self.why, f"verdict: {self.verdict}"])

    __repr__ = __str__

    # --- why

    @property
    def why(self) -> list[str]:
        lines = self.program.why() if self.program is not None else []
        if self.left.unfinished:
            lines.append(f"{self.left.unfinished} was being judged then")
        if not self.judged:
            others = self.left.others
            names = f" of that name; others were: {', '.join(others)}" if others else ""
            is_launched = self.left.timed or self.left.elsewhere
            return [*lines, "no launch was judged" if is_launched else f"no kernel was launched{names}"]
        return [*lines, *self._notes, *self._by_verdict()]

    def _by_verdict(self) -> list[str]:
        if self.verdict == "wrong":
            return self._of_wrong()
        if self.verdict == NONDETERMINISTIC:
            return [f"the order of atomics decides an output of {_names(self._all(NONDETERMINISTIC))}"]
        if self.verdict == "right":
            by: dict[str, dict] = {}
            for one in self._all("right"):
                by.setdefault(one.compared, {})[one.compared_by] = None
            return [f"the result was compared by {_some(names, kind)}" for kind, names in by.items()]
        if self.verdict == NO_FAULT:
            idle = [one for one in self._all(NO_FAULT) if one.stores_nothing]
            told = [f"{_IDLE.format(_names(idle))}, so that no comparison depends on it"] if idle else []
            these = [one for one in self._all(NO_FAULT) if not one.stores_nothing]
            if not these:
                return told
            of = "" if len(these) == len(self.judged) else f" of {_names(these)}"
            differed = dict.fromkeys(one.differed_by for one in these if one.differed_by)
            lines = [f"the program's {by} gave False, and the program passes all the same" for by in differed]
            lines += dict.fromkeys(f"{one.kernel}: {one.idle_check}" for one in these if one.idle_check)
            some = _EACH.format(of) if lines else f"nothing here compares the result{of}: {_HINT}"
            lines.append(_UNCHECKED if differed else some)
            differs = self.program.differs if self.program is not None else ()
            return [*told, *lines, *([_FAR, *differs] if differs else [])]
        return [
            f"{one.kernel} could not be judged: {run.level}, {run.how}: {run.why.splitlines()[0]}"
            for one in self._all("unknown") for run in one.not_run[:1]
        ]  # fmt: skip

    def _of_wrong(self) -> list[str]:
        idle = [one for one in self.judged if one.stores_nothing and not one.only_tells]
        return [*([_IDLE.format(_names(idle))] if idle else []), *self._faults()]

    def _faults(self) -> list[str]:
        faults = collections.Counter(
            f"{finding.check} in {one.kernel}{f' at {finding.file}:{finding.line}' if finding.file else ''}"
            for one in self.judged for finding in one.findings if finding.is_fault
        )  # fmt: skip
        if faults:
            lines = [f"fault: {what}" + (f" ({n} times)" if n > 1 else "") for what, n in faults.items()]
            is_unwritten = all(what.startswith("uninit in") for what in faults)
            return [*lines, *(self.program.differs if is_unwritten and self.program is not None else ())]
        if any(one.verdict not in ("right", NO_FAULT) for one in self.judged):
            return [*self.program.differs]
        same = "every level gives the same, and no check finds a fault"
        if self.program.is_expectation:
            same += ": the kernel, and not the compiler, computes what the program does not expect"
        return [same, *self.program.differs]

    def _all(self, verdict: str) -> list[Judged]:
        return [one for one in self.judged if one.verdict == verdict]

    def _depth(self) -> list[str]:
        """Says what was judged, and what was not: a line for each set of levels."""
        return list(dict.fromkeys(_judged_at(one) for one in self.judged if one.lowest))


@dataclasses.dataclass(frozen=True)
class Judge:
    """How launches are judged: what verify() was asked for. references: what their results are compared with;
    costs(launch): what a launch is sure to lose time to."""

    checks: tuple = judge.CHECKS
    strict: bool = False
    say: Callable = _nothing
    assembled: bool = False
    costs: Callable | None = None
    references: tuple = ()

    def of_call(self, call: Call) -> Judged:
        """The verdict on a launch that is about to run."""
        return self.of_launch(of_call(call), launchers.constants_of(getattr(call.kernel, "src", None)))

    def of_launch(self, launch, constants=None) -> Judged:
        """The verdict on a launch. constants: of its kernel, by parameter."""
        expected = [reference.of(launch, constants or {}) for reference in self.references]
        expected = [*filter(None, expected)]
        judged = judge.judge(launch, self.checks, self.strict, self.say, self.assembled, self.costs, expected)
        for one in expected:
            judged = _with_changes(judged, launch, one, self.say)
        return judged


def _with_changes(judged: Judged, launch, expected: references.Expected, say: Callable) -> Judged:
    """The same verdict, with changes of the kernel that make it leave what a reference leaves: where nothing
    else is at fault, and of each kernel once."""
    faults = [finding for finding in judged.findings if finding.is_fault]
    if not faults or any(finding.check != "reference" for finding in faults):
        return judged
    if judged.kernel in expected.reference.searched:
        return judged
    expected.reference.searched.add(judged.kernel)
    wanted = {name: array for name, array in expected.arrays.items() if name in judged.written}
    found = search.of_reference(launch, wanted, faults[0].argument, say)
    if not found:
        return judged
    said = faults[0].saying("\n".join(search.lines(found)), changes=search.changes(found))
    findings = [said if finding is faults[0] else finding for finding in judged.findings]
    return dataclasses.replace(judged, findings=findings)


def _judged_at(one: Judged) -> str:
    """Says at which levels a launch ran here, at which it did not, and whether a GPU ran it."""
    ran = {run.level for run in one.runs}
    binary = levels_of(one.target)[-1]
    is_on_gpu = binary in ran and devices.gpu() is not None
    levels = [
        level for level in levels_of(one.target) if level in ran and not (is_on_gpu and level == binary)
    ]
    line = f"judged at {', '.join(levels)} on the CPU"
    if is_on_gpu:
        return f"{line}, and on the GPU"
    left = f"not at {', '.join(one.below)}{' (--assembled)' * (one.below == [binary])}, " if one.below else ""
    return f"{line}; {left}not on a GPU"


def _some(names, kind: str) -> str:
    """Names what compared results: all, or the first of many."""
    shown = [*names][:_SHOWN] + [f"{len(names) - _SHOWN} more"] * (len(names) > _SHOWN)
    return f"{'the program: ' * (kind == 'program')}{', '.join(shown)}"


def _names(judged: list[Judged]) -> str:
    return ", ".join(dict.fromkeys(one.kernel for one in judged))


def verify(
    kernel, args=(), constexprs=None, *, grid=None, checks=judge.CHECKS, strict=False, target=None,
    assembled=False, reference=None, say=None,
) -> Verdict:  # fmt: skip
    """Runs one launch at every level, with every check and in different orders, and returns one verdict.

    - `kernel`: a kernel of `triton_runner.jit`, `triton.jit` or `load()`, the path of an artifact, or a case
      (*.trcase), which contains its own arguments and grid.
    - `args`: a list, or a dict by parameter name; the launch does not change them.
    - `constexprs`: keywords of the launch, such as `BLOCK` and `num_warps`.
    - `checks`: of oob, nan, inf, nanload, uninit, race, zerodiv, hints, overflow, view, hazard; by default
      all. `hazard` is of machine code, with `assembled`.
    - `strict`: treats warnings (findings that reach no output or may be intended) as faults, and makes the
      verdict false if the order of atomics decides an output, or if nothing compared the result.
    - `assembled`: judges the machine code too (a cubin by ptxas, an hsaco), executed on the CPU.
    - `reference`: a function with parameters of the kernel that does with torch or NumPy what the kernel
      does. It is called with copies of the arguments, and what it leaves in them is compared.

    Raises DiagnosticError for a launch that cannot be run.
    """
    _settings.using(check=",".join(checks)).settings()  # raises for an unknown check
    how = Judge(tuple(checks), strict, say or _nothing, assembled, None, references.listed(reference))
    if isinstance(kernel, (str, os.PathLike)):
        if case.is_case(kernel):
            return of_case(kernel, how)
        kernel = load(kernel, device="cpu")
    judged: list[Judged] = []
    left = Left()

    @launchers.sees_empty
    def see(call: Call, go) -> None:
        if call.is_empty:
            left.empty_launch(call)
        else:
            judged.append(how.of_call(call))

    if grid is None:
        raise fail("verify needs the grid of the launch", f"as in {option('grid', '4', '(4,)')}")
    named = dict(args) if isinstance(args, dict) else {}
    listed = () if named else args
    device = None if isinstance(kernel, ArtifactKernel) else "cpu" if devices.gpu() is None else None
    with observing(see), _settings.using(device=device, target=target):
        kernel[grid](*listed, **named, **(constexprs or {}))
    return Verdict(judged, left=left, strict=strict, notes=references.notes(how.references))


def of_case(path, how: Judge) -> Verdict:
    """The verdict on the launch of a case."""
    return Verdict([how.of_launch(case.open_case(path).subject)], strict=how.strict)
