"""Reads the loads, stores and atomics of a launch: which program touched which addresses, as a recording of
their pointers and masks at TTIR or TTGIR shows, or of their descriptors and offsets at TTIR."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math

import numpy

from triton_runner import _settings
from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._base.ci_files import shown_path
from triton_runner._base.errors import DiagnosticError
from triton_runner._code.slices import arguments_of
from triton_runner._core import ir, probe
from triton_runner._kernel.dumps import boxes, requests
from triton_runner._launch.launchers import Call, observing

READS = ("tt.load", "tt.atomic_rmw", "tt.atomic_cas")
WRITES = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas")
_ACCESSES = ("loads", "stores", "atomics")  # what the table of ops says of those of global memory


@dataclasses.dataclass(frozen=True, eq=False)
class Access:
    """One execution of an access by a program. number: of the op among the kernel's accesses; order: of the
    execution in the launch; addresses: of each element; active: the elements that its mask leaves in."""

    op: object
    number: int
    program: tuple
    turn: tuple
    order: int
    addresses: numpy.ndarray
    active: numpy.ndarray

    @property
    def reads(self) -> bool:
        return self.op.name in (*READS, *boxes.READS)

    @property
    def writes(self) -> bool:
        return self.op.name in (*WRITES, *boxes.STORES)

    @property
    def file(self) -> str:
        return self.op.location.file

    @property
    def line(self) -> int:
        return self.op.location.line

    @property
    def place(self) -> str:
        return f"{self.op.name} at {shown_path(self.file)}:{self.line}, program {self.program}"


class Accesses:
    """The accesses of a kernel by its text. arguments: of a launch, by name; is_whole: all of its accesses to
    global memory are known."""

    def __init__(self, text: str, kernel: str, arguments: dict | None = None):
        self.module = ir.parse(text)
        self._names = {value: name for name, value in probe.values(self.module, kernel)}
        ops = list(self.module.walk())
        self._ops = [op for op in ops if op.name in (*READS, *WRITES)]
        found = [boxes.box_of(op, arguments or {}) for op in ops if op.name in (*boxes.LOADS, *boxes.STORES)]
        self._boxes = [box for box in found if box is not None]
        known = {*self._ops, *(box.op for box in self._boxes)}
        others = [op for op in ops if any(map(op.does, _ACCESSES)) and op not in known]
        needed = [op.operands[0] for op in self._ops] + [value for box in self._boxes for value in box.values]
        self.is_whole = not others and all(value in self._names for value in needed)

    @property
    def stores(self) -> list:
        """The ops that write to global memory."""
        return [op for op in self._all if op.name in (*WRITES, *boxes.STORES)]

    def writing(self, argument: str) -> list:
        """The ops that write to an argument, as far as the text shows it."""
        return [op for op in self.stores if argument in arguments_of(op.operands[0])]

    @property
    def loads(self) -> list:
        """The ops that read global memory."""
        return [op for op in self._all if op.name in (*READS, *boxes.READS)]

    @property
    def _all(self) -> list:
        return [*self._ops, *(box.op for box in self._boxes)]

    def recorded(self) -> list[str]:
        """The values that tell what is accessed."""
        values = [value for op in self._ops for value in (op.operands[0], *mask_of(op))]
        values += [value for box in self._boxes for value in box.values]
        return list(dict.fromkeys(self._names[value] for value in values if value in self._names))

    def of(self, dump) -> list[Access]:
        """Returns what a dump of these values shows, in the order of execution."""
        found = [
            access for number, op in enumerate(self._ops) for access in self._executions(number, op, dump)
        ]
        for number, box in enumerate(self._boxes, len(self._ops)):
            found += self._boxed(number, box, dump)
        return sorted(found, key=lambda access: access.order)

    def _boxed(self, number: int, box: boxes.Box, dump):
        """The executions of an access through a descriptor."""
        records = {value: values_of(dump, self._names, value) for value in box.values}
        if any(values is None for values in records.values()):
            return
        rows = {value: rows_of(values) for value, values in records.items()}
        moments = records[box.moment]
        for row, (program, turn) in enumerate(executions(moments)):

            def number_of(value, program=program, turn=turn):
                if isinstance(value, (int, numpy.ndarray)):
                    return value
                found = at_execution(records[value], rows[value], program, turn)
                return None if found is None else found if found.shape else int(found)

            touched = box.touched(number_of)
            if touched is not None:
                order = int(moments.order[row]) if moments.order is not None else row
                yield Access(box.op, number, program, turn, order, *touched)

    def _executions(self, number: int, op, dump):
        pointers = values_of(dump, self._names, op.operands[0])
        if pointers is None or not len(pointers):
            return
        addresses = pointers.to_numpy()
        active = numpy.ones(addresses.shape, bool)
        for mask in mask_of(op):
            masks = values_of(dump, self._names, mask)
            active = within_mask(active, pointers, masks) if masks is not None and len(masks) else active
        for row, (program, turn) in enumerate(executions(pointers)):
            order = int(pointers.order[row]) if pointers.order is not None else row
            yield Access(op, number, program, turn, order, addresses[row], active[row])


@dataclasses.dataclass(frozen=True, eq=False)
class Launched:
    """A launch with its accesses. module: the kernel's IR; is_whole: no access is missing."""

    kernel: str
    accesses: list[Access] = dataclasses.field(default_factory=list)
    module: object = None
    is_whole: bool = False


