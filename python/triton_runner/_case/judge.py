"""triton_runner.verify: is a launch right? All levels, all checks, programs and atomics in other orders,
copies that land early and late, the bits between levels and on a GPU, in one verdict with its evidence.

Every run has the same order of programs, on one thread, so that the verdict is the same every time. What
depends on the order of atomics is found first, and blamed on nothing else.
"""

from __future__ import annotations

import dataclasses
import itertools
import time

from triton_runner._artifact.relaunch import Outcome, Relaunch, called
from triton_runner._base.errors import MISSING_FENCE, DiagnosticError
from triton_runner._base.levels import MLIR
from triton_runner._case import atomics, copies, reach, severity
from triton_runner._case.noise import Noise
from triton_runner._case.results import Bits, Judged, NotRun, Ran
from triton_runner._lockstep import lockstep
from triton_runner._settings import devices

CHECKS = ("oob", "nan", "inf", "nanload", "uninit", "race", "zerodiv", "hints")
# PTX does not say what they look at.
_MLIR_ONLY = {"nanload", "hints"}
_SEEDS = (1, 2)
_TIMINGS = ("eager", "late")
_ROUNDINGS = (range(1, 4), range(4, 12))  # seeds of perturbed runs: more where the first do not explain it
_COMPILERS_FENCE = (
    "it is the compiler's: TTGIR has no such race, and Triton 3.7 and later put the fence there; other races "
    "at PTX were not looked for"
)


