"""Explains an element that the program's own comparison finds wrong, by what the kernel does to it.

No level and no check is at fault then, and nobody knows what the kernel should compute. But a run of the last
such launch shows which store writes the element, what it is reduced from, and which elements of the
arguments no program reads: a wrong axis, a grid that is too small, a loop that ends early.
"""

from __future__ import annotations

import dataclasses
import math
import weakref

import numpy

from triton_runner._artifact.relaunch import of_call
from triton_runner._base.ci_files import shown_path
from triton_runner._base.errors import DiagnosticError, KernelTrap, is_of_library
from triton_runner._code.carried import CARRYING, carried_to
from triton_runner._code.chain import DOTS, REDUCTIONS
from triton_runner._code.walk import reached
from triton_runner._kernel.dumps import accesses
from triton_runner._kernel.dumps.accesses import Access, Elements, Launched
from triton_runner._launch.launchers import Call
from triton_runner._memory.arguments import host

COMPARE = ("equal", "allclose", "isclose")
_SUBTRACT = ("sub", "__sub__", "subtract", "__rsub__", "rsub")
_MOST_BYTES = 1 << 28  # of the records of a launch
_MOST_ELEMENTS = 1 << 20  # of an argument
_SECONDS = 20.0
_SHOWN = 4  # steps of a computation


@dataclasses.dataclass(frozen=True)
class Difference:
    """The place where two tensors differ, the first of which depends on these launches. is_compared: a
    function that compares saw them; else they were subtracted, and it is where they differ most."""

    numbers: frozenset
    index: tuple
    shape: tuple
    address: int
    text: str
    is_compared: bool


def difference(name: str, args, numbers: frozenset, options: dict) -> Difference | None:
    """Returns where the tensors differ that a function of torch compares, or subtracts; None where they do
    not. The first of them depends on launches."""
    import torch

    if len(args) < 2 or not all(isinstance(one, torch.Tensor) for one in args[:2]):
        return None
    shape, count = tuple(args[0].shape), args[0].numel()
    if shape != tuple(args[1].shape) or not 0 < count <= _MOST_ELEMENTS or args[0].is_complex():
        return None
    with torch._C.DisableTorchFunction():  # to look at a value is no use of it
        got, want = (numpy.asarray(host(one.detach()), numpy.float64) for one in args[:2])
        address = args[0].data_ptr()
    with numpy.errstate(all="ignore"):
        if name in ("allclose", "isclose"):
            tolerances = dict(zip(("rtol", "atol", "equal_nan"), args[2:], strict=False)) | options
            where = ~numpy.isclose(got, want, **{"rtol": 1e-5, "atol": 1e-8, **tolerances})
        else:
            where = got != want
        if not where.any():
            return None
        distance = numpy.nan_to_num(numpy.abs(got - want), nan=math.inf) * where
    at = numpy.argmax(where) if name in COMPARE else numpy.argmax(distance)
    index = tuple(map(int, numpy.unravel_index(at, shape))) if shape else ()
    text = f"{got[index]:.6g}, and is compared with {want[index]:.6g}"
    if name in COMPARE:
        text += f"; {int(where.sum()):,} of {count:,} elements differ"
    return Difference(numbers, index, shape, address, text, name in COMPARE)


class Mismatch:
    """The launches of a program by number, and the last comparison that did not hold."""

    def __init__(self):
        self._launches: dict[int, _Remembered] = {}
        self._last: Difference | None = None

    def launched(self, number: int, call: Call, written) -> None:
        self._launches[number] = _Remembered(call, written)

    def compared(self, name: str, args, numbers: frozenset, options: dict) -> None:
        """A function of torch compares or subtracts tensors, one of which depends on launches."""
        if name not in (*COMPARE, *_SUBTRACT) or (found := difference(name, args, numbers, options)) is None:
            return
        last = self._last  # what a message says of a comparison comes after it
        if found.is_compared or last is None or not last.is_compared or last.numbers != numbers:
            self._last = found

    def stores(self, kernel: str, argument: str) -> str:
        """Names the lines of a kernel that store to an argument; "" where none is known."""
        of = [one for one in self._launches.values() if one.kernel == kernel]
        return accesses.places(of[-1].stores(argument)) if of else ""

    def explained(self) -> list[str]:
        """Lines on the element, while the program's tensors are still there."""
        last = self._last
        remembered = self._launches.get(max(last.numbers, default=-1)) if last is not None else None
        if remembered is None:
            return []
        try:
            return remembered.explained(last)
        except (KernelTrap, DiagnosticError):  # a launch that is not the same again
            return []


