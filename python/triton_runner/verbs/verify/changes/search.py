"""Tries changes of a kernel's TTIR on the recorded inputs of a launch, until the time for that is over, and
says which of them make its outputs what they are compared with."""

from __future__ import annotations

import dataclasses
import linecache
import math
import time
from collections.abc import Callable, Iterator

import numpy

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.ci_files import shown_path
from triton_runner._base.errors import DiagnosticError
from triton_runner._code.slices import Slice
from triton_runner._core import ir
from triton_runner._kernel.cases.results import Change
from triton_runner._memory import registry
from triton_runner._memory.difference import tolerance
from triton_runner._memory.torch_modes import without_modes
from triton_runner.verbs.verify.changes import edits, numbers, wording, written

_LEAST_SECONDS = 2.0
_SHOWN = 3
_SAME = 1e-3  # relative: atomics may have come in another order
_FEW = 8  # elements that differ, in one program of many
_LONG = 3e-3  # seconds of a run, of which one program is tried first
_STEPS = 8  # of the search for a number
_LONGER = 20  # times as long as the launch itself may a changed kernel run


@dataclasses.dataclass(frozen=True, eq=False)
class Goal:
    """The elements of an argument that should be near to others. numbers: of the elements in the order of
    the shape; got: what the program saw in them; want: what they should be; rtol, atol: how near; summed: the
    axis along which the program adds the argument up first (-1: all), and whether it takes the mean."""

    argument: str
    numbers: numpy.ndarray
    got: numpy.ndarray | None
    want: numpy.ndarray
    rtol: float
    atol: float
    summed: tuple[int, bool] | None = None

    def of(self, arrays) -> numpy.ndarray:
        array = arrays[self.argument]
        if self.summed is not None:
            return sums(array.astype(numpy.float64), *self.summed).reshape(-1)
        return array.reshape(-1)[self.numbers].astype(numpy.float64)

    def part(self, where: numpy.ndarray) -> Goal:
        """The same of some of the elements."""
        got = None if self.got is None else self.got[where]
        return dataclasses.replace(self, numbers=self.numbers[where], got=got, want=self.want[where])

    def agree(self, values: numpy.ndarray) -> numpy.ndarray:
        return numpy.isclose(values, self.want, rtol=self.rtol, atol=self.atol, equal_nan=True)

    def middle(self, values: numpy.ndarray, of: numpy.ndarray) -> float:
        """The distance of half of these elements."""
        apart = numpy.nan_to_num(numpy.abs(values - self.want)[of], nan=math.inf)
        return float(numpy.median(apart)) if apart.size else 0.0

    def apart(self, values: numpy.ndarray) -> float:
        """Returns how far values are from what they should be, beside the largest of them."""
        there = numpy.isfinite(self.want)
        size = numpy.abs(self.want[there]).max(initial=0.0) or 1.0
        return float(numpy.abs((values - self.want)[there]).max(initial=0.0)) / size


def sums(array: numpy.ndarray, axis: int, is_mean: bool) -> numpy.ndarray:
    total = array.sum() if axis < 0 else array.sum(axis)
    return numpy.asarray(total) / (array.size / max(total.size, 1) if is_mean else 1)


@dataclasses.dataclass(frozen=True)
class Found:
    """A change that makes the outputs agree. number: what was solved for; apart: how far they still are;
    lines: (file, line) of where it can be made."""

    edit: edits.Edit
    number: float | None
    apart: float
    lines: list[tuple[str, int]]

    @property
    def rank(self) -> tuple:
        length = 0 if self.number is None else numbers.length(self.number)
        return self.edit.kind, length > _SHOWN, self.edit.at.steps, length


