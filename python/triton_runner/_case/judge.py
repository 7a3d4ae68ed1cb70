"""triton_runner.verify: is a launch right? All levels, all checks, programs and atomics in other orders,
copies that land early and late, the bits between levels and on a GPU, in one verdict with its evidence.

Every run has the same order of programs, on one thread, so that the verdict is the same every time. What
depends on the order of atomics is found first, and blamed on nothing else. The dict that judge() returns is
a format of its own (SCHEMA, doc/reference/cases.md).
"""

from __future__ import annotations

import hashlib
import itertools
import time

from triton_runner import _device
from triton_runner._case import atomics, copies, reach, severity
from triton_runner._case.noise import Noise
from triton_runner._case.subject import Run, Subject
from triton_runner._errors import DiagnosticError
from triton_runner._levels import MLIR

SCHEMA = "triton-runner.verify/2"
CHECKS = ("oob", "nan", "inf", "nanload", "uninit", "race", "zerodiv", "hints")
# PTX does not say what they look at.
_MLIR_ONLY = {"nanload", "hints"}
_SEEDS = (1, 2)
_TIMINGS = ("eager", "late")
_ROUNDINGS = (range(1, 4), range(4, 12))  # seeds of perturbed runs: more where the first do not explain it
# A fence that Triton itself puts in below TTGIR, where the race check follows those that the kernel needs.
_FENCE = "no fence.proxy.async stands between"
_COMPILERS_FENCE = (
    "it is the compiler's: TTGIR has no such race, and Triton 3.7 and later put the fence there; other races "
    "at PTX were not looked for"
)
_RANK = ("right", "nondeterministic", "unknown", "wrong")


def worst(verdicts) -> str:
    """The verdict of several: wrong before unknown before nondeterministic before right."""
    return max(verdicts, key=_RANK.index, default="unknown")


