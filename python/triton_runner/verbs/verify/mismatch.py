"""Explains an element that the program's own comparison finds wrong, by what the kernel does to it.

No level and no check is at fault then, and nobody knows what the kernel should compute. But a run of the last
such launch shows which store writes the element, what it is reduced from, and which elements of the
arguments no program reads: a wrong axis, a grid that is too small, a loop that ends early.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import weakref

import numpy

from triton_runner._artifact.relaunch import Relaunch, of_call, pointed
from triton_runner._base.errors import DiagnosticError, KernelTrap, in_a_line
from triton_runner._kernel.dumps import accesses
from triton_runner._kernel.dumps.accesses import Elements
from triton_runner._launch.launchers import Call
from triton_runner._memory import uninit
from triton_runner._memory.arguments import Arguments, host, is_descriptor
from triton_runner._memory.arrays import ArrayArgument
from triton_runner._memory.difference import tolerance
from triton_runner._memory.torch_modes import without_modes
from triton_runner.verbs.verify import patterns
from triton_runner.verbs.verify.changes.search import Goal, Search, sums
from triton_runner.verbs.verify.changes.search import lines as lines_of
from triton_runner.verbs.verify.element import Report, made_of

COMPARE = ("equal", "allclose", "isclose")
_SUBTRACT = ("sub", "__sub__", "subtract", "__rsub__", "rsub")
_MEASURE = ("abs", "__abs__", "square", "norm")
_FAR = 0.05  # of the largest element: no rounding is as large
_MOST_BYTES = 1 << 28  # of the records of a launch
_MOST_ELEMENTS = 1 << 20  # of an argument
_SECONDS = 20.0
_KEPT_BYTES = 1 << 24  # of memory that the program itself may have given back
_COPIED_BYTES = 1 << 26  # of arguments as they were before launches
_COPIED_IN_ALL = 1 << 31  # of the same, in the whole program
_HELD = 4  # comparisons that hold, and have to go on holding


@dataclasses.dataclass(frozen=True)
class Difference:
    """The place where two tensors differ, the first of which depends on these launches. is_compared: a
    function that compares saw them; else they were subtracted, and it is where they differ most. got, want:
    the tensors; address: of the element in the first, steps: of its axes in bytes; rtol, atol: what they may
    differ by, None where nobody says; is_measured: the program takes the size of their difference; holds: no
    element differs."""

    numbers: frozenset
    index: tuple
    got: numpy.ndarray
    want: numpy.ndarray
    address: int
    steps: tuple
    rtol: float | None
    atol: float | None
    text: str
    is_compared: bool
    is_measured: bool = False
    holds: bool = False

    @property
    def addresses(self) -> numpy.ndarray:
        """The addresses of all elements of the first tensor."""
        index = numpy.indices(self.got.shape).reshape(self.got.ndim, self.got.size)
        first = self.address - sum(i * step for i, step in zip(self.index, self.steps, strict=True))
        return first + numpy.array(self.steps, numpy.int64) @ index


def difference(name: str, args, numbers: frozenset, options: dict) -> Difference | None:
    """Returns where the tensors differ that a function of torch compares, or subtracts; None where they
    cannot be compared, or do not differ and are only subtracted. The first of them depends on launches."""
    import torch

    if len(args) < 2 or not all(isinstance(one, torch.Tensor) for one in args[:2]):
        return None
    shape, count = tuple(args[0].shape), args[0].numel()
    if shape != tuple(args[1].shape) or not 0 < count <= _MOST_ELEMENTS or args[0].is_complex():
        return None
    got, want = map(_numbers_of, args[:2])
    with torch._C.DisableTorchFunction():
        first, steps = args[0].data_ptr(), [step * args[0].element_size() for step in args[0].stride()]
    with numpy.errstate(all="ignore"):
        allowed: dict = {} if name in COMPARE else {"rtol": None, "atol": None}
        if name in ("allclose", "isclose"):
            tolerances = dict(zip(("rtol", "atol", "equal_nan"), args[2:], strict=False)) | options
            allowed = {"rtol": 1e-5, "atol": 1e-8, **tolerances}
            where = ~numpy.isclose(got, want, **allowed)
        else:
            where = got != want
        if not where.any() and name not in COMPARE:
            return None
        distance = numpy.nan_to_num(numpy.abs(got - want), nan=math.inf) * where
    at = numpy.argmax(where) if name in COMPARE else numpy.argmax(distance)
    index = tuple(map(int, numpy.unravel_index(at, shape))) if shape else ()
    text = f"{got[index]:.6g}, and is compared with {want[index]:.6g}"
    if name in COMPARE:
        text += f"; {int(where.sum()):,} of {count:,} elements differ"
    address = first + sum(i * step for i, step in zip(index, steps, strict=True))
    rtol, atol = allowed.get("rtol", 0.0), allowed.get("atol", 0.0)
    return Difference(
        numbers, index, got, want, address, tuple(steps), rtol, atol, text, name in COMPARE,
        holds=not where.any(),
    )  # fmt: skip


class Mismatch:
    """The launches of a program by number, and the last comparison that did not hold."""

    def __init__(self):
        self._launches: dict[int, _Remembered] = {}
        self._last: Difference | None = None
        self._held: list[Difference] = []  # the last comparisons that hold
        self._copied = 0  # bytes so far

    def before(self, number: int, call: Call) -> Arguments | None:
        """Copies of the arguments of a launch that is about to run; None where they take too much."""
        known = self._launches.get(number)
        left = _COPIED_BYTES - sum(one.copied for one in self._launches.values() if one is not known)
        return copies_of(call, min(left, _COPIED_IN_ALL - self._copied))

    def launched(self, number: int, call: Call, written, before: Arguments | None = None) -> None:
        """A launch has run. before: copies of its arguments, as they were."""
        self._launches.pop(number, None)
        left = _KEPT_BYTES - sum(one.kept for one in self._launches.values())
        self._launches[number] = _Remembered(call, written, left, before)
        self._copied += self._launches[number].copied

    def compared(self, name: str, args, numbers: frozenset, options: dict) -> None:
        """A function of torch compares or subtracts tensors, one of which depends on launches, or takes the
        size of such a difference."""
        if name in _MEASURE and self._last is not None and _is_difference(args[0], self._last):
            self._last = dataclasses.replace(self._last, is_measured=True)
        if name not in (*COMPARE, *_SUBTRACT):
            return
        with uninit.paused():  # to look at a result is no use of it
            found = difference(name, args, numbers, options)
        if found is None:
            return
        if found.holds:
            self._held = [*self._held[1 - _HELD :], found]
            return
        last = self._last  # what a message says of a comparison comes after it
        if found.is_compared or last is None or not last.is_compared or last.numbers != numbers:
            self._last = found

    def stores(self, kernel: str, argument: str) -> str:
        """Names the lines of a kernel that store to an argument; "" where none is known."""
        of = [one for one in self._launches.values() if one.kernel == kernel]
        return accesses.places(of[-1].stores(argument)) if of else ""

    def measured(self, say=None) -> list[str]:
        """Lines on the element where the program measures how far its result is from another tensor, and that
        is farther than rounding."""
        last = self._last
        if last is None or not last.is_measured:
            return []
        with numpy.errstate(all="ignore"):
            apart, size = numpy.abs(last.got - last.want).max(), numpy.abs(last.want).max()
        return [] if apart <= _FAR * size else self.explained(say)

    def explained(self, say=None) -> list[str]:
        """Lines on the element, while the program's tensors are still there. say: told what is being done
        where a change of the kernel is looked for that makes the result agree; None: none is."""
        last = self._last
        if last is None:
            return []
        numbers = sorted((n for n in last.numbers if n in self._launches), reverse=True)
        try:
            for find in (_Remembered.element, _Remembered.first_element):
                for number in numbers:
                    before = [self._launches[n] for n in numbers if n < number]
                    if (at := find(self._launches[number], last)) is not None:
                        lines = self._launches[number].explained(last, *at, before)
                        return lines + (self._changes(numbers, say) if say is not None else [])
        except (KernelTrap, DiagnosticError):  # a launch that is not the same again
            pass
        except Exception as error:  # the verdict does not depend on what explains it
            return [f"the element cannot be followed: {in_a_line(error)}"]
        return []

    def _changes(self, numbers: list[int], say) -> list[str]:
        """Lines on changes of a launch's kernel that make the last comparison hold, and no other fail.
        numbers: of the launches that it depends on, the last first."""
        found = ((self._launches[n], self._launches[n].goal(self._last)) for n in numbers)
        launch, first = next((one for one in found if one[1] is not None), (None, None))
        before = launch.before() if launch is not None else None
        if before is None or before.entry != "ttir":
            return []
        goals = [first, *(launch.goal(one) for one in self._held)]
        search = Search(before, [one for one in goals if one is not None], say)
        try:
            with without_modes():
                return [f"  {line}" for line in lines_of(search.found())]
        except Exception as error:  # a hint is no more than that
            return [f"  no change of the kernel was looked for: {in_a_line(error)}"]


class _Remembered:
    """A launch that can be made again for as long as its arguments are there. written: the names of those
    that it writes; left: how many bytes of arguments may be kept, which the program may have given back;
    before: copies of its arguments, as they were."""

    def __init__(self, call: Call, written, left: int, before: Arguments | None = None):
        self._call = dataclasses.replace(
            call, again=_nothing, args=(), pairs=list, hooks=()
        )  # which all hold arguments
        addressed = pointed(call)
        tensors = [one for _, value in (*call.named, *addressed) if (one := _tensor(value)) is not None]
        size = sum(one.untyped_storage().nbytes() for one in tensors)
        self.kept = size if size <= left else 0
        self._named = [(name, _reference(value, bool(self.kept))) for name, value in call.named]
        self._pointed = [(name, _reference(value, True)) for name, value in addressed if self.kept]
        self._written, self._before = written, before

    @property
    def copied(self) -> int:
        """Returns how many bytes its copies take."""
        return self._before.nbytes if self._before is not None else 0

    def before(self) -> Relaunch | None:
        """The launch with copies of its arguments, as they were."""
        if self._before is None:
            return None
        call = dataclasses.replace(self._call, pairs=lambda: self._before.named)
        return dataclasses.replace(of_call(call, []), arguments=self._before)

    def goal(self, of: Difference) -> Goal | None:
        """The argument whose elements were compared, with what they were compared with; None where it cannot
        be told."""
        there = self._elements()
        for name, elements in there.items():
            if name in self._outputs and elements.holds(of.address):
                numbers = elements.numbers(of.addresses)
                return self._goal(name, numbers, of) if (numbers >= 0).all() else None
        values = {name: _tensor(value) for name, value in self._named_now()}
        for name in there:
            is_same = name in self._written and values.get(name) is not None
            if is_same and values[name].numel() == of.got.size and _holds(values[name], of.got, 1e-2):
                return self._goal(name, numpy.arange(of.got.size), of)
        for name in there:
            if name in self._written and values.get(name) is not None:
                array = _numbers_of(values[name])
                for summed in [
                    (axis, is_mean) for axis in range(-1, array.ndim) for is_mean in (False, True)
                ]:
                    got = sums(array, *summed) if array.size > of.got.size else None
                    if got is not None and got.shape == of.got.shape and numpy.allclose(got, of.got, 1e-3):
                        return dataclasses.replace(
                            self._goal(name, numpy.arange(got.size), of), summed=summed
                        )
        return None

    def _goal(self, name: str, numbers: numpy.ndarray, of: Difference) -> Goal:
        want, rtol, atol = of.want.reshape(-1), of.rtol, of.atol
        if rtol is None or atol is None:
            size = numpy.abs(want[numpy.isfinite(want)]).max(initial=0.0)
            rtol, atol = 0.0, size * tolerance(self._before.views[name].dtype if self._before else "f32")
        return Goal(name, numbers, of.got.reshape(-1), want, rtol, atol)

    @property
    def kernel(self) -> str:
        return self._call.name

    @functools.cached_property
    def _outputs(self) -> set[str]:
        """The arguments that it writes, or whose stores no program came to."""
        return {*self._written, *(name for name, _ in self._named if self.stores(name))}

    def stores(self, argument: str) -> list:
        text = (getattr(self._call.kernel, "asm", None) or {}).get("ttir")
        return accesses.Accesses(text, self.kernel).writing(argument) if isinstance(text, str) else []

    def _named_now(self) -> list:
        named = [(name, value()) for name, value in self._named]
        return [] if any(value is _GONE for _, value in named) else named

    def _pointed_now(self) -> list:
        return [(name, value()) for name, value in self._pointed]

    def _elements(self) -> dict[str, Elements]:
        tensors = [(name, _tensor(value)) for name, value in (*self._named_now(), *self._pointed_now())]
        return {
            name: Elements(name, tensor)
            for name, tensor in tensors
            if tensor is not None and tensor.numel() <= _MOST_ELEMENTS
        }

    def element(self, last: Difference) -> tuple | None:
        """(argument, number) of the element that was compared: of an argument that the launch writes, or of a
        copy of that."""
        mine = {name: of for name, of in self._elements().items() if name in self._outputs}
        for name, of in mine.items():
            if of.holds(last.address) and (number := of.number(last.address)) is not None:
                return name, number
        values = {name: _tensor(value) for name, value in (*self._named_now(), *self._pointed_now())}
        flat = int(numpy.ravel_multi_index(last.index, last.got.shape)) if last.index else 0
        for name in mine:
            if values[name].numel() == last.got.size and _holds(values[name], last.got):
                return name, flat
        same = [name for name, of in mine.items() if of.shape == last.got.shape]
        return (same[0], flat) if len(same) == 1 else None

    def first_element(self, last: Difference) -> tuple | None:
        """The first element of what the launch writes, where what is compared is computed of all of it."""
        mine = [name for name, of in self._elements().items() if name in self._written and of.addresses.size]
        return (mine[0], 0) if mine else None

    def explained(self, last: Difference, name: str, number: int, before: list[_Remembered]) -> list[str]:
        """Lines on an element of an argument. before: the launches before this one."""
        call = dataclasses.replace(self._call, pairs=self._named_now)
        launch = of_call(call, self._pointed_now())
        found = []

        def record(kernel, grid, arguments, go, kernel_of) -> None:
            found.append(accesses.of_launch(launch, _MOST_BYTES, go))

        launch.run(launch.entry, record=record, timeout=_SECONDS)
        if not found[0].is_whole:
            return []
        elements = self._elements()
        output = elements[name]
        called = output.called(output.addresses[number])
        if self.element(last) is None:
            lines = [f"what differs is computed from {name}: it is {last.text}", f"  {called}:"]
        else:
            lines = [
                f"{called} is {last.text}",
                *(f"  {line}" for line in patterns.lines(last.got, last.want)),
            ]
        lines += [f"  {line}" for line in Report(found[0], elements).lines(output, number)]
        return lines + [f"  {line}" for one in before for line in one.handed_on(elements, self._written)]

    def handed_on(self, elements: dict[str, Elements], written):
        """Lines on the arguments of a later launch that this one writes."""
        for name, of in self._elements().items():
            later = [one for other, one in elements.items() if other not in written and one.holds(of.start)]
            if name in self._written and later:
                places = [f"{accesses.places([op])}{made_of(op)}" for op in self.stores(name)]
                yield f"{later[0].name} is what {self.kernel} writes: {', '.join(places)}".removesuffix(": ")


def _is_difference(tensor, last: Difference) -> bool:
    """Returns whether a tensor is what the two that were subtracted differ by."""
    if not hasattr(tensor, "untyped_storage") or tuple(tensor.shape) != last.got.shape:
        return False
    apart = numpy.abs(last.got - last.want)
    return numpy.allclose(numpy.abs(_numbers_of(tensor)), apart, rtol=1e-2, equal_nan=True)


_GONE = object()


def _nothing(*args) -> None:
    """Stands for a launch that nobody makes again."""


def _tensor(value):
    """The tensor that an argument is, or that its descriptor is of; None for anything else."""
    value = value.base if is_descriptor(value) else value
    return value if hasattr(value, "untyped_storage") else None


def _reference(value, is_kept: bool):
    """Returns what gives the value, and _GONE where it is gone. is_kept: its memory stays."""
    if not hasattr(value, "untyped_storage"):
        return lambda: value
    if is_kept:
        import torch

        with torch._C.DisableTorchFunction():
            alias = value.detach()  # another tensor, so that the program still owns its own alone
        return lambda: alias
    weak = weakref.ref(value)
    return lambda: weak() if weak() is not None else _GONE


def _holds(tensor, values: numpy.ndarray, apart: float = 0.0) -> bool:
    """Returns whether a tensor has these values, in the order of its shape. apart: how far they may be,
    relative."""
    mine, values = _numbers_of(tensor).reshape(-1), values.reshape(-1)
    if not apart:
        return numpy.array_equal(mine, values, equal_nan=True)
    return numpy.allclose(mine, values, rtol=apart, atol=0.0, equal_nan=True)


def copies_of(call: Call, most: int) -> Arguments | None:
    """Copies of the arguments that a launch is about to have; None where they take more bytes, are not on the
    CPU, or where the launch follows pointers in memory."""
    try:
        if pointed(call):
            return None
        own = [
            (name, value.base if isinstance(value, ArrayArgument) else value) for name, value in call.named
        ]
        arguments = Arguments(own)
        if arguments.nbytes > most or not arguments.is_on("cpu"):
            return None
        with without_modes():
            return arguments.copied()
    except Exception:  # the program goes on, which is not at fault
        return None


def _numbers_of(tensor) -> numpy.ndarray:
    """Returns the elements of a tensor, without marking it as used."""
    import torch

    with torch._C.DisableTorchFunction():
        return numpy.asarray(host(tensor.detach()), numpy.float64)