class Search:
    """The search for changes of a launch of TTIR. goals: the first is what differs; the others hold and have
    to go on holding."""

    def __init__(self, launch: Relaunch, goals: list[Goal], say: Callable):
        self._launch, self._goals, self._say = launch, goals, say
        self._text = self._ttir = launch.texts["ttir"]
        self._tried = 0
        self._slices: dict[str, Slice] = {}  # by text
        self._timeout = 10.0
        self._whole: tuple | None = None  # the launch and the goals, where one program is tried first

    @numpy.errstate(all="ignore")  # changed kernels compute infinities and NaNs
    def found(self) -> list[Found]:
        """The changes that do it, the best first."""
        began = time.process_time()
        self._until = began + max(_LEAST_SECONDS, began)
        started = time.perf_counter()
        first = self._values(self._text)
        seconds = time.perf_counter() - started
        self._timeout = max(0.05, _LONGER * seconds)
        if first is None or not _is_same(first[0], self._goals[0]) or self._agree(first):
            return []  # it is not the same launch
        same = [_is_same(*pair) for pair in zip(first, self._goals, strict=True)]  # others may be older
        first, self._goals = (
            [one for one, is_same in zip(of, same, strict=True) if is_same] for of in (first, self._goals)
        )
        self._first = first[0]
        slice_ = self._slice()
        found: list[Found] = []
        ratios = _ratios(self._goals[0], first[0])
        if seconds > _LONG and math.prod(self._launch.grid) > 1:
            self._narrow(first)
        for edit in self._edits(slice_, ratios):
            if time.process_time() > self._until or (
                found and edit.kind > max(one.edit.kind for one in found)
            ):
                break
            if self._goals[0].want.size > 1 or (edit.kind == edits.TOKEN and edit.first is None):
                found += self._of(edit)  # one number is what too many other changes make
        best = _best(found)
        return best if self._goals[0].want.size > 1 or len(best) == 1 else []

    def _narrow(self, first: list) -> None:
        """Goes on with one program of a launch, if that shows enough of what differs; what it finds is tried
        with all of them."""
        whole = self._launch, self._goals
        begin = [goal.of(self._launch.arguments.arrays()) for goal in self._goals]
        self._launch = dataclasses.replace(self._launch, grid=(1, 1, 1))
        values = self._values(self._text)
        if values is not None and not any(goal.summed for goal in self._goals):
            there = [
                numpy.isclose(one, full, rtol=_SAME, atol=0.0) & (one != start)
                for one, full, start in zip(values, first, begin, strict=True)
            ]
            goals = [goal.part(where) for goal, where in zip(self._goals, there, strict=True)]
            differing = int((~goals[0].agree(first[0][there[0]])).sum())
            if differing >= min(_FEW, int((~self._goals[0].agree(first[0])).sum())):
                self._goals = [goals[0], *(goal for goal in goals[1:] if goal.want.size)]
                self._first, self._whole = first[0][there[0]], whole
                return
        self._launch, self._goals = whole

    def _holds(self, edit: edits.Edit, number: float | None) -> bool:
        """Returns whether a change does it in the whole launch too."""
        if self._whole is None:
            return True
        one = self._launch, self._goals
        self._launch, self._goals = self._whole
        values = self._changed(edit, number)
        holds = values is not None and self._agree(values)
        self._launch, self._goals = one
        return holds

    def _edits(self, slice_: Slice, ratios: tuple) -> Iterator[edits.Edit]:
        """All changes, those of what the front end made before those that add something."""
        rest = edits.of_slice(slice_, ratios)
        for edit in rest:
            if edit.kind >= edits.ADDED:
                yield from self._of_unused()
                self._text = self._ttir
                yield edit
                break
            yield edit
        yield from rest

    def _of_unused(self) -> Iterator[edits.Edit]:
        if not (text := self._source()):
            return
        self._text, values = text, self._values(text)
        if values is not None and all(map(_is_same, values, self._goals)) and not self._agree(values):
            yield from edits.of_unused(self._slice())

    def _slice(self) -> Slice:
        if self._text not in self._slices:
            self._slices[self._text] = Slice(ir.parse(self._text), self._goals[0].argument)
        return self._slices[self._text]

    def _of(self, edit: edits.Edit) -> Iterator[Found]:
        if edit.first is None:
            values = self._changed(edit, None)
            if values is not None and self._agree(values) and self._holds(edit, None):
                yield Found(edit, None, self._goals[0].apart(values[0]), self._lines(edit))
            return
        number = self._solved(edit)
        if number is not None and self._holds(edit, number[0]):
            yield Found(edit, *number, self._lines(edit))

    def _lines(self, edit: edits.Edit) -> list[tuple[str, int]]:
        """The lines where a value that a change is of is made, and where alone the output takes it."""
        op, known = edit.at.op, {one.op for one in self._slices[self._text].reached}
        ops = [*edit.ops] or [op]
        if edit.kind == edits.ADDED and not edit.ops and len(op.results) == 1:
            ops += [user for user, _ in op.results[0].uses if user in known]
        ops = [
            one for one in (_begun(of, self._source()) if hasattr(of, "uses") else of for of in ops) if one
        ]
        found = [*dict.fromkeys((one.location.file, one.location.line) for one in ops or [op])]
        numbers_at = written.numbers(*found[0], edit.was) if edit.was is not None else []
        if len(numbers_at) == 1 and numbers_at[0] not in found:
            return numbers_at
        if len(found) == 2 and edit.kind in (edits.UNUSED, edits.ADDED) and ops[0].results:
            (file, made), (_, used) = found
            found[1] = file, written.renaming(file, made, used, wording.called(ops[0].results[0]))
        return found if len(found) <= 2 else found[:1]

    def _source(self) -> str:
        """The TTIR as the front end made it; "" where that is not known."""
        text = self._launch.texts.get("source", "")
        return text if isinstance(text, str) and "tt.func" in text else ""

    def _solved(self, edit: edits.Edit) -> tuple | None:
        """(number, how far the outputs are) for which a change does it. Of a constant that stands there both
        ways are tried."""
        for number in edit.tries:
            values = self._changed(edit, number)
            if values is not None and self._agree(values):
                return number, self._goals[0].apart(values[0])
        found = self._by_secants(edit, 0.5)
        return found or (self._by_secants(edit, 1.0) if edit.was is not None and not edit.is_whole else None)

    def _by_secants(self, edit: edits.Edit, share: float) -> tuple | None:
        """The same by the secant method: each step is that of the elements which the number moves most, or by
        this share of that."""
        goal = self._goals[0]
        wrong = numpy.flatnonzero(~goal.agree(self._first) & numpy.isfinite(goal.want))
        before, now = edit.first, edit.first + (1 if edit.is_whole else abs(edit.first) / 16 or 1 / 16)
        old, worse = self._first, 0
        for _ in range(_STEPS):
            values = self._changed(edit, now)
            if values is None:
                return None
            if self._agree(values):
                return self._shortest(edit, *self._closer(edit, now, values[0], before, old))
            further = _step(now, values[0][wrong], before, old[wrong], goal.want[wrong], share)
            worse += goal.middle(values[0], wrong) > 0.9 * goal.middle(old, wrong)
            if further is None or worse > 1:
                return None
            before, now, old = now, round(further) if edit.is_whole else further, values[0]
            if now == before or (edit.is_whole and abs(now) > 1 << 30):
                return None
        return None

    def _closer(self, edit: edits.Edit, now: float, new, before: float, old) -> tuple:
        """The number, or what one more step makes of it where that comes nearer."""
        goal, apart = self._goals[0], self._goals[0].apart(new)
        if edit.is_whole:
            return now, apart
        further = _step(now, new, before, old, goal.want)
        values = self._changed(edit, further) if further is not None else None
        if values is not None and self._agree(values) and goal.apart(values[0]) < apart:
            return further, goal.apart(values[0])
        return now, apart

    def _shortest(self, edit: edits.Edit, number: float, apart: float) -> tuple:
        """The number, or one that is shorter to write and does as well."""
        if isinstance(number, int) or edit.is_whole:
            return number, apart
        for other in numbers.simpler(number):
            if other == number or numbers.length(other) >= numbers.length(number):
                continue
            values = self._changed(edit, other)
            if values is not None and self._agree(values):
                closer = self._goals[0].apart(values[0])
                if closer <= 2 * apart + 1e-7:
                    return other, closer
        return number, apart

    def _agree(self, values: list) -> bool:
        return all(goal.agree(one).all() for goal, one in zip(self._goals, values, strict=True))

    def _changed(self, edit: edits.Edit, number: float | None) -> list | None:
        """The outputs of the changed kernel; None: it cannot be run to its end."""
        module = ir.parse(self._text)
        try:
            edit.make([*module.walk()], number)
            module.verify()
        except (DiagnosticError, ValueError):
            return None
        return self._values(str(module))

    def _values(self, text: str) -> list | None:
        self._tried += 1
        self._say(f"{self._launch.name}: looked for a change that makes it agree, {self._tried} tried")
        launch = dataclasses.replace(self._launch, texts={"ttir": text})
        try:
            with registry.closed():
                run = launch.run("ttir", checks="", timeout=self._timeout)
        except DiagnosticError:
            return None
        if run.trap is not None:
            return None
        return [goal.of(run.arrays) for goal in self._goals]


