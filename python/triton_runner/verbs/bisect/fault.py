"""Finds one fault, in a release that is wrong: its level, stage and pass.

Three methods find the pass and confirm each other. Execution of the IR after each pass shows where values
become wrong, down to the conversion to LLVM's dialect. Leaving a pass out shows whether it takes part.
Splicing the front half of a wrong release with the back half of a right one (splice.py) shows which IR
contains the fault. It outranks execution, because the engine does not follow layouts into threads."""

from __future__ import annotations

import dataclasses

from triton_runner._code import rounding
from triton_runner._kernel.compiling import passes_select
from triton_runner._kernel.compiling.crashes import NamedPass
from triton_runner._settings import devices
from triton_runner.verbs.bisect import assembler, evidence, order
from triton_runner.verbs.bisect.llvm import InsideLlvm
from triton_runner.verbs.bisect.results import MEANS, CompilerFault, Step, short_name
from triton_runner.verbs.bisect.runs import Release
from triton_runner.verbs.bisect.splice import CONVERSION, Splice, first_wrong, steps_of
from triton_runner.verbs.bisect.trial import Trial

_STAGE = {level: f"make_{level}" for level in ("ttir", "ttgir", "llir", "ptx", "amdgcn")}
_HARDWARE = {"TRITON_RUNNER_NUMERICS": "hardware"}
_LEVEL = {stage: level for level, stage in _STAGE.items()}


