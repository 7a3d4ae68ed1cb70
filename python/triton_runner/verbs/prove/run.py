"""Proves the properties of kernels, and looks for launches that refute them."""

from __future__ import annotations

import dataclasses
import re

from triton_runner._kernel.cases.case import open_case
from triton_runner._worker import signatures
from triton_runner.verbs.prove import refine, relations, shared
from triton_runner.verbs.prove.advice import Advice
from triton_runner.verbs.prove.check import Checker, Finding, Goal
from triton_runner.verbs.prove.counter import Refuter
from triton_runner.verbs.prove.held import Integers
from triton_runner.verbs.prove.limit import now
from triton_runner.verbs.prove.model import Reader
from triton_runner.verbs.prove.results import (
    NOTHING,
    PROPERTIES,
    REFUTED,
    UNKNOWN,
    Answer,
    Assumed,
    Proof,
    Reason,
)
from triton_runner.verbs.prove.solver import Solver, contradict
from triton_runner.verbs.prove.subject import Subject, compiled_down, of_texts
from triton_runner.verbs.prove.terms import TRUE, atoms_of

_OF_ADVICE = 0.3  # of the seconds for a property, for what is proposed of data
_FIELD = re.compile(r"\w+\.\w+(?:\[\d\])?")  # x.shape[0]


def proof(subject: Subject, names=(), seconds: float = 5.0, say=lambda text: None) -> Proof:
    """The answers for one kernel. names: the properties, by default all; seconds: for each of them."""
    started = now()
    say(subject.name)
    solver, reader = read(subject, seconds)
    assumed = _assumed((*subject.assumptions, *subject.general()))
    assumed += [
        Assumed("tl.assume", place) for place in dict.fromkeys(str(one.place) for one in reader.assumes)
    ]
    contradictory = _contradictory(subject, solver, reader)
    if contradictory:
        seconds_ = round(now() - started, 3)
        return Proof(subject.name, subject.target, assumed, [], contradictory, seconds_)
    if solver.model(*(one.fact for one in reader.assumes), seconds=2) is None:
        assumed.append(Assumed("all of these hold for some launch, although none was found", "Z3"))
    answers = _answers(subject, solver, reader, names or PROPERTIES, seconds, say)
    return Proof(subject.name, subject.target, assumed, answers, [], round(now() - started, 3))


def without_answers(subject: Subject, names, words: str) -> Proof:
    """The proof of a kernel of which the process ended that looked at it; words: how."""
    why = Reason(f"the process that looked at {subject.name} ended {words}: ask for less (--property)")
    assumed = _assumed((*subject.assumptions, *subject.general()))
    answers = [Answer(name, UNKNOWN, 0, [why]) for name in names or PROPERTIES]
    return Proof(subject.name, subject.target, assumed, answers, [], 0.0)


def _answers(subject: Subject, solver: Solver, reader: Reader, names, seconds: float, say) -> list[Answer]:
    """The answers. A property that is not proved of all launches is looked at again where tensors that are
    alike have one shape: that is an assumption of the answer, and what refutes it has such shapes. A kernel
    that has taken long is not looked at again."""
    began = now()
    of_ttir = [name for name in names if name not in (shared.PROPERTY, refine.PROPERTY)]
    found = [
        _Found(subject, solver, reader, [], one)
        for one in _findings(subject, solver, reader, of_ttir, seconds, say)
    ]
    weak = [one.finding.property for one in found if one.finding.verdict == UNKNOWN]
    if weak and now() - began < 3 * seconds and (other := subject.where_alike()) is not None:
        solver, reader = read(other, seconds)
        if not _contradictory(other, solver, reader):
            held = _assumed(subject.alike)
            again = {
                finding.property: _Found(other, solver, reader, held, finding)
                for finding in _findings(other, solver, reader, weak, seconds, say)
            }
            found = [again.get(one.finding.property, one) for one in found]
    answers = [one.answer(seconds) for one in found]
    if shared.PROPERTY in names:
        refuter = Refuter(subject, solver, seconds, reader.accesses)
        answers.append(_of_shared_memory(subject, refuter, reader))
    if refine.PROPERTY in names:
        answers.append(_of_refinement(subject, seconds))
    return answers


def _of_refinement(subject: Subject, seconds: float) -> Answer:
    if subject.ttgir is None:
        return Answer(refine.PROPERTY, NOTHING, 0, [])
    began = now()
    solver, reader = read(subject, seconds)
    upper, lower = refine.read(subject, solver, reader)
    checker = refine.Refining(upper, lower, solver, subject.tensors, seconds)
    (finding,) = checker.findings([refine.PROPERTY])
    finding.seconds = round(now() - began, 3)
    return _Found(subject, solver, reader, [], finding).answer(seconds)


def _of_shared_memory(subject: Subject, refuter: Refuter, reader: Reader) -> Answer:
    if subject.buffers is not None:
        return subject.buffers
    if subject.ttgir is None:
        return Answer(shared.PROPERTY, NOTHING, 0, [])
    return shared.of_kernel(subject, refuter, reader.loops)


def _findings(subject: Subject, solver: Solver, reader: Reader, names, seconds: float, say):
    held = subject.integers_held
    against = held.against if held is not None else lambda words: ""
    advice = Advice(reader, solver, subject.sizes(), subject.divisors(), seconds * _OF_ADVICE, against)
    checker = Checker(
        reader, solver, subject.tensors, seconds, subject.grid_stays, subject.strange, advice,
        subject.grid or (),
    )  # fmt: skip
    for name in names:
        say(f"{subject.name}: {name}")
        yield from checker.findings([name])


