"""The result of verify(): a verdict on one or several launches, as an object, as JSON and as a report; and
the judgement of all launches of a program."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os

from triton_runner import _settings
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.loading import load
from triton_runner._artifact.relaunch import of_call
from triton_runner._base.errors import fail
from triton_runner._base.typed import as_json
from triton_runner._case import case, fingerprint, judge, severity, unwritten
from triton_runner._case.results import NONDETERMINISTIC, SCHEMA, Judged, worst
from triton_runner._launch import launchers
from triton_runner._launch.launchers import Call, axes_of, observing, what_else
from triton_runner._memory import uninit
from triton_runner._memory.tracking import track_empty
from triton_runner._pretend.running import run_program
from triton_runner._settings import devices

_nothing = lambda text: None  # noqa: E731
_STATUS = {"right": 0, "wrong": 1, "unknown": 125}


class Verdict:
    """The result of verify().

    - `verdict`: "right", "nondeterministic" (right, but the order of atomics decides an output), "wrong" (a
      check reported something that reaches a result, or levels disagree) or "unknown" (a level could not be
      run).
    - `launches`: a dict for each launch, with kernel, grid, findings, runs, bits, not_run.
    - `findings`: the findings of all launches, faults first.
    - `status`: the exit status of `triton-runner verify`. A Verdict is true where it is 0.
    """

    def __init__(
        self, judged: list[Judged], program: dict | None = None, left_out: int = 0, others=(),
        strict: bool = False,
    ):  # fmt: skip
        self.judged, self.program, self.left_out = judged, program, left_out
        self.strict = strict
        self._others = list(others)  # kernels that were launched but not selected
        verdicts = [judgement.verdict for judgement in judged]
        if program is not None and program["status"]:
            verdicts.append("wrong" if judged else "unknown")  # without a launch no kernel was at fault
        self.verdict = worst(verdicts)

    @property
    def launches(self) -> list[dict]:
        return as_json(self.judged)

    @property
    def findings(self) -> list[dict]:
        all_findings = [finding for judgement in self.judged for finding in judgement.findings]
        return as_json(sorted(all_findings, key=lambda finding: not finding.is_fault))

    @property
    def status(self) -> int:
        if self.verdict == NONDETERMINISTIC:
            return int(self.strict)
        return _STATUS[self.verdict]

    def __bool__(self) -> bool:
        return self.status == 0

    def to_dict(self) -> dict:
        return {
            "schema": SCHEMA, "verdict": self.verdict, "program": self.program,
            "launches": self.launches, "left_out": self.left_out, "environment": fingerprint.taken(),
        }  # fmt: skip

    def to_json(self) -> str:
        """Returns everything as JSON, in the format that the reference describes."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        lines = [str(judgement) for judgement in self.judged]
        if not self.judged:
            others = f" of that name; others were: {', '.join(self._others)}" if self._others else ""
            lines.append(f"no kernel was launched{others}")
        lines += what_else("judged", self.left_out, self.program["status"] if self.program else 0)
        return "\n".join([*lines, f"verdict: {self.verdict}"])

    __repr__ = __str__