class Search:
    """The search for one fault of a release that is wrong at the lowest level. rights: right releases."""

    def __init__(self, wrong: Release, rights: list[Release], orders: order.Orders | None = None):
        self.release, self.rights, self.say = wrong, rights, wrong.say
        self.program = wrong.program
        self.wrong_at = wrong.program.lowest
        self.more = wrong.choices
        self.orders = orders or order.Orders()
        self.verdict, self.level, self.stage = "compiler", "", ""
        self.pass_: NamedPass | None = None
        self.means: set[str] = set()
        self.notes: list[str] = []
        self.levels: dict[str, str] = {}
        self.spliced_with: str | None = None
        self.born = False  # whether the TTIR of the front end is wrong already
        self._optimised = False  # whether the fault needs LLVM's optimisation

    def at(self, level: str, plan: dict | None = None, **more) -> Trial:
        return self.release.at(level, plan, **self.more, **more)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def fault(self, evidence: list) -> CompilerFault:
        """The result of the search."""
        return CompilerFault(
            verdict=self.verdict, level=self.level or None, stage=self.stage or None, pass_=self.pass_,
            confirmed_by=[m for m in MEANS if m in self.means], evidence=evidence, notes=self.notes,
            levels=self.levels or None, spliced_with=self.spliced_with,
        )  # fmt: skip

    def run(self) -> None:
        """Finds the level, the stage and the pass."""
        step = None
        if not self.program.is_measured:
            step = self._by_execution()
            if self.verdict == "hardware" or self.level == self.program.code:
                return
        where, spliced = self._by_splice(step)
        if where == "source":
            self.take("ttir", None)
            self.verdict, self.means = "front end", {"execution", "splice"} if self.born else {"splice"}
            self.born = False
        elif where in ("llir", "code") and self.born:
            self.note("it is wrong with the right release's IR too: the program, or what it imports, differs")
            self.verdict, self.means = "kernel", {"execution", "splice"}
            where = "source"
        elif where is not None:
            self._combine(step, where, spliced)
        elif step is not None:
            self._take_step(step, "execution")
        self._inside_llvm(where)
        if self.pass_ and short_name(self.pass_.add or CONVERSION) != CONVERSION:
            self._leave_out()
        elif self.pass_ is None and self.stage in ("", "make_ttgir") and not self.born:
            if self.rights or not self.program.is_measured:
                self._omissions()
            else:
                self.note("no release is right: there is none to splice with")

    # --- execution --------------------------------------------------------------------------------------

    def judge_levels(self) -> dict[str, Trial]:
        """The program run at each level."""
        trials = {level: self.at(level) for level in self.program.levels}
        self.levels = {level: trial.verdict for level, trial in trials.items()}
        return trials

    def _by_execution(self) -> Step | None:
        """Finds where values become wrong by executing: sets the level and the stage, returns the pass."""
        trials = self.judge_levels()
        self.say(", ".join(f"{level} {trial.verdict}" for level, trial in trials.items()))
        levels = list(trials)
        first = levels[-1]
        for level in reversed(levels):
            if trials[level].verdict != "wrong":
                break
            first = level
        above = levels[: levels.index(first)]
        for level in above:
            if trials[level].verdict == "wrong":
                self.note(
                    f"{level} is wrong too, but a level below it is right: a fault of the engine at {level}"
                )
            if trials[level].verdict == "unknown":
                self.note(f"{level} could not be judged: {trials[level].first_why}")
        if first == "source":
            self.born = True
            self.take("ttir", None)
            return None
        self.take(first if first in ("ttir", "ttgir") else "llir", None)
        if above and trials[above[-1]].verdict == "unknown":
            return None
        if first != self.program.code:
            return self._in_stage(_STAGE[first])
        return self._as_hardware() if self._is_hardware() else self._below_ttgir()

    def _is_hardware(self) -> bool:
        """Returns whether TTGIR is right by itself, and has the bits of the PTX where it rounds as the target
        does."""
        if self.levels.get("ttgir") != "right" or not self.program.target.startswith("cuda:"):
            return False
        rounded = self.at("ttgir", variables=_HARDWARE, launches={})
        self.say(f"at ttgir as the hardware rounds: {rounded.verdict}")
        target = self.at("ptx", launches={})
        if rounded.verdict != "wrong" or not rounded.launches or not target.launches:
            return False
        seen = [[(one.kernel, one.arrays) for one in trial.launches.seen] for trial in (rounded, target)]
        return bool(seen[0]) and seen[0] == seen[1]

    def _as_hardware(self) -> None:
        """Sets the verdict on a program that expects more than the target's hardware computes."""
        self.verdict, self.level, self.stage, self.pass_ = "hardware", "", "", None
        texts = [
            kernel.source for kernel in self.at("ttgir", keep="text").kernels if kernel.first is not None
        ]
        product = next(filter(None, map(rounding.product_of_fp8, texts)), None)
        self.note(f'{rounding.cause(product)}: TTGIR with numerics="hardware" gives the bits of the PTX')
        if product is not None:
            self.note(rounding.ADVICE)

    def take(self, level: str, named: NamedPass | None, stage: str = "") -> None:
        """Sets the level of the fault, and its pass and stage where they are known."""
        self.level, self.pass_ = level, named
        self.stage = stage or (_STAGE[level] if not self.born else "")

    def _take_step(self, step: Step, means: str) -> None:
        name, argument = passes_select.name_of(step.add)
        level = _LEVEL.get(step.stage, self.level)
        self.take(level, NamedPass(name, argument, step.add, step.nth), step.stage)
        self.means.add(means)

    def _all_steps(self) -> list[Step]:
        return steps_of(self.at(self.program.lowest).kernels)

    def _conversion(self) -> Step | None:
        """The conversion to LLVM."""
        adds = [step.add for kernel in self.at(self.program.lowest).kernels for step in kernel.passes]
        return next((Step("make_llir", add) for add in adds if short_name(add) == CONVERSION), None)

    def _in_stage(self, stage: str) -> Step | None:
        """The pass of a stage whose input is right and whose output is wrong."""
        steps = [step for step in self._all_steps() if step.stage == stage]
        wrong, _ = first_wrong(len(steps), lambda i: self._after(steps[i]))
        if wrong is None:
            self.note(f"no pass of {stage} was found by executing what it makes")
            return None
        return steps[wrong]

    def _below_ttgir(self) -> Step | None:
        """TTGIR is right and what LLVM generates is wrong: a pass before the conversion, the conversion, or
        LLVM."""
        steps = [step for step in self._all_steps() if step.stage == "make_llir"]
        if self.at(self.program.lowest).trap == "hazard":
            self.take(self.program.code, None)
            self.means.add("execution")
            self.note("LLVM's code generation puts in the waits for registers and for LDS")
            return None
        conversion = self._conversion()
        if conversion is None:
            return None
        wrong, _ = first_wrong(len(steps), lambda i: self._after(steps[i]))
        if wrong is not None:
            return steps[wrong]
        unoptimised = self.at(self.program.lowest, variables={"DISABLE_LLVM_OPT": "1"})
        self.say(f"without LLVM's optimisation: {unoptimised.verdict}")
        if unoptimised.verdict == "right":
            self.note("right without LLVM's optimisation (DISABLE_LLVM_OPT=1)")
            self._optimised = True
            return None
        self.note(
            "the IR is right after every pass before the conversion to LLVM, and wrong after it, with "
            "LLVM's optimisation off too"
            if unoptimised.verdict == "wrong"
            else f"whether LLVM's optimisation matters could not be judged: {unoptimised.first_why}"
        )
        return conversion

    def _after(self, step: Step) -> str:
        """The verdict on the IR after a pass."""
        trial = self.at("ttir" if step.stage == "make_ttir" else "ttgir", {"stop": step.selector})
        self.say(f"after {step}: {trial.verdict}")
        return trial.verdict

    # --- splicing ---------------------------------------------------------------------------------------

    def _by_splice(self, hint: Step | None) -> tuple[str | None, Step | None]:
        """Returns where the fault is, judged by the nearest right release that reads the IR of the wrong one:
        ("source", "pass", "llir" or "code", the pass as a selector). None if no right release reads it."""
        reasons = []
        for right in self.rights[:3]:
            splice = Splice(self.release, right, **self.more)
            if right.at(self.program.lowest, **self.more).verdict != "right" or not splice.is_possible:
                reasons.append(f"{right.version} does not compile the same kernels")
                continue
            where, step = _spliced(splice, hint, self.born)
            if where is not None:
                if where == "llir" and (trial := splice.llir()).verdict == "unknown":
                    self.note(f"its LLIR could not be judged in {right.version}: {trial.first_why}")
                self.spliced_with = right.version
                if step is not None and (lacking := splice.without_slot(splice.steps.index(step))):
                    self.note(
                        f"the conversion to LLVM of {self.release.version} allocates no shared memory for "
                        f"{', '.join(lacking)}, and that of {right.version} does: going on from the IR "
                        f"after {step} is wrong for that reason"
                    )
                    return "pass", self._conversion()
                if step is not None and step.others:
                    self.note(f"what {', '.join(step.others)} makes could not be judged in {right.version}")
                return where, step
            reasons.append(
                f"{right.version}: {splice.reasons[0] if splice.reasons else 'nothing was judged'}"
            )
        for right in self.rights[:1] if reasons else ():
            # An older release does not read newer IR; this one reads the older one's.
            back = Splice(right, self.release, **self.more)
            where, step = _spliced_back(back) if back.is_possible else (None, None)
            if where == "source" and hint is not None and not self.born:
                # The two front ends say different things, and executing this one's is right.
                self.note(f"right with the front end's IR of Triton {right.version}, which is another")
                return None, None
            if where is not None:
                self.spliced_with = right.version
                self.note(f"spliced the other way round: the front half by Triton {right.version}")
                return where, step
            reasons += back.reasons[:1]
        if reasons:
            self.note(f"no right release can continue from its IR ({'; '.join(reasons)})")
        return None, None

    def _combine(self, step: Step | None, where: str, spliced: Step | None) -> None:
        """Sets the pass that splicing found, and notes where execution disagrees."""
        version = self.spliced_with
        if where in ("llir", "code"):
            spliced = self._conversion() if where == "llir" else None
            self.note(f"Triton {version}'s compiler before the conversion to LLVM makes no difference")
            if where == "llir" and step is None and not self.program.is_measured:
                self.take("llir", None)  # LLVM's optimisation, as execution found
                self.means.add("splice")
                return
            if where == "code" and self._is_assembled_otherwise(version):
                return
            if where == "code":
                self.note(f"Triton {version} is right with this release's LLIR: it is LLVM's code generation")
                self.take(self.program.code, None)
                self.means.add("splice")
                return
        same = step is not None and step == spliced
        if step is not None and not same:
            self.note(
                f"executing the IR of this release alone puts it after {step}; Triton {version}, "
                f"going on from the IR after {spliced}, is wrong all the same"
                if where == "pass"
                else f"executing the IR of this release alone puts it after {step}"
            )
        self._take_step(spliced, "splice")
        if same:
            self.means.add("execution")

    def _is_assembled_otherwise(self, version: str) -> bool:
        """Returns whether the right release's assembler makes the oracle's measure right: then the assembler
        is at fault."""
        (right,) = (release for release in self.rights if release.version == version)
        path = assembler.ptxas(right) if self.program.is_measured else None
        if not path or self.at(self.program.lowest, variables=assembler.instead(path)).verdict != "right":
            return False
        self.note(f"right with the ptxas of Triton {version} (TRITON_PTXAS_PATH)")
        self.verdict, self.level, self.stage = "assembler", "cubin", "make_cubin"
        self.means.add("splice")
        return True

    # --- inside LLVM ------------------------------------------------------------------------------------

    def _inside_llvm(self, where: str | None) -> None:
        """Finds the pass of LLVM, unless splicing found the fault before LLVM."""
        placed = where not in (None, "llir", "code") or self.level == "cubin"
        if self.program.lowest != self.program.code or placed:
            return
        if where == "code":
            InsideLlvm(self).generation()
        elif self._optimised and self.pass_ is None:
            InsideLlvm(self).optimisation()
        elif where is None and self._is_conversion and InsideLlvm(self).left_out():
            self.means.discard("execution")

    @property
    def _is_conversion(self) -> bool:
        is_named = self.pass_ is not None and not self.program.is_measured
        return is_named and short_name(self.pass_.add or "") == CONVERSION

    # --- leaving out ------------------------------------------------------------------------------------

    def _leave_out(self) -> None:
        """Tries whether the program is right without the pass that was found."""
        step = Step(self.stage, self.pass_.add, self.pass_.nth)
        without = self.at(self.program.lowest, {"skip": [step.selector]})
        self.say(f"without {step}: {without.verdict}")
        if without.verdict == "right":
            self.means.add("leave-out")
        else:
            why = f" ({without.first_why})" if without.verdict == "unknown" else ""
            self.note(f"without this pass the program is {without.verdict}{why}")

    def _omissions(self) -> None:
        """Leaves out each pass in turn, where no other method found one, and takes the first that helps."""
        helping = []
        for step in self._all_steps():
            trial = self.at(self.program.lowest, {"skip": [step.selector]})
            self.say(f"without {step}: {trial.verdict}")
            if trial.verdict == "right":
                helping.append(step)
        if helping:
            self._take_step(helping[0], "leave-out")
            if len(helping) > 1:
                self.note(f"right without each of {', '.join(map(str, helping))}: the first is named")


