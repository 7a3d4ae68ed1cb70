"""triton_runner.verify: judges whether a launch is right. It compares all levels and a GPU bit by bit, runs
all checks, runs programs and atomics in other orders, and lets copies land early and late.

All runs use the same order of programs on one thread, so the verdict is the same every time. The effects of
the order of atomics are determined first, so that no other step blames something else for them.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Mapping

import numpy

from triton_runner import _core, _settings
from triton_runner._artifact.relaunch import Outcome, Relaunch, called
from triton_runner._base import generated
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.levels import MLIR, binary_level, levels_of
from triton_runner._code import atomics, rounding
from triton_runner._kernel import asynchronous
from triton_runner._kernel.cases import associative, copies, masks, reach, reads, severity
from triton_runner._kernel.cases.noise import Noise, is_float
from triton_runner._kernel.cases.results import Bits, Judged, NotRun, Ran
from triton_runner._kernel.compiling import failures
from triton_runner._kernel.dumps import accesses
from triton_runner._kernel.lockstep import lockstep
from triton_runner._memory import difference as distance
from triton_runner._memory.contents import Pair
from triton_runner._pipeline import stages
from triton_runner._settings import devices

CHECKS = ("oob", "nan", "inf", "nanload", "uninit", "race", "zerodiv", "hints", "overflow", "view", "hazard")
# PTX does not say what they look at.
# The checks that report a kind of trap, first the one that most likely does.
_REPORTS = {
    "not a number": ("nan", "inf", "nanload"), "uninitialized value": ("uninit",), "data race": ("race",),
    "division by zero": ("zerodiv",), "false hint": ("hints",), "integer overflow": ("overflow", "zerodiv"),
    "hazard": ("hazard",), "outside of a view": ("view",), "out of bounds": ("view", "oob"),
}  # fmt: skip
_SEEDS = (1, 2)
_TIMINGS = ("eager", "late")
_ROUNDINGS = (range(1, 4), range(4, 12))  # seeds of perturbed runs: more where the first do not explain it
_MEANT = "it is memory of the program's own, as padding is: nothing is read or written that is not there"
_ANOTHER = "it lands in another tensor of the program, so that --check view alone reports it"
_COMPILERS_FENCE = (
    "it is the compiler's: TTGIR has no such race, and Triton 3.7 and later put the fence there; other races "
    "at PTX were not looked for"
)


def looks(check: str, level: str) -> bool:
    """Whether a check runs at a level. Machine code computes what the PTX does, which was checked: its
    control words are all that it adds."""
    if level in ("cubin", "hsaco"):
        return check == "hazard"
    return _settings.looks(check, level)


def checks_of(names: str | None) -> tuple:
    """The checks that a text names, by default all. Raises DiagnosticError for an unknown check."""
    _settings.using(check=names).settings()
    return tuple(names.split(",")) if names and "all" not in names.split(",") else CHECKS


class Judging:
    """The judgement of one launch: all its runs, and the findings of each. levels: those that run;
    costs(launch): what it is sure to lose time to (cost/costs.py); expected: what references give for it
    (references.Expected)."""

    def __init__(
        self, launch: Relaunch, checks=CHECKS, strict: bool = False, say=lambda text: None, levels=None,
        costs=None, expected=(),
    ):  # fmt: skip
        self.launch, self.checks, self.say, self._costs = launch, tuple(checks), say, costs
        self._expected = expected
        self.levels = launch.levels if levels is None else levels
        self.findings = severity.Findings(strict)
        self.runs: list[Ran] = []
        self.not_run: list[NotRun] = []
        self.bits: list[Bits] = []
        self.plain: dict[str, Outcome] = {}
        self.reads: dict = {}  # by level: a _core.ReadSet
        self.noise = Noise()
        self._compiling = -stages.seconds()
        self._reporting: dict[str, list] = {}  # by level the checks that reported something, in their order
        self._first: dict[tuple, Outcome] = {}  # by level and check the run that its report ended
        self._perturbed = 0  # how many of _ROUNDINGS were run
        self._known: dict[tuple, tuple | bool] = {}  # by what is asked of a level's code, and the level
        self._raceless: set[str] = set()  # levels at which no two accesses raced

    def verdict(self) -> Judged:
        started = self._start()
        self.each_level()
        self.all_checks()
        self.copies_of_values()
        self.other_timings()
        self.on_gpu()
        self.between_levels()
        self.groups()
        self.with_references()
        self.lost_time()
        return self.judged(started)

    def checked(self) -> Judged:
        """The verdict of the checks alone: no other orders and timings, and no comparison of levels."""
        started = self._start()
        self.each_level()
        self.all_checks(with_orders=False)
        self.copies_of_values()
        return self.judged(started)

    def _start(self) -> float:
        """Compiles all levels that run, in one go, and returns when it began."""
        started = time.perf_counter()
        if len(self.levels) > 1:
            self.launch.compile()
        return started

    def judged(self, started: float) -> Judged:
        """Returns what was found since then."""
        it, seconds = self.launch, round(time.perf_counter() - started, 3)
        judged = Judged(
            it.name, list(it.grid), it.target, list(self.levels), [*self.findings], self.bits, self.runs,
            self.not_run, seconds, round(self._compiling + stages.seconds(), 3), self._written(),
            stores_nothing=self._stores_nothing(), origin=generated.origin(),
        ).settled()  # fmt: skip
        by = [one.by for one in self._expected if one.compares(judged.written)]
        return judged.compared_with("reference", ", ".join(by)) if by else judged

    def _written(self) -> list[str]:
        """The arguments that hold something else after a run."""
        return list(dict.fromkeys(name for run in self.plain.values() for name in run.contents.hashes))

    def _stores_nothing(self) -> bool:
        """Returns whether it is certain that no program came to a store."""
        return bool(self.plain) and not self._written() and accesses.stores_nothing(self.launch)

    # --- runs

    @property
    def _least(self) -> int:
        """How many runs there are if nothing is found."""
        return sum(
            2
            + len(self._timings(level))
            + len(_SEEDS) * (level in self.plain and not self._is_ordered(level))
            for level in self.levels
        )

    def _remembered(self, about: str, level: str, value):
        """value() of a level, which its code decides: asked once."""
        if (about, level) not in self._known:
            self._known[about, level] = value()
        return self._known[about, level]

    def _timings(self, level: str) -> tuple[str, ...]:
        """The timings at which runs can differ from the plain one."""
        text_of = {"cubin": "ptx", "hsaco": "amdgcn"}.get(level, level)  # assembled from that
        if level == "ttir" or level not in self.plain:
            return ()
        if text_of not in asynchronous.LEVELS or text_of not in self.launch.texts:
            return _TIMINGS
        return self._remembered(
            "timings", level, lambda: asynchronous.timings(text_of, self.launch.texts[text_of])
        )

    def _seeds(self, level: str) -> tuple[int, ...]:
        """The seeds of orders in which runs can differ from the plain one. None can where an order shows by a
        race alone and the check reports none, or where there is one program and no warps."""
        is_one = level in MLIR and math.prod(self.launch.grid) == 1
        return () if (is_one or level in self._raceless) and self._is_ordered(level) else _SEEDS

    def _is_ordered(self, level: str) -> bool:
        """Returns whether another order shows by a race alone, and the check finds every race."""
        if level not in (*MLIR, "ptx") or (level == "ptx" and self.launch.arguments.pointed):
            return False  # at PTX the check does not know all that pointers reach which are in memory
        return self._remembered(
            "order", level, lambda: atomics.has_one_result(level, self.launch.texts[level])
        )

    def run(self, level: str, how: str = "", **settings) -> Outcome | None:
        """Runs the launch and records the run. None: it cannot be run in this way."""
        how = how or called(**settings)
        number = len(self.runs) + 1
        self.say(
            f"{self.launch.name}: run {number} of {max(number, self._least)}: {level or 'on the GPU'}, {how}"
        )
        try:
            run = self.launch.run(level, how, **{"checks": "", **settings})
        except DiagnosticError as error:
            self.cannot(level or binary_level(self.launch.target), how, error)
            return None
        if run.trap is not None and run.trap.kind == "unsupported":  # it says nothing of the kernel
            self.cannot(level or binary_level(self.launch.target), how, run.trap)
            return None
        self._ran(run)
        return run

    def _ran(self, run: Outcome) -> None:
        self.runs.append(Ran.of(run))

    def cannot(self, level: str, how: str, error) -> None:
        told = failures.explained(error) if isinstance(error, DiagnosticError) else []
        why = "\n".join(told) or getattr(error, "message", "") or str(error)
        self.not_run.append(NotRun(level, how, why))

    def ended(self, level: str, **settings) -> Outcome | None:
        """Runs the launch to its end. None: it cannot be run, or it trapped, which becomes a finding."""
        run = self.run(level, **settings)
        if run is None or run.trap is None:
            return run
        self.findings.trap("trap", run)
        return None

    def _grades(self, level: str, how: str) -> bool:
        """Whether experiments that say how much a finding matters can still change the verdict. Those that
        are left out are named in it."""
        if self.findings.strict or not self.findings.is_decided():
            return True
        left_out = NotRun(level, how, "the launch is wrong already; --strict runs all experiments")
        if left_out not in self.not_run:
            self.not_run.append(left_out)
        return False

    def slowest(self, level: str) -> float:
        """The seconds of the slowest run at a level so far."""
        return max((run.seconds for run in self.runs if run.level == level), default=0.0)

    def each_level(self) -> None:
        for level in self.levels:
            run = self.run(level)
            if run is not None and run.trap:
                self.findings.trap("oob" if run.trap.kind == "out of bounds" else "trap", run)
            elif run is not None:
                self.plain[level] = run
        for number, finding in enumerate(self.findings):
            if finding.check == "oob" and (said := masks.line(self.launch, finding)):
                self.findings[number] = finding.saying(said)

    def all_checks(self, with_orders: bool = True) -> None:
        """Runs all checks at once, and where that leaves it open other orders; then it is found out what each
        report is worth, so that nothing else is blamed for the effects of the order."""
        self._checks_at_once()
        if with_orders:
            self._other_orders()
        self._each_check()

    def _other_orders(self) -> None:
        """Runs programs, and the atomics inside them, in other orders. What changes is noise of the
        outputs."""
        changed: dict[str, tuple[Bits, str, list]] = {}
        for level, plain in self.plain.items():
            for seed in self._seeds(level):
                run = self.ended(level, order=seed)
                if run is None:
                    continue
                for difference in _differences(Noise(), plain, run, exact=True):
                    if not difference.bits_equal:
                        _, _, levels = changed.setdefault(difference.argument, (difference, run.how, []))
                        levels += [level] * (level not in levels)
                self._add_noise(plain, run)
        for difference, how, levels in changed.values():
            lines = atomics.lines(self.launch, difference.argument)
            self.findings.order(difference, levels, how, math.prod(self.launch.grid), lines)

    def _checks_at_once(self) -> None:
        """Runs all checks at once. A report ends a run: its check is judged by itself (_each_check), and the
        others go on together."""
        for level in self.plain:
            chosen = [check for check in self.checks if looks(check, level)]
            alone: set[str] = set()
            while left := [check for check in chosen if check not in alone]:
                seen = _core.ReadSet() if "race" in left else None
                run = self.run(level, checks=",".join(left), reads=seen)
                if run is None or run.trap is None:
                    if run is not None and seen is not None:
                        self.reads[level] = seen
                        self._raceless.add(level)
                    break
                reporters = [check for check in _REPORTS.get(run.trap.kind, ()) if check in left]
                if len(reporters or left) == 1:
                    self._first[level, (reporters or left)[0]] = run
                alone.update(reporters[:1] or left)
            # First those that decide the verdict.
            self._reporting[level] = sorted(alone, key=lambda c: (c in reach.CHECKS, chosen.index(c)))

    def _each_check(self) -> None:
        """Judges by itself each check that reported something."""
        for level, reporting in self._reporting.items():
            for check in reporting:
                self._one_check(level, check)
        self._first.clear()
        levels = [level for level in self.plain if level not in ("cubin", "hsaco")]
        self.findings.settle(levels, lambda level: _ends_numbers(self.plain[levels[0]], self.plain[level]))
        for finding in reads.beyond(self.launch, self.reads):
            self.findings.add(finding)

    def _one_check(self, level: str, check: str) -> None:
        why = ""
        if check in reach.CHECKS:
            if self._grades(level, f"what depends on the values that {check} reports"):
                is_certain = not self.findings.strict and self.findings.reaches_output(check)
                for report in reach.reports(self, level, check, is_certain):
                    self.findings.report(check, level, report)
                return
            why = f"whether an output depends on it was not tried{severity.DECIDED}"
        run = self.alone(level, check)
        if run is None or run.trap is None:
            return
        if check == "view" and run.trap.kind == "out of bounds":
            check, why = "oob", _ANOTHER
        why = _MEANT if check == "view" and not why else why
        if check == "race" and level == "ptx" and copies.explains(self.launch, run.trap, self._ran):
            return  # what copies.findings() reports
        if check == "overflow" and level not in MLIR and self._is_exact_above():
            return  # the program does not overflow: LLVM computes its addresses in another way
        is_compilers = level == "ptx" and run.trap.race == "fence" and "ttgir" in self.plain
        self.findings.trap(check, run, _COMPILERS_FENCE if is_compilers else why)

    def alone(self, level: str, check: str) -> Outcome | None:
        """The run with one check: one with others that a report of this check ended, if there was one."""
        return self._first.get((level, check)) or self.run(level, checks=check)

    def _is_exact_above(self) -> bool:
        """Whether check="overflow" ran at a level of Triton's IR and reported nothing there."""
        above = set(MLIR) & set(self.plain)
        return bool(above) and not any(f.check == "overflow" and above & set(f.levels) for f in self.findings)

    def copies_of_values(self) -> None:
        """Compares the copies of one element that different threads hold."""
        if "race" not in self.checks or "ptx" not in self.plain or not self._grades("ptx", "copies"):
            return
        try:
            for finding in copies.findings(self.launch, self.say, self._is_rounding, self._ran):
                self.findings.add(finding)
        except DiagnosticError as error:
            self.cannot("ptx", "copies", error)

    def other_timings(self) -> None:
        """Compares runs whose asynchronous copies land at other times, at levels that have such copies."""
        for level, timing in [(at, timing) for at in self.plain for timing in self._timings(at)]:
            run = self.ended(level, timing=timing)
            for one in _differences(self.noise, self.plain[level], run, exact=False) if run else ():
                if not one.bits_equal and not (one.agrees and self.findings.is_ordered(one.argument)):
                    message = f"copies that land {timing} give another result"
                    self.findings.difference("timing", one, run, message)

    def on_gpu(self) -> None:
        gpu, binary = devices.gpu(), levels_of(self.launch.target)[-1]
        if gpu is None and binary not in self.launch.levels:
            self.cannot(binary, "plain", "this machine has no GPU")
        elif gpu is None:
            return
        elif run := self.run("", device=gpu):
            self.plain[run.level] = run

    def lost_time(self) -> None:
        """Warns of what costs time, where the launch is right."""
        if self._costs is None or any(finding.is_fault for finding in self.findings):
            return
        self.say(f"{self.launch.name}: counted")
        for cost in self._costs(self.launch):
            self.findings.cost(cost)

    # --- between levels

    def between_levels(self) -> None:
        is_decided = self.findings.is_decided() and not self.findings.strict
        for above, level in itertools.pairwise(self.plain):
            a, b = self.plain[above], self.plain[level]
            exact = {above, level} == set(MLIR)
            differences = _differences(self.noise, a, b, exact)
            if above == "ttgir" and not all(one.agrees for one in differences):
                a = self._as_rounded(a, self._as_hardware(a, b))
                differences = _differences(self.noise, a, b, exact)
            unusual = {one.argument for one in differences if not one.agrees}
            while not all(one.agrees for one in differences) and not is_decided and self._perturb():
                differences = _differences(self.noise, a, b, exact)
            for one in differences:
                self.bits.append(dataclasses.replace(one, levels=[above, level]))
                if not one.agrees and level == "ptx" and self._is_tail(one.argument, a):
                    self.findings.tail(one, b)
                elif not one.agrees:
                    message = f"{level} gives another result than {above}"
                    is_new = self.findings.difference("levels", one, b, message)
                    if is_new and is_decided:
                        self._grades(level, "how far rounding moves it, and where it begins")
                        self.findings.ungraded("whether rounding explains it was not tried")
                    elif is_new:
                        self._diverged(above, level)
                elif one.argument in unusual and not self.findings.is_ordered(one.argument):
                    message = f"{level} gives another result than {above}, as far as rounding moves it,"
                    self.findings.difference("drift", one, b, message)

    def _as_hardware(self, above: Outcome, below: Outcome) -> Outcome:
        """The TTGIR as the hardware rounds it, if that is what the level below gives, bit for bit: then what
        differs is rounding alone, unless a number is one in one of them only. Else the run that there is."""
        if not self.launch.target.startswith("cuda:"):
            return above
        run = self.run("ttgir", numerics="hardware")
        if run is None or run.trap or run.differing(below):
            return above
        return run if all(map(distance.same_are_numbers, above.pairs(run).values())) else above

    def _as_rounded(self, exact: Outcome, hardware: Outcome) -> Outcome:
        """The run as the hardware rounds it, with a note on the outputs that it rounds further from the exact
        ones than rounding in f32 can. The exact run, if they differ because elements were combined in other
        groups."""
        pairs = {name: pair for name, pair in exact.pairs(hardware).items() if not pair.is_same()}
        far = [one for one in self._explained(pairs) if not one.agrees]
        if not far:
            return hardware
        if self.combined is not None:
            return exact
        product = rounding.product_of_fp8(self.launch.texts["ttgir"])
        for one in far:
            size = distance.of_pair(pairs[one.argument])
            advice = rounding.ADVICE if product is not None else ""
            self.findings.rounded(one, size, product, rounding.cause(product), advice)
        return hardware

    @functools.cached_property
    def combined(self) -> associative.Grouped | None:
        """The first reduction or scan whose function is not associative."""
        return associative.first(self.launch)

    def groups(self) -> None:
        """Reports a function of a reduction or scan that is not associative: a fault where levels differ."""
        if self.combined is None:
            return
        how = "warning"
        for number, finding in enumerate(self.findings):
            if finding.check == "levels" and finding.is_fault:
                how = "fault"
                self.findings[number] = dataclasses.replace(finding, advice=associative.ADVICE)
        level = next((level for level in MLIR if level in self.plain), self.levels[0])
        self.findings.add(self.combined.finding(self.launch.name, level, how))

    def with_references(self) -> None:
        """Compares what each level leaves in the arguments with what the references leave there."""
        for expected in self._expected:
            for run in self.plain.values():
                for one in self._beside(expected.arrays, run):
                    if not one.agrees:
                        message = f"{expected.by} gives another result"
                        self.findings.difference("reference", one, run, message)

    def compared_with(self, other: Judging) -> list[Bits]:
        """The outputs beside those of a launch that should give the same, at the lowest level of both."""
        level = [level for level in other.plain if level in self.plain][-1]
        a, b = other.plain[level], self.plain[level]
        return self._beside(a.arrays, b) if a.arrays.keys() == b.arrays.keys() else []

    def _beside(self, arrays: Mapping, run: Outcome) -> list[Bits]:
        """How arguments that should hold `arrays` differ from those after a run."""
        return self._explained({name: run.contents.beside(name, array) for name, array in arrays.items()})

    def _explained(self, pairs: dict[str, Pair]) -> list[Bits]:
        """How pairs of arrays differ that should differ by rounding alone."""
        found = _compared(self.noise, pairs, False)
        while not all(one.agrees for one in found) and self._perturb():
            found = _compared(self.noise, pairs, False)
        return found

    def hold(self) -> None:
        """Makes the outputs, for compared_with(): the memory of the launch is about to change."""
        for run in self.plain.values():
            dict(run.arrays)

    def _is_tail(self, name: str, above: Outcome) -> bool:
        """Whether PTX agrees with the level above if TMA stores end at the end of the tensor."""
        if ".bulk.tensor" not in self.launch.texts["ptx"]:
            return False
        run = self.run("ptx", "stores of TMA that end with the tensor", exact_tails=True)
        if run is None or run.trap:
            return False
        return self.noise.compare(name, above.pairs(run)[name], False).agrees

    def _is_rounding(self, name: str, pair: Pair) -> bool:
        while not (explained := self.noise.is_rounding(name, pair)) and self._perturb():
            pass
        return explained

    def _add_noise(self, plain: Outcome, run: Outcome) -> None:
        for name, pair in plain.pairs(run).items():
            self.noise.add(name, pair)

    def _perturb(self) -> bool:
        """Makes a few more runs with other roundings. False: none are left."""
        level = next((level for level in MLIR if level in self.plain), None)
        if level is None or self._perturbed == len(_ROUNDINGS):
            return False
        for seed in _ROUNDINGS[self._perturbed]:
            run = self.run(level, perturb=seed)
            if run is not None and run.trap is None:
                self._add_noise(self.plain[level], run)
        self._perturbed += 1
        return True

    def _diverged(self, above: str, level: str) -> None:
        """Adds the first value that differs, which lockstep finds, to the last finding."""
        if level not in self.launch.levels:  # the GPU's
            return
        self.say(f"{self.launch.name}: where {above} and {level} part")
        try:
            levels = ("ttir" if level == "ttgir" else "ttgir", level)
            report = lockstep.of_launch(self.launch, levels)
        except DiagnosticError as error:
            self.findings.say(error.message)
            return
        if report.diverged is not None:
            self.findings.diverged(report.diverged)


