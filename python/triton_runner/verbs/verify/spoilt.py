"""Runs a program once more to find out what its checks see: a copy of the process puts other numbers in place
of what a launch wrote and runs the rest of the program. A check that passes all the same does not compare the
launch.

This is done where a check may be idle: where it is not a comparison of all elements of an output with what
depends on no launch."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import signal
import sys
import threading

import numpy

from triton_runner import _settings
from triton_runner._artifact.relaunch import pointed
from triton_runner._kernel.cases.results import Judged
from triton_runner._launch.launchers import Call, observing
from triton_runner._memory import torch_modes
from triton_runner._memory.arguments import is_descriptor
from triton_runner._memory.arrays import ArrayArgument
from triton_runner._pretend import running
from triton_runner._worker.child import end_with_parent
from triton_runner.verbs.verify import source_checks

_MOST_BYTES = 1 << 28  # of an argument: no copy is made of a larger one
_SECONDS = 10.0  # for a copy of the process, at least
_NOTICED, _UNREACHED = 1, 2
_BIG = 2.0  # times the norm of all elements, which one element becomes
_FEW = 8  # elements, whose signs a second launch may bring back
_UNSEEN = "does not see all of its result: the program passes too"
_UNTRIED = (
    "may not see all of its result: no other one could be tried, as the program does not repeat the launch"
)
_SPREAD = 0.2  # of the largest element: what moves by less may be within a tolerance


@dataclasses.dataclass(frozen=True)
class Doubt:
    """A launch whose check may be idle. arguments: those that it writes and that no check is known to see
    whole; read_later: those of them that later launches take; own: those that may be for its own use, as the
    kernel reads them too; is_seen: a check is known to see another argument whole; differed: comparisons of
    it that gave False already; orderless: partial results, whose order does not matter; in_thread: a thread
    of the program makes it."""

    number: int
    kernel: str
    arguments: tuple[str, ...]
    read_later: frozenset[str]
    own: frozenset[str] = frozenset()
    is_seen: bool = False
    differed: frozenset[str] = frozenset()
    orderless: frozenset[str] = frozenset()
    in_thread: bool = False


@dataclasses.dataclass(frozen=True)
class Tried:
    """The program went on with other numbers in an argument. change: which; passes: it ended as if nothing
    had happened."""

    number: int
    argument: str
    change: str
    passes: bool


def sees_some(tried: list[Tried]) -> set[int]:
    """The launches of which the program sees some other results."""
    return {one.number for one in tried if not one.passes}


def idle(tried: list[Tried], doubts: list[Doubt]) -> dict[int, str]:
    """Why a check does not count, by launch, of launches that nothing compares: a change that it does not
    see, or that none could be tried."""
    found = {}
    for doubt in doubts:
        mine = [one for one in tried if one.number == doubt.number]
        unseen = {one.argument: f"{_UNSEEN} {one.change}" for one in mine if one.passes}
        unseen |= dict.fromkeys({*doubt.arguments} - {one.argument for one in mine}, _UNTRIED)
        is_seen = doubt.is_seen or any(one.argument not in unseen for one in mine)
        outputs = [change for argument, change in unseen.items() if argument not in doubt.own]
        if outputs or (unseen and not is_seen):
            found[doubt.number] = (outputs or [*unseen.values()])[0]
    return found


class _Values:
    """The elements of a tensor or an array in the order of its shape, as rows of bytes."""

    def __init__(self, array):
        self._array = array
        if isinstance(array, numpy.ndarray):
            flat = array.reshape(-1).copy()
            self.rows = flat.view(numpy.uint8).reshape(flat.size, array.itemsize)
            self.is_float = array.dtype.kind == "f"
            self._limits = numpy.finfo(array.dtype) if self.is_float else None
        else:
            import torch

            flat = array.detach().reshape(-1).clone()
            self.rows = flat.view(torch.uint8).numpy().reshape(flat.numel(), array.element_size())
            self.is_float = array.is_floating_point()
            self._limits = torch.finfo(array.dtype) if self.is_float else None
        self.is_truth = str(array.dtype).endswith("bool")
        self._flat = flat

    def numbers(self) -> numpy.ndarray:
        if isinstance(self._flat, numpy.ndarray):
            return self._flat.astype(numpy.float64)
        return self._flat.double().numpy()

    def rows_of(self, numbers: numpy.ndarray) -> numpy.ndarray:
        """These numbers as elements."""
        if self._limits is not None:
            numbers = numpy.clip(numbers, float(self._limits.min), float(self._limits.max))
        if isinstance(self._flat, numpy.ndarray):
            flat = numbers.astype(self._flat.dtype)
            return flat.view(numpy.uint8).reshape(flat.size, -1)
        import torch

        flat = torch.from_numpy(numbers).to(self._flat.dtype)
        return flat.view(torch.uint8).numpy().reshape(flat.numel(), -1)

    def store(self, rows: numpy.ndarray) -> None:
        """Puts rows into the tensor or array."""
        if isinstance(self._array, numpy.ndarray):
            self._array[...] = rows.reshape(-1).view(self._array.dtype).reshape(self._array.shape)
            return
        import torch

        flat = torch.from_numpy(numpy.ascontiguousarray(rows).reshape(-1)).view(self._array.dtype)
        self._array.detach().copy_(flat.reshape(self._array.shape))


def _all_others(values: _Values, places: numpy.ndarray, turn: int) -> numpy.ndarray | None:
    """Each element is another."""
    numbers = values.numbers()[places]
    if values.is_float:
        numbers = numpy.nan_to_num(numbers)
        return values.rows_of(1.0 - 1.5 * numbers)
    low, high = numbers.min(), numbers.max()
    if low == high:
        return values.rows_of(1.0 - numbers if values.is_truth else numbers + 1)
    others = low + high - numbers
    if numpy.array_equal(numpy.sort(others), numpy.sort(numbers)):  # the same at other places
        others = numpy.where(numbers == low, high, low)
    return values.rows_of(others)


def _scaled(values: _Values, places: numpy.ndarray, turn: int) -> numpy.ndarray | None:
    """Each element is larger by one factor; None where they have no fractions."""
    numbers = numpy.nan_to_num(values.numbers()[places])
    return values.rows_of(1.5 * numbers) if values.is_float and numbers.any() else None


def _other_signs(values: _Values, places: numpy.ndarray, turn: int) -> numpy.ndarray | None:
    """Half of the elements have the other sign, which are others in each launch: a kernel may take what it
    wrote before. None where they have no fractions, or are few."""
    numbers = numpy.nan_to_num(values.numbers()[places])
    if not values.is_float or not numbers.any() or numbers.size < _FEW:
        return None
    return values.rows_of(numbers * numpy.random.default_rng(turn).choice([-1.0, 1.0], numbers.size))


def _moved(values: _Values, places: numpy.ndarray, turn: int) -> numpy.ndarray | None:
    """The elements stand at other places; None where they are too much alike."""
    rows = values.rows[places]
    moved = rows[numpy.random.default_rng(0).permutation(places.size)]
    if numpy.array_equal(moved, rows):
        return None
    if values.is_float:
        numbers = numpy.nan_to_num(values.numbers()[places])
        if numpy.std(numbers) < _SPREAD * numpy.abs(numbers).max():
            return None
    return moved


def _up_and_down(values: _Values, places: numpy.ndarray, turn: int) -> numpy.ndarray | None:
    """Half of the elements are larger and half are smaller by one amount, so that their sum is the same; None
    where they are of a type without signs, or of whole numbers that may be places."""
    numbers = numpy.nan_to_num(values.numbers()[places])
    largest = numpy.abs(numbers).max()
    if numbers.size < 2 or not largest or not (values.is_float or numbers.min() == numbers.max()):
        return None
    if values.is_truth or (not values.is_float and numbers.min() < 1):
        return None
    by = 2.0 ** numpy.floor(numpy.log2(largest)) if values.is_float else 1.0
    signs = numpy.zeros(numbers.size)
    signs[: numbers.size // 2], signs[numbers.size // 2 : 2 * (numbers.size // 2)] = by, -by
    return values.rows_of(numbers + numpy.random.default_rng(turn).permutation(signs))


def _no_numbers(values: _Values, places: numpy.ndarray, turn: int) -> numpy.ndarray | None:
    """Every element is a NaN; None where a launch wrote none. All of them may be NaNs already: a check that
    passes may then take any of them for any number."""
    numbers = values.numbers()[places]
    if not values.is_float or not numpy.isnan(numbers).any():
        return None
    return values.rows_of(numpy.full(numbers.size, numpy.nan))


def _one_other(values: _Values, places: numpy.ndarray, at: int) -> numpy.ndarray | None:
    """One element is another one."""
    rows = values.rows[places].copy()
    numbers = values.numbers()[places]
    if values.is_float:
        finite = numbers[numpy.isfinite(numbers)]
        number = numbers[at] if numpy.isfinite(numbers[at]) else 0.0
        far = abs(number) + _BIG * numpy.sqrt(numpy.square(finite).sum()) + 1.0
        other = numpy.array([-far if number > 0 else far])
    else:
        other = numbers.min() + numbers.max() - numbers[at : at + 1]
        if other[0] == numbers[at]:
            other = 1.0 - other if values.is_truth else other + 1
    rows[at] = values.rows_of(other)[0]
    return rows


# These functions give what is put in place of all elements; the words are for the report.
_OF_ALL = {
    "nans": (_no_numbers, "with NaNs in all elements of '{}'"),
    "others": (_all_others, "with other numbers in all elements of '{}'"),
    "scaled": (_scaled, "with each element of '{}' multiplied by 1.5"),
    "signs": (_other_signs, "with the other sign in half of the elements of '{}'"),
    "moved": (_moved, "with the elements of '{}' at other places"),
    "even": (
        _up_and_down,
        "with half of the elements of '{}' larger and half smaller, which keeps their sum",
    ),
}


@dataclasses.dataclass(frozen=True)
class _Change:
    """The change of an argument. how: a name of _OF_ALL, or "one" for one element; part: where that is, of 1.
    Later launches that are alike have it too; of_kernel: all of the kernel, because two that agree may both
    be wrong."""

    argument: str
    how: str
    part: float = 0.0
    of_kernel: bool = False

    def at(self, count: int) -> int:
        return min(int(self.part * count), count - 1)

    def text(self, places: numpy.ndarray | None = None) -> str:
        if self.how != "one":
            return _OF_ALL[self.how][1].format(self.argument)
        number = "" if places is None else f" (number {places[self.at(places.size)]})"
        return f"with another number in one element of '{self.argument}'{number}"

    def rows(self, values: _Values, places: numpy.ndarray, turn: int = 0) -> numpy.ndarray | None:
        """The elements at these places after the change; None where it changes nothing that a check must
        see. turn: which launch of those that have it."""
        if self.how == "one":
            return _one_other(values, places, self.at(places.size))
        return _OF_ALL[self.how][0](values, places, turn)


# The last element and the first, and one in each third, at places that no program is likely to look at alone.
_PARTS = (1.0, 0.0, 0.217, 0.563, 0.871)


def _changes(argument: str, is_read_later: bool, is_orderless: bool = False):
    """The changes of an argument that a check must see. Of what later launches read, the order, a factor and
    single elements may not matter to these; of partial results the order does not."""
    yield _Change(argument, "others", of_kernel=not is_read_later)
    yield _Change(argument, "nans", of_kernel=not is_read_later)
    if not is_read_later:
        yield _Change(argument, "scaled", of_kernel=True)
        order = () if is_orderless else ("moved", "even")
        yield from (_Change(argument, how) for how in ("signs", *order))
        yield from (_Change(argument, "one", part) for part in _PARTS)


class Spoiling:
    """The second run of a program. selection: numbers its launches as the first run did; follow(judged, call,
    number): follows what a launch wrote; tell(Tried): of each result."""

    def __init__(self, doubts: list[Doubt], judged: list[Judged], selection, follow, tell, seconds: float):
        self._doubts = {doubt.number: doubt for doubt in doubts}
        self._judged, self._selection, self._follow, self._tell = judged, selection, follow, tell
        self._seconds = max(_SECONDS, seconds)
        self._process = os.getpid()
        self._now: tuple[Doubt, _Change] | None = None  # in a copy of the process: what it changes
        self._turn, self._is_whole = 0, True  # is_whole: each launch that is alike could have the change

    def differed(self, numbers, by: str) -> None:
        """A comparison gave False."""
        if self._now is not None and self._now[0].number in numbers and by not in self._now[0].differed:
            os._exit(_NOTICED)

    def run(self, words) -> None:
        """Runs the program. A copy of the process does not come back from here."""
        _one_thread()
        self._try_threads()
        with _silent(), _settings.using(threads=1), observing(self._see):
            ended = running.ended(*words, is_check=source_checks.is_failure)
        if os.getpid() != self._process:
            is_noticed = ended.status or ended.how == "failed aside" or not self._is_whole
            os._exit(_UNREACHED if not self._turn else _NOTICED if is_noticed else 0)

    def _try_threads(self) -> None:
        """Goes through the changes of launches that threads make, each in a copy of the process that runs the
        whole program. A copy that is forked in a thread would have that thread alone."""
        for doubt in [one for one in self._doubts.values() if one.in_thread]:
            del self._doubts[doubt.number]
            for argument in doubt.arguments:
                for change in _changes(argument, argument in doubt.read_later, argument in doubt.orderless):
                    if (child := os.fork()) == 0:
                        end_with_parent()
                        self._now, self._doubts = (doubt, change), {}
                        return
                    if (status := _ended(child, self._seconds)) != _NOTICED:
                        break
                if status in (0, _NOTICED):
                    self._tell(Tried(doubt.number, argument, change.text(), status == 0))

    def _see(self, call: Call, go) -> None:
        number = self._selection.see(call)
        doubt = self._doubts.get(number)
        is_tried = doubt is not None and threading.current_thread() is threading.main_thread()
        if not is_tried and not (self._now and self._is_changed(call, number)):
            go()
        else:
            arrays = _arrays(call)
            before = {name: _rows(array) for name, array in arrays.items()}
            go()
            self._spoil(call, number, arrays, before)
        if number is not None and number < len(self._judged):
            self._follow(self._judged[number], call, number)

    def _is_changed(self, call: Call, number) -> bool:
        doubt, change = self._now
        return number == doubt.number or (change.of_kernel and call.name == doubt.kernel)

    def _spoil(self, call: Call, number, arrays: dict, before: dict) -> None:
        if self._now is not None:
            if self._is_changed(call, number) and (argument := self._now[1].argument) in arrays:
                self._turn += 1
                self._is_whole &= _put(self._now[1], arrays[argument], before[argument], self._turn)
            return
        doubt = self._doubts.pop(number)  # later launches that are alike change together with the first
        if call.name != doubt.kernel:
            return
        for argument in doubt.arguments:
            if argument in arrays and self._spoils(doubt, argument, call, arrays[argument], before[argument]):
                return

    def _spoils(self, doubt: Doubt, argument: str, call: Call, array, before) -> bool:
        """Goes on with each change of an argument in a copy of the process, until one of them is not seen.
        Returns whether this is such a copy."""
        for change in _changes(argument, argument in doubt.read_later, argument in doubt.orderless):
            try:
                with torch_modes.without_modes():
                    values = _Values(array)
                    places = _places(values, before)
                    rows = change.rows(values, places)
            except Exception:  # of a type that has no numbers
                return False
            if rows is None:
                continue
            if (child := os.fork()) == 0:
                end_with_parent()
                self._now = doubt, change
                _put(change, array, before, self._turn)
                self._turn += 1
                return True
            status = _ended(child, self._seconds)
            self._tell(Tried(doubt.number, argument, change.text(places), status == 0))
            if status == 0:
                return False
        return False


def _arrays(call: Call) -> dict:
    """The tensors and arrays that a launch passes, by name."""
    found = {}
    for name, value in (*call.named, *pointed(call)):
        value = value.base if is_descriptor(value) else value
        value = value.base if isinstance(value, ArrayArgument) else value
        if isinstance(value, numpy.ndarray) or hasattr(value, "untyped_storage"):
            found[name] = value
    return found


def _rows(array) -> numpy.ndarray | None:
    """A copy of an argument's elements; None where it is too large."""
    size = array.nbytes if hasattr(array, "nbytes") else 0
    if size > _MOST_BYTES:
        return None
    try:
        with torch_modes.without_modes():
            return _Values(array).rows
    except Exception:  # of a type that has no numbers
        return None