@dataclasses.dataclass
class _Found:
    """A finding, and that of which it is one."""

    subject: Subject
    solver: Solver
    reader: Reader
    assumed: list
    finding: Finding

    def answer(self, seconds: float) -> Answer:
        finding, began = self.finding, now()
        refuter = Refuter(self.subject, self.solver, seconds * 0.3, self.reader.accesses)
        example = refuter.refute(finding.property, finding.goals) if finding.goals else None
        verdict = REFUTED if example else finding.verdict
        spent = round(finding.seconds + now() - began, 3)
        held = self.assumed if verdict != UNKNOWN else []
        goals = [goal.reason for goal in finding.goals]
        if example:
            told = {one.text: one for one in (*held, *_assumed(self._of_launches(finding.goals)))}
            held = list(told.values())
        else:
            goals = [self._with_what_is_alike(goal) for goal in finding.goals]
        reasons = goals + finding.unknown
        return Answer(finding.property, verdict, finding.count, reasons, example, spent, held)

    def _of_launches(self, goals) -> list:
        """Returns the assumptions about launches that refute, as far as they concern goals."""
        atoms = atoms_of(*(cond for goal in goals for cond in goal.conds))
        return [one for one in (*self.subject.alike, *self.subject.ties) if atoms_of(one.cond) & atoms]

    def _with_what_is_alike(self, goal: Goal) -> Reason:
        """The reason of a goal that no launch refutes, with what was assumed of these."""
        like = next((one for one in self._of_launches([goal]) if one.given), None)
        if like is None:
            return self._with_any_grid(goal.reason)
        same = like.text.partition(":")[0]
        text = f"{goal.reason.text}; no launch was found in which {same}, as in its launch: "
        text += f"--given '{like.given}' says what it has"
        return dataclasses.replace(goal.reason, text=text)

    def _with_any_grid(self, reason: Reason) -> Reason:
        """The reason, with what to say of programs, of which nothing is said."""
        if self.subject.grid is not None or self.finding.property not in ("disjoint", "overflow"):
            return reason
        text = f"{reason.text}; nothing says how many programs there are: --grid"
        return dataclasses.replace(reason, text=text)


def _assumed(assumptions) -> list[Assumed]:
    return [Assumed(one.text, one.place) for one in assumptions]


def read(subject: Subject, seconds: float) -> tuple[Solver, Reader]:
    """The kernel as terms, and the solver that has what is assumed. seconds: the most that it may take."""
    solver = Solver(subject.facts(), seconds * 0.4)
    reader = Reader(
        subject.module, subject.function, subject.arguments, solver, subject.declared, subject.unsigned
    )
    solver.deadline = now() + seconds
    reader.read()
    return solver, reader


def _contradictory(subject: Subject, solver: Solver, reader: Reader) -> list[Assumed]:
    """The fewest assumptions that cannot hold together; none where they can."""
    left = [(one.text, one.place, one.cond) for one in subject.assumptions if one.cond is not TRUE]
    left += [("tl.assume", str(one.place), one.fact) for one in reader.assumes]
    taken = {cond for _, _, cond in left}
    parts = {part for cond in taken for part in (cond.args if cond.op == "and" else (cond,))}
    others = [fact for fact in solver.facts if fact not in parts]

    def clash(these) -> bool:
        return contradict([*others, *(cond for _, _, cond in these)], {}, 1.0) is True

    if not clash(left):
        return []
    every = left or [("the sizes of its tensors", "the model of tensors", TRUE)]
    for one in list(left):
        fewer = [other for other in left if other is not one]
        if clash(fewer):
            left = fewer
    # None of them is left where what is declared of memory contradicts what is loaded.
    found = [Assumed(text, place) for text, place, _ in left or every]
    # An equation that put one size in another's place holds by itself since: that size leads to it.
    sizes = {word for one in found for word in _FIELD.findall(one.text)}
    used = [one for one in subject.assumptions if one.cond is TRUE and sizes & {*_FIELD.findall(one.text)}]
    return found + _assumed(one for one in used if one.place.startswith("--given"))


def of_kernel(path: str, name: str, how: dict) -> Subject:
    """The kernel of kernel.py:NAME, of whose sizes nothing is known but what is assumed."""
    compiled = compiled_down(path, **how)
    types = how["signature"] or ""
    if not isinstance(types, dict):  # those of the parameters that are left in the TTIR
        words = types if isinstance(types, (list, tuple)) else signatures.split_signature(types)
        types = [word for word in words if re.match(r"\*|[a-z]+\d", str(word)) and not word.endswith(":1")]
    return of_texts(compiled.asm, name, compiled.target, compiled.metadata, how["constexprs"] or {}, types)


def of_case(path: str) -> tuple[Subject, dict]:
    """The kernel of a case, and how its sizes belong together in its launch; and the launch's values."""
    case = open_case(path)
    launch = case.subject
    subject = of_texts(launch.texts, launch.name, launch.target, launch.metadata, {})
    subject.buffers = shared.of_launch(launch)
    named = dict(launch.arguments.named)
    subject.integers_held = Integers(named)
    relations.of_values(subject, named, launch.grid, f"the launch in {path}")
    return subject, named