class _Judge:
    """One launch on its way through all runs."""

    def __init__(self, launch: Relaunch, checks=CHECKS, strict: bool = False, say=lambda text: None):
        self.launch, self.checks, self.say = launch, tuple(checks), say
        self.findings = severity.Findings(strict)
        self.runs: list[Ran] = []
        self.not_run: list[NotRun] = []
        self.bits: list[Bits] = []
        self.plain: dict[str, Outcome] = {}
        self.noise = Noise()
        self._perturbed = 0  # how many of _ROUNDINGS were run

    def verdict(self) -> Judged:
        started = time.perf_counter()
        self.each_level()
        self.other_orders()
        self.all_checks()
        self.copies_of_values()
        self.other_timings()
        self.on_gpu()
        self.between_levels()
        it, seconds = self.launch, round(time.perf_counter() - started, 3)
        return Judged(
            it.name, list(it.grid), it.target, list(it.levels), [*self.findings], self.bits, self.runs,
            self.not_run, seconds,
        ).settled()  # fmt: skip

    # --- runs

    def run(self, level: str, how: str = "", **settings) -> Outcome | None:
        """A run that is noted; None where it cannot be done."""
        how = how or called(**settings)
        self.say(f"{self.launch.name}: {level or 'on the GPU'}, {how}")
        try:
            run = self.launch.run(level, how, **{"checks": "", **settings})
        except DiagnosticError as error:
            self.cannot(level or "cubin", how, error)
            return None
        self.runs.append(Ran.of(run))
        return run

    def cannot(self, level: str, how: str, error) -> None:
        self.not_run.append(NotRun(level, how, getattr(error, "message", "") or str(error)))

    def ended(self, level: str, **settings) -> Outcome | None:
        """A run without a trap; None where it could not be done, or trapped, which is a finding."""
        run = self.run(level, **settings)
        if run is None or run.trap is None:
            return run
        self.findings.trap("trap", run)
        return None

    def slowest(self, level: str) -> float:
        """Seconds of the slowest run at a level so far."""
        return max((run.seconds for run in self.runs if run.level == level), default=0.0)

    def each_level(self) -> None:
        for level in self.launch.levels:
            run = self.run(level)
            if run is not None and run.trap:
                self.findings.trap("oob" if run.trap.kind == "out of bounds" else "trap", run)
            elif run is not None:
                self.plain[level] = run

    def other_orders(self) -> None:
        """Programs, and the atomics inside of one, in other orders: what changes is noise of the outputs."""
        changed: dict[str, tuple[Bits, str, list]] = {}
        for level, plain in self.plain.items():
            for seed in _SEEDS:
                run = self.ended(level, order=seed)
                if run is None:
                    continue
                for difference in _differences(Noise(), plain, run, exact=True):
                    if not difference.bits_equal:
                        _, _, levels = changed.setdefault(difference.argument, (difference, run.how, []))
                        levels += [level] * (level not in levels)
                self.noise.add(plain.arrays, run.arrays)
        lines = atomics.lines(self.launch) if changed else []
        for difference, how, levels in changed.values():
            self.findings.order(difference, levels, how, lines)

    def all_checks(self) -> None:
        """All at once; where that stops, each for itself, as a report ends a run."""
        for level in self.plain:
            if level == "cubin":  # its instructions are those of the PTX, which was looked at
                continue
            chosen = [c for c in self.checks if level in MLIR or c not in _MLIR_ONLY]
            run = self.run(level, checks=",".join(chosen)) if chosen else None
            if run is not None and run.trap is not None:
                for check in chosen:
                    self._one_check(level, check)
        self.findings.settle(list(self.plain))

    def _one_check(self, level: str, check: str) -> None:
        if check in reach.CHECKS:
            for report in reach.reports(self, level, check):
                self.findings.report(check, level, report)
            return
        run = self.run(level, checks=check)
        if run is None or run.trap is None:
            return
        if check == "race" and level == "ptx" and copies.explains(self.launch, run.trap):
            return  # what copies.findings() reports
        is_compilers = level == "ptx" and MISSING_FENCE in run.trap.message and "ttgir" in self.plain
        self.findings.trap(check, run, _COMPILERS_FENCE if is_compilers else "")

    def copies_of_values(self) -> None:
        """What threads hold of one element is the same."""
        if "race" not in self.checks or "ptx" not in self.plain:
            return
        try:
            for finding in copies.findings(self.launch, self.say, self._is_rounding):
                self.findings.add(finding)
        except DiagnosticError as error:
            self.cannot("ptx", "copies", error)

    def other_timings(self) -> None:
        """Copies that land at other times leave the same."""
        for level, timing in itertools.product(self.plain, _TIMINGS):
            run = self.ended(level, timing=timing) if level != "ttir" else None
            for one in _differences(self.noise, self.plain[level], run, exact=False) if run else ():
                if not one.bits_equal and not (one.agrees and self.findings.is_ordered(one.argument)):
                    message = f"copies that land {timing} give another result"
                    self.findings.difference("timing", one, run, message)

    def on_gpu(self) -> None:
        gpu = devices.gpu()
        if gpu is None and not self.launch.assembled:
            self.cannot("cubin", "plain", "this machine has no GPU")
        elif gpu is None:
            return
        elif run := self.run("", device=gpu):
            self.plain[run.level] = run

    # --- between levels

    def between_levels(self) -> None:
        for above, level in itertools.pairwise(self.plain):
            a, b = self.plain[above], self.plain[level]
            exact = {above, level} == set(MLIR)
            differences = _differences(self.noise, a, b, exact)
            unusual = {one.argument for one in differences if not one.agrees}
            while not all(one.agrees for one in differences) and self._perturb():
                differences = _differences(self.noise, a, b, exact)
            for one in differences:
                self.bits.append(dataclasses.replace(one, levels=[above, level]))
                if not one.agrees and level == "ptx" and self._is_tail(one.argument, a):
                    self.findings.tail(one, b)
                elif not one.agrees:
                    message = f"{level} gives another result than {above}"
                    if self.findings.difference("levels", one, b, message):
                        self._diverged(above, level)
                elif one.argument in unusual and not self.findings.is_ordered(one.argument):
                    message = (
                        f"drift: {level} gives another result than {above}, as far as rounding moves it,"
                    )
                    self.findings.difference("drift", one, b, message)

    def _is_tail(self, name: str, above: Outcome) -> bool:
        """Whether PTX agrees with the level above where stores of TMA end with their tensors."""
        if ".bulk.tensor" not in self.launch.texts["ptx"]:
            return False
        run = self.run("ptx", "stores of TMA that end with the tensor", exact_tails=True)
        if run is None or run.trap:
            return False
        return self.noise.compare(name, above.arrays[name], run.arrays[name], False).agrees

    def _is_rounding(self, name: str, x, y) -> bool:
        while not (explained := self.noise.is_rounding(name, x, y)) and self._perturb():
            pass
        return explained

    def _perturb(self) -> bool:
        """A few more runs with other roundings; False where there are none."""
        level = next((level for level in MLIR if level in self.plain), None)
        if level is None or self._perturbed == len(_ROUNDINGS):
            return False
        for seed in _ROUNDINGS[self._perturbed]:
            run = self.run(level, perturb=seed)
            if run is not None and run.trap is None:
                self.noise.add(self.plain[level].arrays, run.arrays)
        self._perturbed += 1
        return True

    def _diverged(self, above: str, level: str) -> None:
        """Adds to the last finding the first value that differs, which lockstep finds."""
        if level not in ("ttgir", "ptx"):
            return
        self.say(f"{self.launch.name}: where {above} and {level} part")
        try:
            levels = ("ttgir", "ptx") if level == "ptx" else ("ttir", "ttgir")
            report = lockstep.of_launch(self.launch, levels)
        except DiagnosticError as error:
            self.findings.say(error.message)
            return
        if report.diverged is not None:
            self.findings.diverged(report.diverged)


def _differences(noise: Noise, a: Outcome, b: Outcome, exact: bool) -> list[Bits]:
    """Each argument in two runs."""
    return [noise.compare(name, x, b.arrays[name], exact) for name, x in a.arrays.items()]


def judge(
    launch: Relaunch, checks=CHECKS, strict: bool = False, say=lambda text: None, assembled: bool = False
) -> Judged:
    """The verdict on one launch. assembled: its machine code is executed on the CPU too."""
    launch = dataclasses.replace(launch, assembled=assembled)
    return _Judge(launch, checks, strict, say).verdict()
