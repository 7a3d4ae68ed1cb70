"""Judges the launches of a program while it runs: decides which of them (Selection), and gives the verdict on
all (Judging)."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import mmap
import os
import re
import sys
import threading

from triton_runner import _settings
from triton_runner._artifact.relaunch import pointed
from triton_runner._base.errors import KernelTrap
from triton_runner._code.slices import arguments_of
from triton_runner._kernel.cases import severity
from triton_runner._kernel.cases.results import FINE, Judged, Left
from triton_runner._kernel.compiling import failures
from triton_runner._kernel.dumps import accesses
from triton_runner._launch import launchers
from triton_runner._launch.launchers import Call, axes_of, observing
from triton_runner._memory import uninit
from triton_runner._memory.tracking import track_empty
from triton_runner._pipeline import stages
from triton_runner._pretend import running
from triton_runner.verbs.verify import (
    comparisons,
    mismatch,
    overlap,
    partial,
    references,
    source_checks,
    spoilt,
    unwritten,
)
from triton_runner.verbs.verify.run import Judge, JudgedProgram, Verdict

# Functions that launch a kernel only to time it, by module: autotuners choose by that, and the launch with
# what they chose comes after.
_TUNERS = {
    "triton.runtime.autotuner": {"_bench"},
    "torch._inductor.runtime.triton_heuristics": {"bench", "benchmark_all_configs", "autotune_to_one_config"},
    "torch._inductor.autotune_process": {"benchmark", "do_bench"},
    "torch._inductor.codegen.simd": {"benchmark_fused_nodes", "benchmark_codegened_module"},
    "torch._inductor.codegen.triton": {"benchmark_codegened_module"},
}


@dataclasses.dataclass(frozen=True)
class Checks:
    """The comparisons of a program by launch: checks that passed, comparisons that gave False; idle: why a
    check does not count as a comparison; sees_some: launches whose check sees some results all the same."""

    passed: dict[int, str] = dataclasses.field(default_factory=dict)
    differed: dict[int, str] = dataclasses.field(default_factory=dict)
    idle: dict[int, str] = dataclasses.field(default_factory=dict)
    sees_some: frozenset[int] = frozenset()

    def settled(self, judged: list[Judged], strict: bool) -> list[Judged]:
        """The verdicts on launches that these comparisons are of."""
        settled = [*judged]
        for number, by in self.passed.items():
            one = judged[number]
            if number not in self.idle:
                one = one.compared_with("program", by)
            if not strict and (number not in self.idle or number in self.sees_some):
                one = _accepted(one, by)
            settled[number] = one
        for number, by in self.differed.items():
            settled[number] = dataclasses.replace(settled[number], differed_by=by)
        for number, why in self.idle.items():
            settled[number] = dataclasses.replace(settled[number], idle_check=why)
        return settled


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A program that has run: what was judged, before its own comparisons count, and these; doubts: launches
    whose checks may be idle; notes: on references."""

    judged: list[Judged]
    checks: Checks
    program: JudgedProgram
    left: Left
    strict: bool
    notes: list[str] = dataclasses.field(default_factory=list)
    doubts: list[spoilt.Doubt] = dataclasses.field(default_factory=list)

    def verdict(self, tried=None) -> Verdict:
        """tried: what the checks of the program see of other results; None: the program did not run again."""
        unseen = {} if tried is None else spoilt.idle([*tried], self.doubts)
        tried = [*(tried or ())]
        idle = {number: f"{self.checks.passed[number]} {why}" for number, why in unseen.items()}
        passed = {**self.checks.passed}
        for doubt in self.doubts:
            if doubt.orderless and doubt.number in passed:
                names = ", ".join(f"'{name}'" for name in sorted(doubt.orderless))
                passed[doubt.number] += f" (a sum or the like of {names}, in any order)"
        some = frozenset(spoilt.sees_some(tried))
        checks = dataclasses.replace(
            self.checks, passed=passed, idle={**self.checks.idle, **idle}, sees_some=some
        )
        judged = checks.settled(self.judged, self.strict)
        return Verdict(judged, self.program, self.left, self.strict, self.notes)

    @property
    def is_doubtful(self) -> bool:
        """Returns whether the verdict depends on checks that may be idle."""
        return bool(self.doubts) and self.verdict().verdict in FINE