@contextlib.contextmanager
def recording(max_bytes: int):
    """The launches inside of the block, on one thread, as a list of Launched. Those of kernels whose accesses
    are not in the IR, or take more bytes, are of no accesses."""
    launches: list[Launched] = []

    def see(call: Call, go) -> None:
        number = len(launches)
        launches.append(Launched(call.name))
        try:
            launches[number] = of_launch(of_call(call), max_bytes, go)
        except DiagnosticError:  # of a kernel that enters as PTX
            go()

    with observing(see):
        yield launches


def of_launch(launch: Relaunch, max_bytes: int, go) -> Launched:
    """A launch, by go(), with its accesses."""
    if launch.entry not in ("ttir", "ttgir"):
        go()
        return Launched(launch.name)
    kernel = Accesses(launch.texts[launch.entry], launch.name, dict(launch.arguments.named))
    if not kernel.recorded():
        go()
        return Launched(launch.name)
    request = requests.Request(tuple((name, ()) for name in kernel.recorded()), True, max_bytes=max_bytes)
    with requests.recording(request, launch.name) as dumps, _settings.using(threads=1):
        go()
    dropped = any(values.dropped for values in dumps[-1]) if dumps else True
    found = kernel.of(dumps[-1]) if dumps else []
    return Launched(launch.name, found, kernel.module, kernel.is_whole and not dropped)


def stores_nothing(launch: Relaunch, max_bytes: int = 1 << 24, seconds: float = 10.0) -> bool:
    """Returns whether it is certain that no program of a launch stores anything in global memory."""
    if launch.entry not in ("ttir", "ttgir"):
        return False
    kernel = Accesses(launch.texts[launch.entry], launch.name, dict(launch.arguments.named))
    ops = list(kernel.module.walk())
    if not kernel.is_whole or any(op.name == "tt.elementwise_inline_asm" for op in ops):
        return False
    if not kernel.stores:
        return True
    found = []

    def record(name, grid, arguments, go, kernel_of) -> None:
        found.append(of_launch(launch, max_bytes, go))

    launch.run(launch.entry, record=record, timeout=seconds)
    known = found and found[0].is_whole and found[0].accesses
    return bool(known) and not any(one.writes and one.active.any() for one in known)


class Elements:
    """The elements of tensors by their addresses."""

    def __init__(self, name: str, tensor):
        self.name, self.shape = name, tuple(tensor.shape)
        self._size = tensor.element_size()
        self.start = tensor.untyped_storage().data_ptr()
        self.end = self.start + tensor.untyped_storage().nbytes()
        strides = [step * self._size for step in tensor.stride()]
        index = numpy.indices(self.shape).reshape(len(self.shape), math.prod(self.shape))
        self.addresses = tensor.data_ptr() + numpy.array(strides, numpy.int64) @ index

    @functools.cached_property
    def _numbers(self) -> dict:
        """The number of the first element at each address."""
        return dict(zip(self.addresses[::-1].tolist(), range(self.addresses.size - 1, -1, -1), strict=True))

    def holds(self, address: int) -> bool:
        return self.start <= address < self.end

    def number(self, address: int) -> int | None:
        """Which element begins at an address, counted in the order of the shape; None: none does."""
        return self._numbers.get(int(address))

    def numbers(self, addresses: numpy.ndarray) -> numpy.ndarray:
        """number() of many addresses; -1 where no element begins."""
        return numpy.array([self._numbers.get(address, -1) for address in addresses.tolist()], numpy.int64)

    def called(self, address: int) -> str:
        """Names what is at an address of the same storage."""
        number = self.number(address)
        if number is not None:
            return f"{self.name}[{', '.join(map(str, self.index(number)))}]"
        place = (int(address) - self.start) // self._size
        return f"element {place} of the storage of {self.name}, which is outside of {self.name}"

    def index(self, number: int) -> tuple:
        return tuple(map(int, numpy.unravel_index(number, self.shape))) if self.shape else ()


def places(ops) -> str:
    """Names ops with their lines."""
    return ", ".join(
        dict.fromkeys(f"{op.name} at {shown_path(op.location.file)}:{op.location.line}" for op in ops)
    )


def values_of(dump, names: dict, value):
    """The records of a value, None where there are none. names: of values, as the dump has them."""
    try:
        return dump[names[value]]
    except (KeyError, DiagnosticError):
        return None


def mask_of(op) -> list:
    return [] if op.name == "tt.atomic_cas" else op.group("mask")[:1]


def executions(values) -> list[tuple]:
    """(program, turns of the loops) of each record."""
    pairs = zip(values.programs.tolist(), values.iterations.tolist(), strict=True)
    return [(tuple(program), tuple(turn)) for program, turn in pairs]


def rows_of(values) -> dict:
    """The number of the record of each execution."""
    return {execution: row for row, execution in enumerate(executions(values))}


def at_execution(values, rows: dict, program: tuple, turn: tuple):
    """Returns a value in an execution; outside of a loop it holds in all turns. None: it was not there."""
    keys = ((program, turn[:length]) for length in range(len(turn), -1, -1))
    row = next((rows[key] for key in keys if key in rows), None)
    return None if row is None else values.to_numpy()[row]


def within_mask(there, pointers, masks):
    """`there` without what the mask of the same execution leaves out."""
    result, rows = there.copy(), rows_of(masks)
    found = executions(pointers)
    for row in numpy.flatnonzero(there.reshape(len(there), -1).any(axis=1)):
        mask = at_execution(masks, rows, *found[row])
        if mask is not None:
            result[row] &= mask.astype(bool)
    return result
