"""triton_runner.verify: is a launch right? All levels, all checks, programs in other orders, copies that land
early and late, the bits between levels and on a GPU, in one verdict with its evidence.

The dict that it gives is a format of its own (SCHEMA, doc/reference/cases.md): fields are added under the
same number, and change their meaning under a new one only.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import time

import numpy

from triton_runner import _device, _lockstep, _settings
from triton_runner._case.subject import Run, Subject
from triton_runner._errors import DiagnosticError
from triton_runner._levels import MLIR

SCHEMA = "triton-runner.verify/1"
CHECKS = ("oob", "nan", "inf", "nanload", "uninit", "race", "zerodiv", "hints")
# What may be meant: infinities that a kernel computes with, NaNs that its inputs bring, promises that
# wrap-around breaks where no result depends on it.
_MAY_BE_MEANT = {"inf", "nanload", "hints"}
# PTX does not say what they look at.
_MLIR_ONLY = {"nanload", "hints"}
_SEEDS = (1, 2)
_TIMINGS = ("eager", "late")
_RANK = ("right", "unknown", "wrong")


def worst(verdicts) -> str:
    """The verdict of several: wrong before unknown before right."""
    return max(verdicts, key=_RANK.index, default="unknown")


class _Judge:
    """One launch on its way through all runs."""

    def __init__(self, subject: Subject, checks, strict: bool, say):
        self.subject, self.checks, self.strict, self.say = subject, checks, strict, say
        self.findings: list[dict] = []
        self.runs: list[dict] = []
        self.not_run: list[dict] = []
        self.bits: list[dict] = []
        self.plain: dict[str, Run] = {}

    # --- runs

    def run(self, level: str, how: str = "plain", **settings) -> Run | None:
        """A run that is noted; None where it cannot be done."""
        self.say(f"{self.subject.name}: {level}, {how}")
        try:
            run = self.subject.run(level, how, **settings)
        except DiagnosticError as error:
            self.not_run.append({"level": level, "how": how, "why": error.message})
            return None
        self._note(run)
        return run

    def _note(self, run: Run) -> None:
        outputs = {
            n: hashlib.sha256(a.tobytes()).hexdigest()[:16] for n, a in self.subject.arrays(run).items()
        }
        self.runs.append(
            {"level": run.level, "how": run.how, "seconds": round(run.seconds, 4), "outputs": outputs,
             "trap": str(run.trap) if run.trap else None}
        )  # fmt: skip

    def each_level(self) -> None:
        for level in self.subject.levels:
            run = self.run(level)
            if run is None:
                continue
            if run.trap:
                self._trapped("oob" if run.trap.kind == "out of bounds" else "trap", run)
            else:
                self.plain[level] = run

    def all_checks(self) -> None:
        """All at once; where that stops, each for itself, as a report ends a run."""
        for level in self.plain:
            wanted = [c for c in self.checks if level in MLIR or c not in _MLIR_ONLY]
            if not wanted:
                continue
            run = self.run(level, "check " + ",".join(wanted), check=",".join(wanted))
            if run is None or run.trap is None:
                continue
            found = False
            for one in wanted:
                alone = self.run(level, f"check {one}", check=one)
                if alone is not None and alone.trap:
                    self._trapped(one, alone)
                    found = True
            if not found:
                self._trapped("trap", run)

    def other_orders(self) -> None:
        """Programs in other orders, and copies at other times, leave the same."""
        for level in self.plain:
            for seed in _SEEDS if level in MLIR else ():
                run = self.run(level, f"shuffle {seed}", shuffle=seed)
                self._same_as_plain("order", run, "another order of the programs gives another result")
            if "timing" not in _settings.shown() or level == "ttir":
                continue
            for timing in _TIMINGS:
                run = self.run(level, f"timing {timing}", timing=timing)
                self._same_as_plain("timing", run, f"copies that land {timing} give another result")

    def on_gpu(self) -> None:
        if _device.gpu() is None:
            self.not_run.append({"level": "cubin", "how": "plain", "why": "this machine has no GPU"})
            return
        self.say(f"{self.subject.name}: on the GPU")
        try:
            run = self.subject.run_on_gpu()
        except (DiagnosticError, ImportError) as error:
            self.not_run.append({"level": "cubin", "how": "plain", "why": str(error).splitlines()[0]})
            return
        self._note(run)
        self.plain[run.level] = run

    # --- what they show

    def _trapped(self, check: str, run: Run) -> None:
        trap = run.trap
        known = next(
            (f for f in self.findings if (f["check"], f["file"], f["line"]) == (check, trap.file, trap.line)),
            None,
        )
        if known:
            if run.level not in known["levels"]:
                known["levels"].append(run.level)
            return
        may_be_meant = check in _MAY_BE_MEANT and not self.strict
        fields = (
            "file",
            "line",
            "column",
            "op",
            "program",
            "element",
            "iterations",
            "argument",
            "place",
            "notes",
        )
        self.findings.append(
            {"check": check, "severity": "warning" if may_be_meant else "fault", "levels": [run.level],
             "kind": trap.kind, "message": trap.message or str(trap),
             **{name: _plain(getattr(trap, name)) for name in fields}, "text": str(trap)}
        )  # fmt: skip

    def _same_as_plain(self, check: str, run: Run | None, message: str) -> None:
        if run is None:
            return
        if run.trap:
            self._trapped("trap", run)
            return
        # Of the same text, so that floats differ by the order in which atomics add, and by nothing else.
        for one in self._differences(self.plain[run.level], run, exact=False):
            if one["bits_equal"]:
                continue
            self._differs(check, one, run, f"{message} in {one['argument']!r}")

    def between_levels(self) -> None:
        for above, level in itertools.pairwise(self.plain):
            a, b = self.plain[above], self.plain[level]
            exact = {above, level} == set(MLIR)
            found = self._differences(a, b, exact)
            # What hangs on the order of the programs hangs on the threads too, on any two runs of one text.
            ordered = {finding.get("argument") for finding in self.findings if finding["check"] == "order"}
            if exact and ordered:
                loose = self._differences(a, b, False)
                found = [
                    two if one["argument"] in ordered else one for one, two in zip(found, loose, strict=True)
                ]
            for one in found:
                self.bits.append({"levels": [above, level], **one})
                if not one["agrees"]:
                    self._differs("levels", one, b, f"{level} gives another {one['argument']!r} than {above}")
                    if self.findings[-1]["levels"] == [level]:
                        self._diverged(above, level)

    def _differences(self, a: Run, b: Run, exact: bool) -> list[dict]:
        """Each argument in two runs: whether its bits are equal, whether it agrees within what its type
        allows, how many elements differ, by how much at most, and the first that does."""
        found = []
        theirs = self.subject.arrays(b)
        for name, x in self.subject.arrays(a).items():
            y = theirs[name]
            one = {"argument": name, "bits_equal": x.tobytes() == y.tobytes(), "agrees": True, "elements": 0}
            if not one["bits_equal"]:
                allowed = _lockstep._allowed(_lockstep._kind(x), None, exact)
                beyond, differs = _lockstep._differs(x, y, allowed), _lockstep._differs(x, y, 0.0)
                with numpy.errstate(invalid="ignore", over="ignore"):
                    error = numpy.abs(x.astype("float64") - y.astype("float64"))
                first = tuple(int(i) for i in numpy.argwhere(beyond if beyond.any() else differs)[:1].ravel())
                one |= {
                    "agrees": not beyond.any(), "elements": int(differs.sum()), "of": int(x.size),
                    "max_error": _number(numpy.max(error, initial=0, where=differs)), "allowed": allowed,
                    "element": list(first),
                    "numbers": [_number(x[first]), _number(y[first])] if first else None,
                }  # fmt: skip
            found.append(one)
        return found

    def _differs(self, check: str, one: dict, run: Run, message: str) -> None:
        """A difference is a fault where it is more than the rounding of sums."""
        for known in self.findings:
            if known["check"] == check and known["argument"] == one["argument"]:
                known["levels"] += [run.level] * (run.level not in known["levels"])
                return
        first, second = one["numbers"] or (None, None)
        text = (
            f"{message}: {one['elements']} of {one['of']} elements differ, by at most {one['max_error']}; "
            f"element {one['element']}: {first} and {second}"
        )
        severity = "warning" if one["agrees"] and not self.strict else "fault"
        self.findings.append(
            {"check": check, "severity": severity, "levels": [run.level], "kind": "difference",
             "message": message, "argument": one["argument"], "how": run.how, "evidence": one, "file": "",
             "line": 0, "text": text}
        )  # fmt: skip

    def _diverged(self, above: str, level: str) -> None:
        """Adds to the last finding the first value that differs, which lockstep finds."""
        finding = self.findings[-1]
        if finding.get("diverged") or level not in ("ttgir", "ptx"):
            return
        self.say(f"{self.subject.name}: where {above} and {level} part")
        try:
            found = self.subject.lockstep(("ttgir", "ptx") if level == "ptx" else ("ttir", "ttgir"))
        except DiagnosticError as error:
            finding["notes"] = [error.message]
            return
        if found.diverged is not None:
            finding["diverged"] = found.diverged.to_json()
            finding |= {"file": found.diverged.file, "line": found.diverged.line}
            finding["text"] += "\n" + str(found.diverged)


def judge(subject: Subject, checks=CHECKS, strict: bool = False, say=lambda text: None) -> dict:
    """The verdict on one launch."""
    started = time.perf_counter()
    it = _Judge(subject, tuple(checks), strict, say)
    it.each_level()
    it.all_checks()
    it.other_orders()
    it.on_gpu()
    it.between_levels()
    faults = [f for f in it.findings if f["severity"] == "fault"]
    could = {run["level"] for run in it.runs}
    missing = [level for level in subject.levels if level not in could]
    return {
        "kernel": subject.name, "grid": list(subject.grid), "target": subject.target,
        "levels": list(subject.levels),
        "verdict": "wrong" if faults else "unknown" if missing or not it.runs else "right",
        "findings": it.findings, "bits": it.bits, "runs": it.runs, "not_run": it.not_run,
        "seconds": round(time.perf_counter() - started, 3),
    }  # fmt: skip


def _plain(value):
    return list(value) if isinstance(value, tuple) else value


def _number(value):
    """A number as JSON has it: what it has no word for as text."""
    if isinstance(value, (numpy.bool_, bool)):
        return bool(value)
    if getattr(value, "dtype", None) is not None and value.dtype.kind in "iu":
        return int(value)
    with contextlib.suppress(ValueError, OverflowError):
        if numpy.isfinite(float(value)):
            return float(value)
    return str(float(value))