class Selection(launchers.Selection):
    """The launches of a program that are judged, by judged_of(call), the first `most` that differ in what can
    change what a launch does: kernel, grid, and of the arguments shapes, strides, which of them overlap, how
    they are aligned, and numbers. names: only these kernels.

    Launches that differ in numbers alone take up half of the places at most; those whose arguments overlap in
    a new way have as many places again. Launches that a tuner only times take none.
    """

    def __init__(self, judged_of, names=(), most: int = 16):
        super().__init__(names, most)
        self._judged_of = judged_of
        self.judged: list[Judged] = []
        self.left = Left()
        self._kernels: dict[int, object] = {}  # those that were seen, whose ids stay theirs
        self._shapes: set = set()  # keys without numbers
        self._overlaps: set = set()
        # By launch the check of the program, and a comparison that gave False.
        self._checked: dict[int, str] = {}
        self._differed: dict[int, str] = {}
        self._repeated = 0  # how many were judged whose numbers alone were new

    def see(self, call: Call) -> int | None:
        """Judges a launch that is about to run, if it is one of those. Returns the number of the verdict on
        it or on an equal one; None: there is none."""
        if call.is_empty:
            self.left.empty_launch(call)
            return None
        if _is_timed():
            self.left.timed += 1
            return None
        self._kernels[id(call.kernel)] = call.kernel
        key = (id(call.kernel), axes_of(call.grid), *overlap.key(call.named))
        found = self.look(call.name, key, lambda: self._judge(call))
        self.left.out, self.left.others = self.left_out, sorted(self.others)
        return found

    def stopped(self, call: Call) -> None:
        """Judges a launch that ended the program by a fault, and that was left out before."""
        self.left.timed -= _is_timed()
        self._judge(call)

    def _judge(self, call: Call) -> int:
        self.judged.append(self._judged_of(call))
        return len(self.judged) - 1

    def has_place(self, key) -> bool:
        kernel, *_, shared, _ = key
        is_overlap = bool(shared) and (kernel, shared) not in self._overlaps
        is_repeated = key[:-1] in self._shapes
        self._shapes.add(key[:-1])
        self._overlaps.add((kernel, shared))
        if is_repeated:
            self._repeated += 1
            return self.count < self.most and self._repeated <= self.most // 2
        return self.count < (2 * self.most if is_overlap else self.most)

    def compared(self, numbers, by: str) -> None:
        """The program came to a check that depends on what these launches wrote."""
        for number in numbers:
            self._checked.setdefault(number, by)

    def differed(self, numbers, by: str) -> None:
        """A comparison by the program of what these launches wrote gave False, and nothing came of it."""
        self._differed |= dict.fromkeys(numbers, by)

    def checks(self, has_passed: bool) -> Checks:
        """Returns what the program's own comparisons say. has_passed: its checks hold."""
        return Checks(self._checked if has_passed else {}, self._differed)

    def settled(self, has_passed: bool, strict: bool = False) -> list[Judged]:
        """The verdicts after the program has ended. has_passed: its checks hold."""
        self.judged = self.checks(has_passed).settled(self.judged, strict)
        return self.judged