def _step(now: float, new: numpy.ndarray, before: float, old: numpy.ndarray, want: numpy.ndarray, share=0.5):
    """The next number to try, by what it did to the elements that it moved most; None: there is none."""
    moved = numpy.where(numpy.isfinite(new - old), numpy.abs(new - old), 0)
    most = moved >= share * moved.max(initial=0.0)
    if not moved.max(initial=0.0):
        return None
    further = now + float(numpy.median(((want - new) * (now - before) / (new - old))[most]))
    return further if math.isfinite(further) and abs(further) < 1e30 else None


def _begun(carried, source: str):
    """The op where what a loop carries begins, which has its line in what the front end made; None: it has
    none. carried: a result of a loop."""
    known = wording.called(carried)
    for op in ir.parse(source).walk() if source else ():
        if op.name == "scf.for" and any(wording.called(one) == known for one in op.results):
            number = next(i for i, one in enumerate(op.results) if wording.called(one) == known)
            return op.operands[3 + number].op
    return None


def _ratios(goal: Goal, values: numpy.ndarray) -> tuple:
    """The one factor by which all elements that differ do, if there is one."""
    ratios = (values / goal.want)[~goal.agree(values)]
    middle = float(numpy.median(ratios))
    is_one = math.isfinite(middle) and (numpy.abs(ratios - middle) <= _SAME * abs(middle)).all()
    return (middle,) if is_one and middle else ()