class _Remembered:
    """A launch whose arguments are not kept alive. written: the names of those that it writes."""

    def __init__(self, call: Call, written):
        self._call = dataclasses.replace(
            call, again=_nothing, args=(), pairs=list, hooks=()
        )  # which all hold arguments
        self._named = [(name, _reference(value)) for name, value in call.named]
        self._written = written

    @property
    def kernel(self) -> str:
        return self._call.name

    def stores(self, argument: str) -> list:
        text = (getattr(self._call.kernel, "asm", None) or {}).get("ttir")
        return accesses.Accesses(text, self.kernel).writing(argument) if isinstance(text, str) else []

    def explained(self, last: Difference) -> list[str]:
        named = [(name, value()) for name, value in self._named]
        if any(value is _GONE for _, value in named):
            return []
        call = dataclasses.replace(self._call, pairs=lambda: named)
        tensors = {name: value for name, value in named if hasattr(value, "untyped_storage")}
        elements = {
            name: Elements(name, tensor)
            for name, tensor in tensors.items()
            if tensor.numel() <= _MOST_ELEMENTS
        }
        launch = of_call(call)
        found = []

        def record(kernel, grid, arguments, go, kernel_of) -> None:
            found.append(accesses.of_launch(launch, _MOST_BYTES, go))

        launch.run(launch.entry, record=record, timeout=_SECONDS)
        return _Report(found[0], elements, last, self._written).lines() if found[0].is_whole else []


_GONE = object()


def _nothing(*args) -> None:
    """Stands for a launch that nobody makes again."""


def _reference(value):
    """Returns what gives the value while something else holds it, and _GONE then."""
    if not hasattr(value, "untyped_storage"):
        return lambda: value
    weak = weakref.ref(value)
    return lambda: weak() if weak() is not None else _GONE


class _Report:
    """The lines on one launch."""

    def __init__(self, launch: Launched, elements: dict[str, Elements], last: Difference, written):
        self._launch, self._elements, self._last, self._written = launch, elements, last, written

    def lines(self) -> list[str]:
        output = self._output()
        if output is None:
            return []
        number = int(numpy.ravel_multi_index(self._last.index, output.shape)) if output.shape else 0
        address = output.addresses[number]
        lines = [f"{output.called(address)} is {self._last.text}"]
        writes = [one for one in self._launch.accesses if one.writes]
        mine = [one for one in writes if (one.addresses[one.active] == address).any()]
        if mine:
            lines.append(f"  {mine[-1].place}, writes it{self._made_of(mine[-1])}")
        else:
            lines.append(f"  no program of {self._launch.kernel} writes it; {self._share(output, writes)}")
        return lines + [f"  {line}" for line in self._unread(output)]

    def _output(self) -> Elements | None:
        """The argument that the compared tensor is, or was copied from."""
        mine = [one for name, one in self._elements.items() if name in self._written]
        same = [one for one in mine if one.shape == self._last.shape]
        return next(
            (one for one in same if one.holds(self._last.address)), same[0] if len(same) == 1 else None
        )

    def _touched(self, of: Elements, those: list[Access]) -> numpy.ndarray:
        parts = [one.addresses[one.active].reshape(-1) for one in those]
        return (
            numpy.isin(of.addresses, numpy.concatenate(parts))
            if parts
            else numpy.zeros(of.addresses.shape, bool)
        )

    def _share(self, of: Elements, writes: list[Access]) -> str:
        touched = self._touched(of, writes)
        mine = [one for one in writes if numpy.isin(one.addresses[one.active], of.addresses).any()]
        places = accesses.places(one.op for one in mine)
        return (
            f"{int(touched.sum()):,} of {touched.size:,} elements of {of.name} are written, by {places}"
            * bool(mine)
        )

    def _unread(self, output: Elements):
        """A line for each argument that is read in part."""
        reads = [one for one in self._launch.accesses if one.reads]
        for of in self._elements.values():
            touched = self._touched(of, reads)
            if of is output or touched.all() or not touched.any():
                continue
            first = of.called(of.addresses[int(numpy.argmin(touched))])
            mine = [one for one in reads if numpy.isin(one.addresses[one.active], of.addresses).any()]
            yield (
                f"{int((~touched).sum()):,} of {touched.size:,} elements of {of.name} are read by no "
                f"program, the first is {first}: {accesses.places(one.op for one in mine)}"
            )

    def _made_of(self, write: Access) -> str:
        """The reductions and products that the stored value is made of, the last first."""
        value = write.op.operands[2 if write.op.name == "tt.atomic_cas" else 1]
        ops = [one.op for one in reached([value], _before_value) if one.op is not None]
        steps = dict.fromkeys(map(_step, sorted(ops, key=lambda op: -_location(op).line)))
        steps.pop("", None)
        return f"; it is made of {', '.join([*steps][:_SHOWN])}" if steps else ""


def _before_value(value):
    op = value.op
    if op is None or op.name in CARRYING:
        return [*carried_to(value)]
    return [] if op.does("loads") else op.operands


def _location(op):
    """The line of the program that an op is of: functions of Triton are called there."""
    location = op.location
    while is_of_library(location.file) and location.caller is not None:
        location = location.caller
    return location


def _step(op) -> str:
    place = f"at {shown_path(_location(op).file)}:{_location(op).line}"
    kind = str(op.results[0].type.element or op.results[0].type) if op.results else ""
    narrow = f", in {kind}" if kind in ("f16", "bf16") else ""
    if op.name in REDUCTIONS:
        return f"{op.name} along axis {op.attr('axis').value} {place}{narrow}"
    if op.name in DOTS:
        return f"{op.name} {place}{narrow}"
    return ""