def verify(
    kernel, args=(), constexprs=None, *, grid=None, checks=judge.CHECKS, strict=False, target=None,
    assembled=False, say=None,
) -> Verdict:  # fmt: skip
    """Runs one launch at every level, with every check and in different orders, and returns one verdict.

    - `kernel`: a kernel of `triton_runner.jit`, `triton.jit` or `load()`, the path of an artifact, or a case
      (*.trcase), which contains its own arguments and grid.
    - `args`: a list, or a dict by parameter name; the launch does not change them.
    - `constexprs`: keywords of the launch, such as `BLOCK` and `num_warps`.
    - `checks`: of oob, nan, inf, nanload, uninit, race, zerodiv, hints, overflow, hazard; by default all.
      `hazard` is of machine code, with `assembled`.
    - `strict`: treats warnings (findings that reach no output or may be intended) as faults, and makes the
      verdict false if the order of atomics decides an output.
    - `assembled`: judges the machine code too, what ptxas makes of the PTX, executed on the CPU.

    Raises DiagnosticError for a launch that cannot be run.
    """
    _settings.using(check=",".join(checks)).settings()  # raises for one that is none
    if isinstance(kernel, (str, os.PathLike)):
        if case.is_case(kernel):
            return of_case(kernel, checks, strict, say or _nothing, assembled)
        kernel = load(kernel, device="cpu")
    judged: list[Judged] = []

    def see(call: Call, go) -> None:
        judged.append(judge.judge(of_call(call), checks, strict, say or _nothing, assembled))

    if grid is None:
        raise fail("verify needs the grid of the launch", "as in grid=(4,)")
    named = dict(args) if isinstance(args, dict) else {}
    listed = () if named else args
    device = None if isinstance(kernel, ArtifactKernel) else "cpu" if devices.gpu() is None else None
    with observing(see), _settings.using(device=device, target=target):
        kernel[grid](*listed, **named, **(constexprs or {}))
    return Verdict(judged, strict=strict)


def of_case(
    path, checks=judge.CHECKS, strict: bool = False, say=_nothing, assembled=False, costs=None
) -> Verdict:
    """The verdict on the launch of a case."""
    judged = judge.judge(case.open_case(path).subject, checks, strict, say, assembled, costs)
    return Verdict([judged], strict=strict)


class Selection(launchers.Selection):
    """The launches of a program that are judged, by judged_of(call): each combination of compiled kernel,
    grid and argument shapes once, up to `most`. names: only these kernels."""

    def __init__(self, judged_of, names=(), most: int = 16):
        super().__init__(names, most)
        self._judged_of = judged_of
        self.judged: list[Judged] = []

    def see(self, call: Call) -> None:
        key = (id(call.kernel), axes_of(call.grid), tuple(_shape(value) for _, value in call.named))
        self.look(call.name, key, lambda: self.judged.append(self._judged_of(call)))


class Program:
    """A program whose launches are judged while it runs, those of a Selection."""

    def __init__(
        self,
        names=(),
        most: int = 16,
        checks=judge.CHECKS,
        strict: bool = False,
        say=_nothing,
        assembled=False,
        costs=None,
    ):
        self._checks, self._strict = checks, strict
        self._selection = Selection(
            lambda call: judge.judge(of_call(call), checks, strict, say, assembled, costs), names, most
        )

    def run(self, program: str, arguments=(), is_module: bool = False, pretend_cuda: bool = False) -> Verdict:
        """Runs the program and returns the verdict on all its launches and on its exit status, with which a
        program can report errors that the engines do not know. Its own launches run in a fixed order too,
        because later launches use their results."""
        with tracking(self._checks), observing(self._see), _settings.using(threads=1):
            status = run_program(program, list(arguments), is_module, pretend_cuda)
            left = uninit.finish()
        judged = unwritten.added(self._selection.judged, left, self._strict)
        if not status and not self._strict:
            judged = [accepted(judgement) for judgement in judged]
        ended = {"name": program, "status": status or 0}
        others = sorted(self._selection.others)
        return Verdict(judged, ended, self._selection.left_out, others, self._strict)

    def _see(self, call: Call, go) -> None:
        with uninit.paused():
            self._selection.see(call)
        go()


def tracking(checks):
    """A context manager, within which tensors of torch.empty are known if a check needs that."""
    needed = "uninit" in checks and importlib.util.find_spec("torch") is not None
    return track_empty() if needed else contextlib.nullcontext()


def accepted(judged: Judged) -> Judged:
    """The verdict on a launch if the own check of its program passes."""
    findings = severity.accepted(judged.findings) if judged.verdict == "wrong" else None
    return judged if findings is None else dataclasses.replace(judged, findings=findings).settled()


def _shape(value) -> tuple:
    return tuple(getattr(value, "shape", ())), str(getattr(value, "dtype", type(value).__name__))
