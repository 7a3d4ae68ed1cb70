"""One fault, in a release that is wrong: the level, the stage and the pass.

A fault has three means of finding its pass, which confirm each other. Executing the IR behind a pass tells
where values become wrong, as far down as the conversion to LLVM's dialect. Leaving a pass out tells whether
it takes part. Splicing the front half of a wrong release with the back half of a right one (splice.py) tells
which IR carries the fault: it outranks execution, whose engine follows no layout into threads.
"""

from __future__ import annotations

from triton_runner._bisect import assembler, order
from triton_runner._bisect.llvm import InsideLlvm
from triton_runner._bisect.runs import Outcome, Release
from triton_runner._bisect.splice import CONVERSION, Splice, first_wrong, short, steps_of
from triton_runner._compiler import passes_select

_STAGE = {"ttir": "make_ttir", "ttgir": "make_ttgir", "llir": "make_llir", "ptx": "make_ptx"}
_LEVEL = {stage: level for level, stage in _STAGE.items()}


class Search:
    """One fault, in a release that is wrong at the lowest level; rights: releases that are right."""

    def __init__(self, wrong: Release, rights: list[Release], orders: order.Orders | None = None):
        self.release, self.rights, self.say = wrong, rights, wrong.say
        self.program = wrong.program
        self.wrong_at = wrong.program.lowest
        # Which configuration an autotuner takes is the same in every run.
        choices = wrong.at(self.program.lowest).choices
        self.more = {"choices": choices} if choices else {}
        self.found = {
            "verdict": "compiler", "level": None, "stage": None, "pass": None, "confirmed_by": [],
            "notes": [],
        }  # fmt: skip
        self.orders = orders or order.Orders()
        self._optimised = False  # whether LLVM's optimisation takes part

    def at(self, level: str, plan: dict | None = None, **more) -> Outcome:
        return self.release.at(level, plan, **self.more, **more)

    def note(self, text: str) -> None:
        self.found["notes"].append(text)

    def run(self) -> dict:
        """The level, the stage and the pass."""
        step = None
        if not self.program.is_measured:
            step = self._by_execution()
        where, spliced = self._by_splice(step)
        if where == "source":
            self._take("ttir", None)
            self.found["verdict"], self.found["confirmed_by"] = "front end", ["splice"]
            if self.found.pop("born", False):
                self.found["confirmed_by"] = ["execution", "splice"]
        elif where in ("llir", "ptx") and self.born:
            self.note("it is wrong with the right release's IR too: the program, or what it imports, differs")
            self.found["verdict"], self.found["confirmed_by"] = "kernel", ["execution", "splice"]
            where = "source"
        elif where is not None:
            self._combine(step, where, spliced)
        elif step is not None:
            self._take_step(step, "execution")
        self._inside_llvm(where)
        if self.found["pass"] and (self.found["pass"]["add"] or CONVERSION).rpartition(".")[2] != CONVERSION:
            self._leave_out()
        elif self.found["pass"] is None and self.found["stage"] in (None, "make_ttgir") and not self.born:
            if self.rights or not self.program.is_measured:
                self._omissions()
            else:
                self.note("no release is right: there is none to splice with")
        means = self.found["confirmed_by"]
        self.found["confirmed_by"] = [one for one in ("execution", "leave-out", "splice") if one in means]
        return self.found

    # --- execution --------------------------------------------------------------------------------------

    @property
    def born(self) -> bool:
        return self.found.get("born", False)

    def judge_levels(self) -> dict[str, Outcome]:
        """How the program ends at each level."""
        outcomes = {level: self.at(level) for level in self.program.levels}
        self.found["levels"] = {level: outcome.verdict for level, outcome in outcomes.items()}
        return outcomes

    def _by_execution(self) -> dict | None:
        """Where values become wrong: notes the level and the stage; the pass as a selector."""
        outcomes = self.judge_levels()
        self.say(", ".join(f"{level} {outcome.verdict}" for level, outcome in outcomes.items()))
        levels = list(outcomes)
        first = levels[-1]
        for level in reversed(levels):
            if outcomes[level].verdict != "wrong":
                break
            first = level
        above = levels[: levels.index(first)]
        for level in above:
            if outcomes[level].verdict == "wrong":
                self.note(
                    f"{level} is wrong too, but a level below it is right: a fault of the engine at {level}"
                )
            if outcomes[level].verdict == "unknown":
                self.note(f"{level} could not be judged: {outcomes[level].first_why}")
        if first == "source":
            self.found["born"] = True
            self._take("ttir", None)
            return None
        self._take(first if first in ("ttir", "ttgir") else "llir", None)
        if above and outcomes[above[-1]].verdict == "unknown":
            return None
        return self._behind_ttgir() if first == "ptx" else self._in_stage(_STAGE[first])

    def _take(self, level: str, step: dict | None) -> None:
        self.found["level"] = level
        self.found["stage"] = _STAGE[level] if not self.born else None
        self.found["pass"] = None
        if step is not None:
            name, argument = passes_select.name_of(step["adds"][0])
            self.found["stage"] = step["stage"]
            self.found["pass"] = {
                "name": name, "argument": argument, "add": step["adds"][0], "nth": step["nth"],
            }  # fmt: skip

    def _take_step(self, step: dict, means: str) -> None:
        self._take(_LEVEL.get(step["stage"], self.found["level"]), step)
        self.found["confirmed_by"].append(means)

    def _all_steps(self) -> list[dict]:
        return steps_of(self.at(self.program.lowest).kernels)

    def _conversion(self) -> dict | None:
        """The conversion to LLVM as a selector."""
        for kernel in self.at(self.program.lowest).kernels:
            for _, add, *_ in kernel["passes"]:
                if add.rpartition(".")[2] == CONVERSION:
                    return {"adds": [add], "nth": 1, "stage": "make_llir"}
        return None

    def _in_stage(self, stage: str) -> dict | None:
        """The pass of a stage whose input is right and whose output is wrong."""
        steps = [step for step in self._all_steps() if step["stage"] == stage]
        wrong, _ = first_wrong(len(steps), lambda i: self._behind(steps[i]))
        if wrong is None:
            self.note(f"no pass of {stage} was found by executing what it makes")
            return None
        return steps[wrong]

    def _behind_ttgir(self) -> dict | None:
        """TTGIR is right and PTX is wrong: a pass before the conversion to LLVM, the conversion, or LLVM."""
        steps = [step for step in self._all_steps() if step["stage"] == "make_llir"]
        conversion = self._conversion()
        if conversion is None:
            return None
        wrong, _ = first_wrong(len(steps), lambda i: self._behind(steps[i]))
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

    def _behind(self, step: dict) -> str:
        """The verdict on the IR behind a pass."""
        outcome = self.at("ttir" if step["stage"] == "make_ttir" else "ttgir", {"stop": step})
        self.say(f"after {short(step)}: {outcome.verdict}")
        return outcome.verdict

    # --- splicing ---------------------------------------------------------------------------------------

    def _by_splice(self, hint: dict | None) -> tuple[str | None, dict | None]:
        """("source", "pass", "llir" or "ptx", the pass as a selector): where the fault is by the
        nearest right release that reads the IR of the wrong one; None where none does."""
        reasons = []
        for right in self.rights[:3]:
            splice = Splice(self.release, right, **self.more)
            if right.at(self.program.lowest, **self.more).verdict != "right" or not splice.is_possible:
                reasons.append(f"{right.version} does not compile the same kernels")
                continue
            where, step = _spliced(splice, hint, self.born)
            if where is not None:
                if where == "llir" and (outcome := splice.llir()).verdict == "unknown":
                    self.note(f"its LLIR could not be judged in {right.version}: {outcome.first_why}")
                self.found["spliced_with"] = right.version
                if step is not None and (lacking := self._without_slot(splice, step)):
                    self.note(
                        f"the conversion to LLVM of {self.release.version} allocates no shared memory for "
                        f"{', '.join(lacking)}, and that of {right.version} does: going on from the IR "
                        f"after {short(step)} is wrong for that reason"
                    )
                    return "pass", self._conversion()
                if step is not None and step.get("others"):
                    self.note(
                        f"what {', '.join(step['others'])} makes could not be judged in {right.version}"
                    )
                return where, step
            reasons.append(
                f"{right.version}: {splice.reasons[0] if splice.reasons else 'nothing was judged'}"
            )
        for right in self.rights[:1] if reasons else ():
            # An older release does not read newer IR; this one reads the older one's.
            back = Splice(right, self.release, **self.more)
            where, step = _spliced_back(back) if back.is_possible else (None, None)
            if where is not None:
                self.found["spliced_with"] = right.version
                self.note(f"spliced the other way round: the front half by Triton {right.version}")
                return where, step
            reasons += back.reasons[:1]
        if reasons:
            self.note(f"no right release goes on from its IR ({'; '.join(reasons)})")
        return None, None

    @staticmethod
    def _without_slot(splice: Splice, step: dict) -> list[str]:
        index = next(i for i, one in enumerate(splice.steps) if _same(one, step))
        return splice.without_slot(index)

    def _combine(self, step: dict | None, where: str, spliced: dict | None) -> None:
        """What splicing says, beside what execution said."""
        version = self.found["spliced_with"]
        if where in ("llir", "ptx"):
            spliced = self._conversion() if where == "llir" else None
            self.note(f"Triton {version}'s compiler before the conversion to LLVM makes no difference")
            if where == "llir" and step is None and not self.program.is_measured:
                self._take("llir", None)  # LLVM's optimisation, as execution found
                self.found["confirmed_by"].append("splice")
                return
            if where == "ptx" and self._is_assembled_otherwise(version):
                return
            if where == "ptx":
                self.note(f"Triton {version} is right with this release's LLIR: it is LLVM's code generation")
                self._take("ptx", None)
                self.found["confirmed_by"].append("splice")
                return
        same = step is not None and _same(step, spliced)
        if step is not None and not same:
            self.note(
                f"executing the IR of this release alone puts it after {short(step)}; Triton {version}, "
                f"continuing from the IR after {short(spliced)}, is wrong all the same"
                if where == "pass"
                else f"executing the IR of this release alone puts it after {short(step)}"
            )
        self._take_step(spliced, "splice")
        if same:
            self.found["confirmed_by"].append("execution")

    def _is_assembled_otherwise(self, version: str) -> bool:
        """Whether what an oracle measures is right with the right release's assembler: then it is that."""
        (right,) = (one for one in self.rights if one.version == version)
        path = assembler.ptxas(right) if self.program.is_measured else None
        if not path or self.at(self.program.lowest, variables=assembler.instead(path)).verdict != "right":
            return False
        self.note(f"right with the ptxas of Triton {version} (TRITON_PTXAS_PATH)")
        self.found |= {"verdict": "assembler", "level": "cubin", "stage": "make_cubin"}
        self.found["confirmed_by"].append("splice")
        return True

    # --- inside LLVM ------------------------------------------------------------------------------------

    def _inside_llvm(self, where: str | None) -> None:
        """The pass of LLVM, where splicing did not put the fault before it."""
        placed = where not in (None, "llir", "ptx") or self.found["level"] == "cubin"
        if self.program.lowest != "ptx" or placed:
            return
        if where == "ptx":
            InsideLlvm(self).generation()
        elif self._optimised and self.found["pass"] is None:
            InsideLlvm(self).optimisation()
        elif where is None and self._is_conversion and InsideLlvm(self).left_out():
            self.found["confirmed_by"].remove("execution")

    @property
    def _is_conversion(self) -> bool:
        named = self.found["pass"]
        return bool(named) and not self.program.is_measured and named["add"].rpartition(".")[2] == CONVERSION

    # --- leaving out ------------------------------------------------------------------------------------

    def _leave_out(self) -> None:
        """Whether the program is right without the pass that was found."""
        step = {
            "adds": [self.found["pass"]["add"]],
            "nth": self.found["pass"]["nth"],
            "stage": self.found["stage"],
        }
        without = self.at(self.program.lowest, {"skip": [step]})
        self.say(f"without {short(step)}: {without.verdict}")
        if without.verdict == "right":
            self.found["confirmed_by"].append("leave-out")
        else:
            why = f" ({without.first_why})" if without.verdict == "unknown" else ""
            self.note(f"without this pass the program is {without.verdict}{why}")

    def _omissions(self) -> None:
        """Each pass left out in its turn, where nothing else found one; the earliest that helps."""
        helping = []
        for step in self._all_steps():
            outcome = self.at(self.program.lowest, {"skip": [step]})
            self.say(f"without {short(step)}: {outcome.verdict}")
            if outcome.verdict == "right":
                helping.append(step)
        if helping:
            self._take_step(helping[0], "leave-out")
            if len(helping) > 1:
                self.note(f"right without each of {', '.join(map(short, helping))}: the first is named")