def _ends_numbers(above: Outcome, below: Outcome) -> bool:
    """Whether an output holds a NaN or an infinity after one run, and a number there after another."""
    return any(
        (numpy.isfinite(x) & ~numpy.isfinite(y)).any()
        for pair in above.pairs(below).values()
        if is_float(pair)
        for _, x, y in pair.differing()
    )


def _differences(noise: Noise, a: Outcome, b: Outcome, exact: bool) -> list[Bits]:
    """The differences of each argument between two runs."""
    return _compared(noise, a.pairs(b), exact)


def _compared(noise: Noise, pairs: dict[str, Pair], exact: bool) -> list[Bits]:
    return [noise.compare(name, pair, exact) for name, pair in pairs.items()]


def judge(
    launch: Relaunch, checks=CHECKS, strict: bool = False, say=lambda text: None, assembled: bool = False,
    costs=None, expected=(),
) -> Judged:  # fmt: skip
    """The verdict on one launch. assembled: its machine code is executed on the CPU too."""
    launch = dataclasses.replace(launch, assembled=assembled)
    with stages.apart():
        return Judging(launch, checks, strict, say, costs=costs, expected=expected).verdict()


def check(launch: Relaunch, level: str, checks, strict: bool = False, say=lambda text: None) -> Judged:
    """Returns what checks find in one run at a level. Where they find something, all levels run, which tell
    whose fault it is, whether it reaches an output, and whether a level below defines what the language
    leaves open."""
    level = level if level in launch.levels else launch.levels[0]
    started = time.perf_counter()
    first = Judging(launch, checks, strict, say, [level])
    with stages.apart():
        run = first.run(level, checks=",".join(checks))
        if run is not None and run.trap is not None:
            return Judging(launch, checks, strict, say).checked()
        return first.judged(started)