def _is_same(values: numpy.ndarray, goal: Goal) -> bool:
    """Returns whether a run left what the program compared."""
    if goal.got is None:
        return True
    size = numpy.abs(goal.got[numpy.isfinite(goal.got)]).max(initial=0.0)
    return numpy.allclose(values, goal.got, rtol=_SAME, atol=_SAME * size, equal_nan=True)


def of_reference(launch: Relaunch, wanted: dict, differing: str, say: Callable) -> list[Found]:
    """The changes that make a launch leave what a reference leaves. wanted: that, by argument; differing: the
    argument that a finding is about."""
    if launch.entry != "ttir":
        return []
    goals = []
    for name in sorted(wanted, key=lambda name: name != differing):
        want = wanted[name].astype(numpy.float64).reshape(-1)
        size = numpy.abs(want[numpy.isfinite(want)]).max(initial=0.0)
        allowed = tolerance(launch.arguments.views[name].dtype) * size
        goals.append(Goal(name, numpy.arange(want.size), None, want, 0.0, allowed))
    with without_modes():
        return Search(launch, goals, say).found()


def _best(found: list[Found]) -> list[Found]:
    """The best at each line, of those that come about as near as the nearest."""
    least = min((one.apart for one in found), default=0.0)
    by_line: dict = {}
    for one in sorted(found, key=lambda one: one.rank):
        if one.apart <= 10 * least + 1e-6:
            by_line.setdefault(one.lines[0], one)
    return [*by_line.values()][:_SHOWN]


def changes(found: list[Found]) -> list[Change]:
    """The changes that were found, for each line where one can be made."""
    return [Change(*place, one.edit.says(one.number)) for one in found for place in one.lines]


def lines(found: list[Found]) -> list[str]:
    """Says what was found, and that it is a hint."""
    texts = []
    for one in found:
        (file, first), *others = one.lines
        at = " or ".join([f"{shown_path(file)}:{first}", *(str(line) for _, line in others)])
        texts.append(f"hint: all elements agree after a change at {at}: {one.edit.says(one.number)}")
        texts += [
            f"    {text}" for name, line in one.lines if (text := linecache.getline(name, line).strip())
        ]
    return texts
