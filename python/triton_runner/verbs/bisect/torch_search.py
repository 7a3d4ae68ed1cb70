"""Searches where a program with torch.compile becomes wrong: the stage of torch.compile, the pass, fusion,
lowering or setting of Inductor, the kernel, and where Triton is at fault its level and pass.

Each run is the unchanged program in a process of its own, in which every compiled graph is compared with the
same graph in eager mode (watch.py). The program's own verdict counts too: it sees what no graph holds."""

from __future__ import annotations

import contextlib
import dataclasses

from triton_runner._base.errors import DiagnosticError
from triton_runner._base.paths import check_program
from triton_runner.verbs.bisect import order, search
from triton_runner.verbs.bisect.inductor.compiled import (
    AOT,
    DECOMPOSED,
    EAGER,
    INDUCTOR,
    NAMES,
    OFF,
    Compiled,
    Line,
    Parting,
)
from triton_runner.verbs.bisect.inductor.switches import OWN_RANDOM, PASSES, SETTINGS
from triton_runner.verbs.bisect.runs import BisectedProgram, Release
from triton_runner.verbs.bisect.torch_results import Cause, Judged, TorchFound
from triton_runner.verbs.bisect.trial import Trial

_TOP = "ttir"  # the level at which runs are made until Triton is in question
_STAGES = {EAGER: "dynamo", AOT: "aot", DECOMPOSED: "decomposition", INDUCTOR: "inductor"}
_WHERE = {
    "dynamo": "Dynamo, which captures the graph",
    "aot": "AOTAutograd, which traces forward and backward",
    "decomposition": "the decompositions and the partition of the graph",
    "inductor": "Inductor",
}
_RACE = {"TRITON_RUNNER_CHECK": "race", "TRITON_RUNNER_TIMING": "late"}
_FINE = ("right", "rounding", "random", "not compiled", "unknown")


def bisect_torch(program: BisectedProgram, releases: list, say=lambda text, done=None: None) -> TorchFound:
    """The verdict on a program in each of the releases of torch, each as (version, a function that gives a
    Release)."""
    if not program.is_module:
        check_program(program.name)
    program = dataclasses.replace(program, torch={"backend": INDUCTOR})
    judged = []
    for number, (version, release_of) in enumerate(releases):
        try:
            with contextlib.closing(release_of(program, say)) as release:
                judged.append(_TorchSearch(version, release, say).judged())
        except DiagnosticError as error:  # it cannot be fetched, or does not start
            none = Judged(torch=version, triton="", verdict="unknown", headline=error.message)
            judged.append(dataclasses.replace(none, notes=[*error.notes]))
        say(f"torch {version}: {judged[-1].headline}", done=(number + 1, len(releases)))
    wrong = [one for one in judged if one.verdict not in _FINE]
    unknown = [one for one in judged if one.verdict == "unknown"]
    main = (wrong or unknown or judged)[-1]  # right is right in all of them
    return TorchFound(verdict=main.verdict, program=program.name, target=program.target, releases=judged)