def _spliced(splice: Splice, hint: dict | None, born: bool) -> tuple[str | None, dict | None]:
    steps = splice.steps

    def judge(i: int) -> str:
        return splice.behind(i).verdict

    if born:
        return ("source" if judge(-1) == "wrong" else None), None
    at = next((i for i, step in enumerate(steps) if hint is not None and _same(step, hint)), None)
    if at is not None and judge(at) == "wrong" and judge(at - 1) == "right":
        return "pass", steps[at]
    wrong, right = first_wrong(len(steps), judge)
    if wrong is None:
        if not _reaches_llir(steps, right):
            return None, None
        return ("ptx" if splice.llir().verdict == "right" else "llir"), None
    if right < 0 and judge(-1) == "wrong":
        return "source", None
    return "pass", {**steps[wrong], "others": [short(step) for step in steps[right + 1 : wrong]]}


def _reaches_llir(steps: list[dict], last: int) -> bool:
    """Whether all stages before make_llir were judged, where `last` is the last step that was."""
    return last >= 0 and all(step["stage"] == "make_llir" for step in steps[last + 1 :])


def _spliced_back(back: Splice) -> tuple[str | None, dict | None]:
    """The same with a right release's IR in the wrong one: right behind the pass that it does better."""
    other = {"right": "wrong", "wrong": "right", "unknown": "unknown"}
    wrong, right = first_wrong(len(back.steps), lambda i: other[back.behind(i).verdict])
    if wrong is None:
        return ("llir" if _reaches_llir(back.steps, right) else None), None
    if right < 0 and back.behind(-1).verdict == "right":
        return "source", None
    return "pass", {**back.steps[wrong], "others": [short(step) for step in back.steps[right + 1 : wrong]]}


def _same(a: dict, b: dict) -> bool:
    return (a["adds"], a["nth"], a["stage"]) == (b["adds"], b["nth"], b["stage"])