def _spliced(splice: Splice, hint: Step | None, born: bool) -> tuple[str | None, Step | None]:
    steps = splice.steps

    def judge(i: int) -> str:
        return splice.after(i).verdict

    if born:
        return ("source" if judge(-1) == "wrong" else None), None
    at = steps.index(hint) if hint in steps else None
    if at is not None and judge(at) == "wrong" and judge(at - 1) == "right":
        return "pass", steps[at]
    wrong, right = first_wrong(len(steps), judge)
    if wrong is None:
        if not _reaches_llir(steps, right):
            return None, None
        return ("code" if splice.llir().verdict == "right" else "llir"), None
    if right < 0 and judge(-1) == "wrong":
        return "source", None
    return "pass", _unsure(steps, right, wrong)


def _reaches_llir(steps: list[Step], last: int) -> bool:
    """Returns whether all stages before make_llir were judged, where `last` is the last step that was."""
    return last >= 0 and all(step.stage == "make_llir" for step in steps[last + 1 :])


def _spliced_back(back: Splice) -> tuple[str | None, Step | None]:
    """The same, but the wrong release continues from a right release's IR: it is right once that IR is after
    the pass at fault."""
    other = {"right": "wrong", "wrong": "right", "unknown": "unknown"}
    wrong, right = first_wrong(len(back.steps), lambda i: other[back.after(i).verdict])
    if wrong is None:
        return ("llir" if _reaches_llir(back.steps, right) else None), None
    if right < 0 and back.after(-1).verdict == "right":
        return "source", None
    return "pass", _unsure(back.steps, right, wrong)


