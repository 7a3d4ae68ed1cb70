"""Judges the launches of a program while it runs: decides which of them (Selection), and gives the verdict on
all (Judging)."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import mmap
import os
import sys

from triton_runner import _settings
from triton_runner._artifact.relaunch import pointed
from triton_runner._kernel.cases import severity
from triton_runner._kernel.cases.results import Judged, Left
from triton_runner._kernel.compiling import failures
from triton_runner._launch import launchers
from triton_runner._launch.launchers import Call, axes_of, observing
from triton_runner._memory import uninit
from triton_runner._memory.tracking import track_empty
from triton_runner._pipeline import stages
from triton_runner._pretend import running
from triton_runner.verbs.verify import comparisons, mismatch, overlap, unwritten
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

    def settled(self, has_passed: bool, strict: bool = False) -> list[Judged]:
        """The verdicts after the program has ended. has_passed: its checks hold."""
        self.judged = _settled(self.judged, self._checked if has_passed else {}, self._differed, strict)
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
    (launches, check) that the program came to, and of the name of a kernel that is about to be judged."""

    def __init__(self, how: Judge, names=(), most: int = 16, told=lambda what: None):
        self._how, self._told = how, told
        self._selection = Selection(self._judged, names, most)
        self._mismatch = mismatch.Mismatch()
        self._comparisons = comparisons.Comparisons(
            self._compared, self._selection.differed, self._mismatch.compared
        )
        self._differs: list[str] = []  # lines on the element that the program finds wrong
        self._process = os.getpid()
        self._elsewhere = mmap.mmap(-1, 1)  # which processes that the program forks have in common with this

    def run(self, program: str, arguments=(), is_module: bool = False, pretend_cuda: bool = False) -> Verdict:
        """Runs the program and returns the verdict on all its launches and on how it ended: a program can
        report errors that the engines do not know. Its own launches run in a fixed order too, because later
        launches use their results."""
        with (
            stages.apart(), tracking(self._how.checks), self._comparisons.watching(), observing(self._see),
            _settings.using(threads=1),
        ):  # fmt: skip
            ended = running.ended(
                program, list(arguments), is_module, pretend_cuda, explained=self._explained
            )
            found = uninit.finish()
            if ended.status == 0:
                self._differs = self._mismatch.measured(self._say_of_changes)
        self._selection.judged = unwritten.added(
            self._selection.judged, found, self._how.strict, self._mismatch.stores
        )
        return self.verdict(JudgedProgram(program, ended, tuple(self._differs)))

    def verdict(self, program: JudgedProgram) -> Verdict:
        selection = self._selection
        selection.left.elsewhere = self._elsewhere[0]
        if error := next((one.error for one in self._how.references if one.error), None):
            raise error
        judged = selection.settled(program.ended.status == 0, self._how.strict)
        return Verdict(judged, program, selection.left, self._how.strict, self._how.references)

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
        self._told(judged)
        return judged

    def _compared(self, numbers, by: str) -> None:
        self._told((numbers, by))
        self._selection.compared(numbers, by)

    @launchers.sees_empty
    def _see(self, call: Call, go) -> None:
        if os.getpid() != self._process:
            self._elsewhere[0] = min(self._elsewhere[0] + 1, 255)
            return go()
        with uninit.paused():
            number = self._selection.see(call)
            before = None if number is None else self._mismatch.before(number, call)
        go()
        if number is not None:
            judged = self._selection.judged[number]
            follow(self._comparisons, judged, call, number)
            self._mismatch.launched(number, call, judged.written, before)


def unfinished(name: str, told: list, status: int, signal: str, strict: bool) -> Verdict:
    """The verdict on a program that ended its process before its own end. told: what its Judging told;
    status, signal: how it ended."""
    judged, checked, left = [], {}, Left()
    for what in told:
        left.unfinished = what if isinstance(what, str) else ""
        if isinstance(what, Judged):
            judged.append(what)
        elif isinstance(what, tuple):
            checked = {**dict.fromkeys(*what), **checked}
    if signal == "SIGINT":
        ended = running.Ended(status, "interrupted")
    else:
        ended = running.Ended(status, "killed" if signal else "left", message=signal or None)
    judged = _settled(judged, checked if status == 0 else {}, {}, strict)
    return Verdict(judged, JudgedProgram(name, ended), left, strict)


def follow(watching: comparisons.Comparisons, judged: Judged, call: Call, number: int) -> None:
    """Follows what a launch wrote: the arguments that its judgement saw change, or all if it saw none and
    does not know that nothing was stored."""
    if judged.stores_nothing:
        return
    arrays = {**dict(call.named), **dict(pointed(call))}
    written = [arrays[name] for name in judged.written if name in arrays] or [*arrays.values()]
    watching.wrote(written, {number} | watching.of(arrays.values()))


def tracking(checks):
    """A context manager, within which tensors of torch.empty are known if a check needs that."""
    needed = "uninit" in checks and importlib.util.find_spec("torch") is not None
    return track_empty() if needed else contextlib.nullcontext()


def _settled(
    judged: list[Judged], checked: dict[int, str], differed: dict[int, str], strict: bool
) -> list[Judged]:
    """The verdicts where checks of the program have passed, by launch, or comparisons gave False."""
    settled = [*judged]
    for number, by in checked.items():
        one = judged[number].compared_with("program", by)
        settled[number] = one if strict else _accepted(one)
    for number, by in differed.items():
        settled[number] = dataclasses.replace(settled[number], differed_by=by)
    return settled


def _accepted(judged: Judged) -> Judged:
    """The verdict on a launch whose result the program's own check accepts."""
    findings = severity.accepted(judged.findings, judged.compared_by) if judged.verdict == "wrong" else None
    return judged if findings is None else dataclasses.replace(judged, findings=findings).settled()