def _places(values: _Values, before) -> numpy.ndarray:
    """The numbers of the elements that a launch has changed; of all where none is another."""
    changed = (values.rows != before).any(axis=1) if before is not None else numpy.zeros(0, bool)
    return numpy.flatnonzero(changed) if changed.any() else numpy.arange(len(values.rows))


def _put(change: _Change, array, before, turn: int) -> bool:
    """Puts other numbers in place of what a launch wrote. Returns whether that changes anything."""
    with torch_modes.without_modes():
        values = _Values(array)
        places = _places(values, before)
        if (rows := change.rows(values, places, turn)) is not None:
            values.rows[places] = rows
            values.store(values.rows)
    return rows is not None


def _one_thread() -> None:
    """Threads of a library would be missing in copies of the process, which would wait for them."""
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


@contextlib.contextmanager
def _silent():
    """Nothing that the program prints in the block is seen a second time, and it reads nothing."""
    kept = [os.dup(number) for number in range(3)]
    with open(os.devnull, "r+b", buffering=0) as nothing:
        for number in range(3):
            os.dup2(nothing.fileno(), number)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        for number, file in enumerate(kept):
            os.dup2(file, number)
            os.close(file)


def _ended(child: int, seconds: float) -> int:
    """The exit status of a process, which is killed after that time; not 0 then."""
    file = os.pidfd_open(child)
    try:
        if not select.select([file], [], [], seconds)[0]:
            os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(file)