def _unsure(steps: list[Step], right: int, wrong: int) -> Step:
    """A wrong step together with the steps before it that could not be judged."""
    return dataclasses.replace(steps[wrong], others=tuple(map(str, steps[right + 1 : wrong])))


def of_assembler(releases: dict, run: list[str], judged: dict, printed: list[str]) -> CompilerFault:
    """The fault of the assembler in consecutive wrong releases, examined in the newest of them. judged: the
    trials of all releases as machine code. Two experiments confirm it: the assembler without optimisation,
    and the assembler of a right release."""
    it = Search(releases[run[-1]], [])
    it.wrong_at = it.level = "cubin"
    it.verdict, it.stage, it.levels = "assembler", "make_cubin", {"ptx": "right", "cubin": "wrong"}
    it.means.add("execution")
    where = " on this machine's GPU" if devices.gpu() == "cuda" else ""
    it.note(f"right down to PTX, wrong as machine code{where}")
    if it.at("cubin", variables=assembler.PLAIN).verdict == "right":
        it.means.add("leave-out")
        it.note("right with ptxas -O0 (DISABLE_PTXAS_OPT=1)")
    for version in reversed([version for version, trial in judged.items() if trial.verdict == "right"]):
        path = assembler.ptxas(releases[version])
        if path and it.at("cubin", variables=assembler.instead(path)).verdict == "right":
            it.means.add("splice")
            it.spliced_with = version
            it.note(f"right with the ptxas of Triton {version} (TRITON_PTXAS_PATH)")
            break
    for line in it.at("cubin", partings=True).partings:
        it.note(line)
    return it.fault([evidence.evidence(it, printed)])