class _TorchSearch:
    """The search in one release of torch."""

    def __init__(self, version: str, release: Release, say):
        self._version, self._release, self._say = version, release, say
        self._stages: dict[str, str] = {}
        self._notes: list[str] = []
        self._compiled = Compiled()

    def _run(self, stage: str, level: str = _TOP, variables: dict | None = None, **plan) -> Trial:
        given = {name: len(value) if isinstance(value, list) else value for name, value in plan.items()}
        about = ", ".join(f"{name}={value}" for name, value in given.items() if value is not None)
        run = f"{NAMES.get(stage, stage)}{f' at {level}' * (level != _TOP)}{f' ({about})' * bool(about)}"
        self._say(f"torch {self._version}: running {run}")
        trial = self._release.at(level, variables=variables, torch={"backend": stage, **plan})
        self._say(f"torch {self._version}: {run}: {trial.verdict}")
        return trial

    def _of(self, verdict: str, headline: str, trial: Trial | None = None, **fields) -> Judged:
        trial = trial or Trial("unknown")
        compiled = self._compiled
        printed = [line[:200] for line in trial.output.splitlines() if line.strip()][-8:]
        fields.setdefault("said", printed if trial.verdict != "right" else [])
        return Judged(
            torch=self._version, triton=self._release.version, verdict=verdict, headline=headline,
            stages=self._stages, notes=list(dict.fromkeys([*self._notes, *compiled.notes])),
            graphs=compiled.graphs, compared=compiled.compared, runs=self._release.runs, **fields,
        )  # fmt: skip

    def judged(self) -> Judged:
        """The verdict."""
        off = self._stage(OFF)
        if off.verdict == "unknown":
            return self._of("unknown", f"it does not run without torch.compile: {off.first_why}", off)
        if off.verdict == "wrong":
            return self._of(
                "program", f"the program is wrong without torch.compile too: {off.first_why}", off
            )
        if not off.compiled.asked:
            return self._of("not compiled", "it never calls torch.compile")
        trial = self._stage(INDUCTOR)
        self._compiled = trial.compiled or Compiled()
        if trial.verdict == "right" and not self._compiled.graphs:
            return self._of("not compiled", "it calls torch.compile, and runs nothing that it compiles")
        if trial.trap == "data race":
            return self._of_race(trial)
        if trial.verdict == "unknown" and trial.trap:
            return self._of("unknown", f"the engine cannot run it: {trial.first_why}", trial)
        return self._right(trial) if trial.verdict == "right" else self._wrong(trial)

    def _stage(self, stage: str) -> Trial:
        trial = self._run(stage)
        self._stages[stage] = trial.verdict if trial.verdict != "unknown" else "fails"
        return trial

    # --- right at the top: Triton's levels, and races

    def _right(self, trial: Trial) -> Judged:
        if self._compiled.has_triton:
            checked = self._run(INDUCTOR, variables=_RACE)
            if checked.trap == "data race" and order.is_fault(checked):
                return self._of_race(checked)
            lowest = self._release.program.lowest
            below = self._run(INDUCTOR, lowest) if lowest != _TOP else trial
            if below.verdict == "wrong":
                return self._of_triton(below)
            if below.verdict == "unknown":
                self._notes.append(f"{lowest} could not be judged: {below.first_why}")
        if self._compiled.is_random and self._run(INDUCTOR, own_random=True).verdict == "wrong":
            return self._of(
                "random", f"right with eager's random numbers ({OWN_RANDOM.text}): Inductor draws its own"
            )
        graphs = f"{self._compiled.graphs} graph{'s' * (self._compiled.graphs != 1)}"
        if not self._compiled.compared:
            self._notes.append("no value of a graph was compared: only the program judges")
            return self._of("right", f"right, as the program judges it: {graphs}")
        return self._of("right", f"right: {graphs}, whose values are eager's as far as rounding allows")

    def _of_race(self, trial: Trial) -> Judged:
        kernel = trial.place.kernel if trial.place else None
        compiled = trial.compiled or self._compiled
        code = compiled.code(kernel or "") or self._compiled.code(kernel or "")
        line = next((node.line for node in reversed(code.nodes) if node.line), None) if code else None
        node = ", ".join(node.name for node in code.nodes) if code else None
        self._notes.append(f"a race: {trial.why.splitlines()[0]}")
        return self._of(
            "undefined", f"a data race in kernel '{kernel}', which Inductor wrote", trial,
            kernel=kernel, node=node or None, line=line,
        )  # fmt: skip

    def _of_triton(self, trial: Trial) -> Judged:
        fault = search.fault_of(self._release, trial)
        parting = _first(trial.compiled)
        kernel = next((seen.kernel for seen in fault.evidence if seen.kernel), None)
        return self._of(
            "compiler", f"Triton: {fault.headline}", trial, fault=fault, levels=fault.levels,
            **self._answer(parting, None, kernel),
        )  # fmt: skip

    # --- wrong at the top: the stage, the pass, the kernel

    def _wrong(self, trial: Trial) -> Judged:
        if self._compiled.backend != INDUCTOR:
            verdict, where = "backend", f"backend {self._compiled.backend!r}, the program's own"
        else:
            for stage in (EAGER, AOT, DECOMPOSED):
                earlier = self._stage(stage)
                if earlier.verdict != "right":
                    trial, verdict = earlier, _STAGES[stage]
                    break
            else:
                stage, verdict = INDUCTOR, "inductor"
            where = _WHERE[verdict]
        compiled = trial.compiled or Compiled()
        crash = trial.verdict == "unknown"
        if crash:
            headline = f"fails in {where}: {_reason(trial)}"
        elif not compiled.partings and verdict not in ("dynamo", "backend") and self._is_rounding():
            return self._of(
                "rounding", "rounding alone makes it wrong: the program expects more than floats hold", trial
            )
        else:
            headline = f"first wrong in {where}"
        if verdict in ("dynamo", "backend"):
            return self._of(verdict, headline, trial, is_crash=crash, **self._answer(_first(compiled), None))
        causes = self._causes(stage)
        parting, levels = _first(compiled), None
        cause = causes[0] if causes else None
        if stage == INDUCTOR and parting and parting.kernel and self._compiled.has_triton and not crash:
            source = self._run(INDUCTOR, "source")
            levels = {"source": source.verdict, _TOP: trial.verdict}
            if source.verdict == "right":
                return self._of_triton(trial)
        if cause is not None:
            headline += f", {cause}"
        elif parting and parting.kernel and not crash:
            headline += f", kernel '{parting.kernel}'"
        if not compiled.partings and not crash:
            self._notes.append(
                "every value of a graph that was compared is right: the program sees another one"
            )
        return self._of(
            verdict, headline, trial, is_crash=crash, cause=cause, others=causes[1:], levels=levels,
            **self._answer(parting, cause),
        )  # fmt: skip

    def _is_rounding(self) -> bool:
        """Returns whether the program is wrong without torch.compile, too, once each operator's result is
        moved by rounding."""
        trials = [self._run(OFF, perturb=seed) for seed in (1, 2)]
        return any(trial.verdict == "wrong" for trial in trials)

    def _answer(self, parting: Parting | None, cause: Cause | None, kernel: str | None = None) -> dict:
        """The user's line, the node and the kernel."""
        line: Line | None = parting.line if parting else None
        node = parting.node if parting else None
        kernel = kernel or (parting.kernel if parting else None)
        names = [cause.name] if cause and cause.kind == "lowerings" else []
        if cause and cause.kind == "fusions":
            names = [name for side in cause.name.split(" with ") for name in side.split(" + ")][::-1]
        known = next(filter(None, map(self._compiled.node, names)), None)
        # A lowering is closer to the fault than the value in which it shows.
        if known is not None and (node is None or cause.kind == "lowerings"):
            node, line = known.name, known.line or line
        if kernel and line is None and (code := self._compiled.code(kernel)):
            line = next((one.line for one in reversed(code.nodes) if one.line), None)
            node = node or ", ".join(one.name for one in code.nodes)
        return {"parting": parting, "line": line, "node": node, "kernel": kernel}

    # --- what can be left out

    def _causes(self, stage: str) -> list[Cause]:
        """The parts without which the program is right: the first pass, or else fusions, settings and
        lowerings."""
        names = ("decomposition",) if stage == DECOMPOSED else PASSES if stage == INDUCTOR else ()
        for name in names:
            if (cause := self._subsystem(stage, name)) is not None:
                return [cause]
        if stage != INDUCTOR:
            return self._settings(stage)
        fusion, lowering = (self._subsystem(stage, name) for name in ("fusions", "lowerings"))
        return [cause for cause in (fusion, *self._settings(stage), lowering) if cause is not None]

    def _subsystem(self, stage: str, name: str) -> Cause | None:
        """The first application of a subsystem with which the program is wrong, by bisection."""
        if self._run(stage, subsystem=name, most=0).verdict != "right":
            return None
        full = self._run(stage, subsystem=name, most=None)
        right, wrong = 0, len(full.compiled.applied) if full.compiled else 0
        if not wrong:
            return None
        while wrong - right > 1:
            middle = (right + wrong) // 2
            is_right = self._run(stage, subsystem=name, most=middle).verdict == "right"
            right, wrong = (middle, wrong) if is_right else (right, middle)
        last = self._run(stage, subsystem=name, most=wrong)
        applied = (last.compiled or full.compiled).applied
        of = len(full.compiled.applied)
        return Cause(name, applied[wrong - 1] if wrong <= len(applied) else "", wrong, of)

    def _settings(self, stage: str) -> list[Cause]:
        """The settings with which the program is right: each by itself, if it is with all of them."""
        texts = [one.text for one in SETTINGS if one.text in self._compiled.settings]
        unlike = "config.cpp." if self._compiled.has_triton else "config.triton."
        texts = [text for text in texts if unlike not in text]
        if not texts or self._run(stage, settings=texts).verdict != "right":
            return []
        return [
            Cause("setting", text) for text in texts if self._run(stage, settings=[text]).verdict == "right"
        ]


def _first(compiled: Compiled | None) -> Parting | None:
    """The parting that says most: one with a kernel, or else the first."""
    partings = compiled.partings if compiled else []
    return next((one for one in partings if one.kernel), partings[0] if partings else None)


def _reason(trial: Trial) -> str:
    """The line of an error that says what is wrong: torch puts it between a name and advice."""
    lines = [line.strip() for line in trial.why.splitlines() if line.strip()]
    return lines[0][:200] if lines else "no reason is given"