def _is_timed() -> bool:
    """Returns whether a tuner makes the launch."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in _TUNERS.get(frame.f_globals.get("__name__"), ()):
            return True
        frame = frame.f_back
    return False


class Judging:
    """The judgement of the launches of a program while it runs. told(what): of each Judged as it is made, of
    (launches, check) that the program came to with the list of Doubts then, and of the name of a kernel that
    is about to be judged."""

    def __init__(self, how: Judge, names=(), most: int = 16, told=lambda what: None):
        self._how, self._told = how, told
        self._selection = Selection(self._judged, names, most)
        self._mismatch = mismatch.Mismatch()
        self._comparisons = comparisons.Comparisons(
            self._compared, self._selection.differed, self._mismatch.compared
        )
        self._differs: list[str] = []  # lines on the element that the program finds wrong
        # By launch the arguments that it writes, and those of them that may be for its own use.
        self._arguments: dict[int, tuple[list[str], frozenset[str]]] = {}
        self._in_threads: set[int] = set()  # launches that threads of the program make
        self._process = os.getpid()
        self._elsewhere = mmap.mmap(-1, 1)  # which processes that the program forks have in common with this

    def run(self, program: str, arguments=(), is_module: bool = False, pretend_cuda: bool = False) -> Outcome:
        """Runs the program and returns what was found of all its launches, and how it ended: a program can
        report errors that the engines do not know. Its own launches run in a fixed order too, because later
        launches use their results."""
        with (
            stages.apart(), tracking(self._how.checks), self._comparisons.watching(), observing(self._see),
            _settings.using(threads=1),
        ):  # fmt: skip
            ended = running.ended(
                program, list(arguments), is_module, pretend_cuda, explained=self._explained,
                is_check=source_checks.is_failure,
            )  # fmt: skip
            found = uninit.finish()
            if ended.how == "failed aside":
                self._differs = self._differs or self._mismatch.explained(self._say_of_changes)
            elif ended.status == 0:
                self._differs = self._mismatch.measured(self._say_of_changes)
        self._selection.judged = unwritten.added(
            self._selection.judged, found, self._how.strict, self._mismatch.stores
        )
        return self._outcome(JudgedProgram(program, ended, tuple(self._differs)))

    def _outcome(self, program: JudgedProgram) -> Outcome:
        selection = self._selection
        selection.left.elsewhere = self._elsewhere[0]
        if error := next((one.error for one in self._how.references if one.error), None):
            raise error
        has_passed = program.ended.status == 0 and not program.failed
        checks = selection.checks(has_passed)
        agreed = {
            number: f"{by} compares its result only with what other launches wrote, which nothing else "
            "compares"
            for number, by in self._comparisons.agreements.unsettled().items()
            if has_passed and number not in checks.passed
        }  # fmt: skip
        checks = dataclasses.replace(checks, idle=agreed)
        notes = references.notes(self._how.references)
        judged = selection.judged
        return Outcome(judged, checks, program, selection.left, self._how.strict, notes, self._doubts(checks))

    def _doubts(self, checks: Checks) -> list[spoilt.Doubt]:
        """The launches that a check of the program compares, which is not known to see all of the result."""
        doubts = []
        for number in checks.passed:
            judged, seen = self._selection.judged[number], self._comparisons
            whole = {name for other, name in seen.seen_whole if other == number}
            written, own = self._arguments[number]
            names = tuple(name for name in written if name not in whole and not (whole and name in own))
            orderless = seen.partial.orderless(number) & {*names}
            later = frozenset(name for other, name in seen.read_later if other == number)
            differed = frozenset({checks.differed.get(number, "")} - {""})
            if names and judged.compared == "none":
                doubts.append(
                    spoilt.Doubt(
                        number, judged.kernel, names, later, own, bool(whole), differed, orderless,
                        number in self._in_threads,
                    )
                )  # fmt: skip
        return doubts

    def _explained(self, error: BaseException) -> list[str]:
        """The program is about to end by an exception, its tensors are still there."""
        lines = failures.explained(error)
        if not lines and isinstance(error, (AssertionError, SystemExit)):
            self._differs = self._mismatch.explained(self._say_of_changes)
        return lines

    @property
    def _say_of_changes(self):
        """Tells of the search for a change that makes the result agree; None where a check found a fault."""
        judged = self._selection.judged
        return None if any(one.is_fault for each in judged for one in each.findings) else self._how.say

    def _judged(self, call: Call) -> Judged:
        self._told(call.name)
        judged = self._how.of_call(call)
        if judged.stores_nothing and _only_tells(call):
            judged = dataclasses.replace(judged, only_tells=True)
        self._told(judged)
        return judged

    def _compared(self, numbers, by: str) -> None:
        self._told((numbers, by))
        self._selection.compared(numbers, by)
        self._told(self._doubts(self._selection.checks(True)))

    @launchers.sees_empty
    def _see(self, call: Call, go) -> None:
        if os.getpid() != self._process:
            self._elsewhere[0] = min(self._elsewhere[0] + 1, 255)
            return go()
        with uninit.paused():
            number = self._selection.see(call)
            before = None if number is None else self._mismatch.before(number, call)
        try:
            go()
        except KernelTrap:
            if number is None and call.name not in self._selection.others:
                with uninit.paused():
                    self._selection.stopped(call)
            raise
        if number is not None:
            judged = self._selection.judged[number]
            if threading.current_thread() is not threading.main_thread():
                self._in_threads.add(number)
            if number not in self._arguments:
                self._arguments[number] = written_by(judged, call), _own(judged, call)
            follow(self._comparisons, judged, call, number)
            self._mismatch.launched(number, call, judged.written, before)


def unfinished(name: str, told: list, status: int, signal: str, strict: bool) -> Outcome:
    """Returns what was found of a program that ended its process before its own end. told: what its Judging
    told; status, signal: how it ended."""
    judged, checked, left, doubts = [], {}, Left(), []
    for what in told:
        left.unfinished = what if isinstance(what, str) else ""
        if isinstance(what, Judged):
            judged.append(what)
        elif isinstance(what, tuple):
            checked = {**dict.fromkeys(*what), **checked}
        elif isinstance(what, list):
            doubts = what
    if signal == "SIGINT":
        ended = running.Ended(status, "interrupted")
    else:
        ended = running.Ended(status, "killed" if signal else "left", message=signal or None)
    checks = Checks(checked if status == 0 else {})
    return Outcome(
        judged, checks, JudgedProgram(name, ended), left, strict, [], doubts if status == 0 else []
    )


def tried(outcome: Outcome, words, names, most: int, tell) -> None:
    """Runs the program once more, and tells of each change of a result whether it passes all the same."""
    selection = Selection(lambda call: None, names, most)
    watching = comparisons.Comparisons(
        lambda numbers, by: None, lambda numbers, by: spoiling.differed(numbers, by)
    )
    seconds = sum(one.seconds for one in outcome.judged)
    spoiling = spoilt.Spoiling(
        outcome.doubts, outcome.judged, selection, functools.partial(follow, watching), tell, seconds
    )
    with watching.watching():
        spoiling.run(words)


def _only_tells(call: Call) -> bool:
    """Returns whether a kernel is for its assertions and what it prints: its code has no store. Triton leaves
    assertions out of the code unless TRITON_DEBUG is set."""
    text = (getattr(call.kernel, "asm", None) or {}).get("ttir")
    source = getattr(call.function, "src", None) or ""
    if not isinstance(text, str) or not re.search(r"\b(device_assert|device_print)\s*\(", source):
        return False
    return not accesses.Accesses(text, call.name).stores


def written_by(judged: Judged, call: Call) -> list[str]:
    """The arguments that a launch writes: those that its judgement saw change. Where it saw none, they may
    have held the same before: those that its code stores to. Empty: none is known."""
    text = (getattr(call.kernel, "asm", None) or {}).get("ttir")
    if judged.written or not isinstance(text, str):
        return judged.written
    stored = _accessed(text, call.name)[0]
    return [name for name, _ in call.named if name in stored]


def _own(judged: Judged, call: Call) -> frozenset[str]:
    """The arguments that may be for a launch's own use: those that the kernel reads too, or that it may not
    have written."""
    text = (getattr(call.kernel, "asm", None) or {}).get("ttir")
    read = _accessed(text, call.name)[1] if isinstance(text, str) else frozenset()
    return read | {name for name, _ in call.named if name not in judged.written}


@functools.lru_cache(maxsize=64)
def _accessed(text: str, kernel: str) -> tuple[frozenset, frozenset, frozenset]:
    """The arguments that the code of a kernel stores to, those that it reads, and those to which it stores
    what reductions give alone, as far as it shows that."""
    of = accesses.Accesses(text, kernel)
    stored, read, others = (
        frozenset(name for op in ops for name in arguments_of(op.operands[0]))
        for ops in (of.stores, of.loads, [op for op in of.stores if not partial.reduces(op)])
    )
    return stored, read, stored - others


def follow(watching: comparisons.Comparisons, judged: Judged, call: Call, number: int) -> None:
    """Follows what a launch wrote."""
    if judged.stores_nothing:
        return
    arrays = {**dict(call.named), **dict(pointed(call))}
    names = written_by(judged, call)
    written = {name: arrays[name] for name in names if name in arrays} or arrays
    text = (getattr(call.kernel, "asm", None) or {}).get("ttir")
    reduced = _accessed(text, call.name)[2] if isinstance(text, str) else frozenset()
    watching.wrote(number, written, arrays.values(), reduced & {*written})


def tracking(checks):
    """A context manager, within which tensors of torch.empty are known if a check needs that."""
    needed = "uninit" in checks and importlib.util.find_spec("torch") is not None
    return track_empty() if needed else contextlib.nullcontext()


def _accepted(judged: Judged, by: str) -> Judged:
    """The verdict on a launch whose result the program's own check accepts."""
    findings = severity.accepted(judged.findings, by) if judged.verdict == "wrong" else None
    return judged if findings is None else dataclasses.replace(judged, findings=findings).settled()