class _Judge:
    """One launch on its way through all runs."""

    def __init__(self, subject: Subject, checks, strict: bool, say):
        self.subject, self.checks, self.say = subject, checks, say
        self.findings = severity.Findings(strict)
        self.runs: list[dict] = []
        self.not_run: list[dict] = []
        self.bits: list[dict] = []
        self.plain: dict[str, Run] = {}
        self.noise = Noise()
        self._perturbed = 0  # how many of _ROUNDINGS were run

    # --- runs

    def run(self, level: str, how: str = "plain", **settings) -> Run | None:
        """A run that is noted; None where it cannot be done."""
        self.say(f"{self.subject.name}: {level}, {how}")
        try:
            run = self.subject.run(level, how, **{"check": "", **settings})
        except DiagnosticError as error:
            self.not_run.append({"level": level, "how": how, "why": error.message})
            return None
        self._note(run)
        return run

    def ended(self, level: str, how: str, **settings) -> Run | None:
        """A run without a trap; None where it could not be done, or trapped, which is a finding."""
        run = self.run(level, how, **settings)
        if run is None or run.trap is None:
            return run
        self.findings.trap("trap", run)
        return None

    def slowest(self, level: str) -> float:
        """Seconds of the slowest run at a level so far."""
        return max((run["seconds"] for run in self.runs if run["level"] == level), default=0.0)

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
                self.findings.trap("oob" if run.trap.kind == "out of bounds" else "trap", run)
            else:
                self.plain[level] = run

    def other_orders(self) -> None:
        """Programs, and the atomics inside of one, in other orders: what changes is noise of the outputs."""
        changed: dict[str, dict] = {}
        for level, plain in self.plain.items():
            for seed in _SEEDS:
                run = self.ended(level, f"shuffle {seed}", shuffle=seed)
                if run is None:
                    continue
                base, other = self.subject.arrays(plain), self.subject.arrays(run)
                for name in base:
                    one = Noise().compare(name, base[name], other[name], exact=True)
                    if not one["bits_equal"]:
                        changed.setdefault(name, {"how": run.how, "levels": [], "evidence": one})
                        changed[name]["levels"] += [level] * (level not in changed[name]["levels"])
                self.noise.add(base, other)
        lines = atomics.lines(self.subject) if changed else []
        for name, seen in changed.items():
            self.findings.order(name, seen, lines)

    def all_checks(self) -> None:
        """All at once; where that stops, each for itself, as a report ends a run."""
        for level in self.plain:
            chosen = [c for c in self.checks if level in MLIR or c not in _MLIR_ONLY]
            if not chosen:
                continue
            run = self.run(level, "check " + ",".join(chosen), check=",".join(chosen))
            if run is None or run.trap is None:
                continue
            for check in chosen:
                self._one_check(level, check)
        self.findings.settle(list(self.plain))

    def _one_check(self, level: str, check: str) -> None:
        if check in reach.CHECKS:
            for report in reach.reports(self, level, check):
                self.findings.report(check, level, report)
            return
        run = self.run(level, f"check {check}", check=check)
        if run is None or run.trap is None:
            return
        if check == "race" and level == "ptx" and copies.explains(self.subject, run.trap):
            return  # what copies.findings() reports
        why = ""
        if level == "ptx" and _FENCE in run.trap.message and "ttgir" in self.plain:
            why = _COMPILERS_FENCE
        self.findings.trap(check, run, why)

    def copies_of_values(self) -> None:
        """What threads hold of one element is the same."""
        if "race" not in self.checks or "ptx" not in self.plain:
            return
        try:
            self.findings.extend(copies.findings(self.subject, self.say, self._is_rounding))
        except DiagnosticError as error:
            self.not_run.append({"level": "ptx", "how": "copies", "why": error.message})

    def other_timings(self) -> None:
        """Copies that land at other times leave the same."""
        for level, plain in self.plain.items():
            if level == "ttir":
                continue
            for timing in _TIMINGS:
                run = self.ended(level, f"timing {timing}", timing=timing)
                if run is None:
                    continue
                for one in self._differences(plain, run, exact=False):
                    if not one["bits_equal"] and not (one["agrees"] and self.findings.is_ordered(one)):
                        message = f"copies that land {timing} give another result"
                        self.findings.difference("timing", one, run, message)

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

    # --- between levels

    def between_levels(self) -> None:
        for above, level in itertools.pairwise(self.plain):
            a, b = self.plain[above], self.plain[level]
            exact = {above, level} == set(MLIR)
            differences = self._differences(a, b, exact)
            unusual = {one["argument"] for one in differences if not one["agrees"]}
            while not all(one["agrees"] for one in differences) and self._perturb():
                differences = self._differences(a, b, exact)
            for one in differences:
                self.bits.append({"levels": [above, level], **one})
                if not one["agrees"] and level == "ptx" and self._is_tail(one["argument"], a):
                    self.findings.tail(one, b)
                elif not one["agrees"]:
                    message = f"{level} gives another result than {above}"
                    if self.findings.difference("levels", one, b, message):
                        self._diverged(above, level)
                elif one["argument"] in unusual and not self.findings.is_ordered(one):
                    message = (
                        f"drift: {level} gives another result than {above}, as far as rounding moves it,"
                    )
                    self.findings.difference("drift", one, b, message)

    def _is_tail(self, name: str, above: Run) -> bool:
        """Whether PTX agrees with the level above where stores of TMA end with their tensors."""
        if ".bulk.tensor" not in self.subject.texts["ptx"]:
            return False
        run = self.run("ptx", "stores of TMA that end with the tensor", exact_tails=True)
        if run is None or run.trap:
            return False
        ends = self.subject.arrays(run)[name]
        return self.noise.compare(name, self.subject.arrays(above)[name], ends, False)["agrees"]

    def _is_rounding(self, name: str, x, y) -> bool:
        while not (explained := self.noise.is_rounding(name, x, y)) and self._perturb():
            pass
        return explained

    def _perturb(self) -> bool:
        """A few more runs with other roundings; False where there are none."""
        level = next((level for level in MLIR if level in self.plain), None)
        if level is None or self._perturbed == len(_ROUNDINGS):
            return False
        base = self.subject.arrays(self.plain[level])
        for seed in _ROUNDINGS[self._perturbed]:
            run = self.run(level, f"perturb {seed}", perturb=seed)
            if run is not None and run.trap is None:
                self.noise.add(base, self.subject.arrays(run))
        self._perturbed += 1
        return True

    def _differences(self, a: Run, b: Run, exact: bool) -> list[dict]:
        """Each argument in two runs, as Noise.compare() has it."""
        theirs = self.subject.arrays(b)
        return [self.noise.compare(n, x, theirs[n], exact) for n, x in self.subject.arrays(a).items()]

    def _diverged(self, above: str, level: str) -> None:
        """Adds to the last finding the first value that differs, which lockstep finds."""
        if level not in ("ttgir", "ptx"):
            return
        self.say(f"{self.subject.name}: where {above} and {level} part")
        try:
            lockstep = self.subject.lockstep(("ttgir", "ptx") if level == "ptx" else ("ttir", "ttgir"))
        except DiagnosticError as error:
            self.findings.last["notes"] = [error.message]
            return
        if lockstep.diverged is not None:
            self.findings.diverged(lockstep.diverged)


def judge(subject: Subject, checks=CHECKS, strict: bool = False, say=lambda text: None) -> dict:
    """The verdict on one launch."""
    started = time.perf_counter()
    it = _Judge(subject, tuple(checks), strict, say)
    it.each_level()
    it.other_orders()
    it.all_checks()
    it.copies_of_values()
    it.other_timings()
    it.on_gpu()
    it.between_levels()
    one = {
        "kernel": subject.name, "grid": list(subject.grid), "target": subject.target,
        "levels": list(subject.levels), "verdict": "unknown", "findings": it.findings.listed(),
        "bits": it.bits, "runs": it.runs, "not_run": it.not_run,
        "seconds": round(time.perf_counter() - started, 3),
    }  # fmt: skip
    return one | {"verdict": verdict_of(one)}


def verdict_of(launch: dict) -> str:
    """The verdict on a launch whose findings and runs are known."""
    ran = {run["level"] for run in launch["runs"]}
    return severity.verdict_of(launch["findings"], bool(ran) and ran >= set(launch["levels"]))
