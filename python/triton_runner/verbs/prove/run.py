"""Proves the properties of kernels, and looks for launches that refute them."""

from __future__ import annotations

import time

from triton_runner.verbs.prove.check import Checker
from triton_runner.verbs.prove.counter import Refuter
from triton_runner.verbs.prove.model import Reader
from triton_runner.verbs.prove.results import (
    PROPERTIES,
    PROVED,
    REFUTED,
    Answer,
    Assumed,
    Proof,
)
from triton_runner.verbs.prove.solver import Solver
from triton_runner.verbs.prove.subject import Subject
from triton_runner.verbs.prove.terms import FALSE, TRUE


def proof(subject: Subject, names=(), seconds: float = 5.0, say=lambda text: None) -> Proof:
    """The answers for one kernel. names: the properties, by default all; seconds: for each of them."""
    started = time.perf_counter()
    solver = Solver(subject.facts(), min(seconds, 2.0))
    say(subject.name)
    reader = Reader(subject.module, subject.function, subject.arguments, solver, subject.declared)
    reader.read()
    assumed = [Assumed(one.text, one.place) for one in (*subject.assumptions, *subject.general())]
    assumed += [Assumed("tl.assume", str(place)) for _, place in dict(reader.assumes).items()]
    contradictory = _contradictory(subject, solver, reader)
    if contradictory:
        seconds_ = round(time.perf_counter() - started, 3)
        return Proof(subject.name, subject.target, assumed, [], contradictory, seconds_)
    checker = Checker(reader, solver, subject.tensors, seconds)
    refuter = Refuter(subject, solver, min(seconds, 1.5))
    answers = []
    for finding in checker.findings(names or PROPERTIES):
        say(f"{subject.name}: {finding.property}")
        began = time.perf_counter()
        example = refuter.refute(finding.property, finding.goals) if finding.goals else None
        if finding.property == "covered" and finding.goals and not example:
            example = refuter.uncovered()
        reasons = [goal.reason for goal in finding.goals] + finding.unknown
        verdict = REFUTED if example else finding.verdict
        spent = round(finding.seconds + time.perf_counter() - began, 3)
        answers.append(Answer(finding.property, verdict, finding.count, reasons, example, spent))
    return Proof(
        subject.name, subject.target, assumed, answers, [], round(time.perf_counter() - started, 3)
    )


def _contradictory(subject: Subject, solver: Solver, reader: Reader) -> list[Assumed]:
    """The fewest assumptions that cannot hold together; none where they can."""
    conds = [(one, one.cond) for one in subject.assumptions if one.cond is not TRUE]
    assumes = [(Assumed("tl.assume", str(place)), cond) for cond, place in reader.assumes]
    if solver.proves(FALSE, [cond for _, cond in assumes]) is not True:
        return []
    left = [*conds, *assumes]
    for pair in list(left):
        fewer = [one for one in left if one is not pair]
        trial = Solver([], 1.0)
        base = [fact for fact in solver.facts if fact not in {cond for _, cond in conds}]
        if trial.proves(FALSE, [*base, *(cond for _, cond in fewer)]) is True:
            left = fewer
    return [Assumed(one.text, one.place) for one, _ in left]


__all__ = ["PROVED", "proof"]
