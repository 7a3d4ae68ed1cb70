"""Finds which store of a launch writes an element: through pointers, whose addresses the tile engine records,
AMD's buffers, of which it records base and offsets, or a box of a tensor descriptor that the launch was
given, whose place it records."""

from __future__ import annotations

import dataclasses

import numpy

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._kernel.dumps import accesses
from triton_runner._memory.arguments import is_descriptor

BOXES = (
    "tt.descriptor_store", "tt.descriptor_reduce", "tt.experimental_descriptor_store",
    "ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce",
)  # fmt: skip

BUFFERS = ("amdg.buffer_store", "amdg.buffer_atomic_rmw")


@dataclasses.dataclass(frozen=True)
class Write:
    """A store to an element: its op, its program, and the index of the element in what is stored."""

    op: object
    program: tuple
    part: tuple

    @property
    def adds(self) -> bool:
        """Returns whether it combines with what memory holds, so that the order of several matters."""
        return self.op.does("atomics") or self.op.name.endswith("reduce")

    @property
    def value(self):
        """The value that is stored."""
        if self.op.name in BOXES:
            return _put_into(self.op.group("src")[0])
        if self.op.name in BUFFERS:
            return self.op.group("value")[0]
        return self.op.operands[2 if self.op.name == "tt.atomic_cas" else 1]


def _put_into(value):
    """The tensor that a buffer holds when it is stored: the buffer itself where nothing says it."""
    op = value.op
    if op is None or "memdesc" not in str(value.type) or op.operands:
        return value
    put = [user for user, operand in value.uses if user.name == "ttg.local_store" and operand == 1]
    return put[-1].operands[0] if put else value


class Stores:
    """The stores of a kernel; names: of chain.Chain, by value."""

    def __init__(self, module, names: dict, launch: Relaunch):
        self._launch, self._names = launch, names
        ops = list(module.walk())
        self._pointers = [op for op in ops if op.name in accesses.WRITES]
        self._buffers = [op for op in ops if op.name in BUFFERS]
        self._boxes = [op for op in ops if op.name in BOXES]

    def recorded(self) -> list[str]:
        """The values that say where they store."""
        values = [value for op in self._pointers for value in (op.operands[0], *accesses.mask_of(op))]
        values += [value for op in self._buffers for value in (*_buffer(op), *accesses.mask_of(op))]
        values += [value for op in self._boxes for value in _corner(op)]
        return list(dict.fromkeys(self._names[value] for value in values if value in self._names))

    def writes(self, dump, argument: str, element: tuple) -> list[Write]:
        """Returns the writes to an element of an argument, in the order in which they were done."""
        found = []
        address = self._address(argument, element)
        for op in self._pointers:
            pointers = self._values(dump, op.operands[0])
            if pointers is not None:
                found += self._at(op, dump, pointers, pointers.to_numpy() == address)
        for op in self._buffers:
            found += self._in_buffer(op, dump, address, self._launch.arguments.views[argument].type.itemsize)
        for op in self._boxes:
            found += self._in_box(op, dump, argument, element)
        found.sort(key=lambda pair: pair[0])
        return [write for _, write in found]

    def _address(self, argument: str, element: tuple) -> int:
        arguments = self._launch.arguments
        view = arguments.views[argument]
        return arguments.address(view.block) + view.offset + _offset(view, element) * view.type.itemsize

    def _values(self, dump, value):
        return accesses.values_of(dump, self._names, value)

    def _in_buffer(self, op, dump, address: int, itemsize: int) -> list:
        """(order, Write) of each time that a store to a buffer writes an address."""
        bases, offsets = (self._values(dump, value) for value in _buffer(op))
        if bases is None or offsets is None:
            return []
        rows = accesses.rows_of(bases)
        of = [accesses.at_execution(bases, rows, *one) for one in accesses.executions(offsets)]
        left = [numpy.nan if base is None else (address - int(base)) / itemsize for base in of]
        wanted = numpy.array(left).reshape(-1, *[1] * (offsets.to_numpy().ndim - 1))
        return self._at(op, dump, offsets, offsets.to_numpy() == wanted)

    def _at(self, op, dump, places, there) -> list:
        """The same where `there` says which of a store's places are the address, but for its mask."""
        for mask in accesses.mask_of(op):
            masks = self._values(dump, mask)
            there = accesses.within_mask(there, places, masks) if masks is not None and len(masks) else there
        rows = numpy.argwhere(there).tolist()
        return [_written(op, places, row, tuple(part)) for row, *part in rows]

    def _in_box(self, op, dump, argument: str, element: tuple) -> list:
        """The same of a store to a box of a descriptor."""
        index = self._index(op, argument, element)
        corners = [self._values(dump, value) for value in _corner(op)]
        if index is None or len(index) != len(corners) or any(one is None or not len(one) for one in corners):
            return []
        shape = tuple(op.group("src")[0].type.shape)
        longest = max(corners, key=len)
        found = []
        for row, (program, turn) in enumerate(accesses.executions(longest)):
            places = [accesses.at_execution(one, accesses.rows_of(one), program, turn) for one in corners]
            part = tuple(i - int(place) for i, place in zip(index, places, strict=True) if place is not None)
            if len(part) == len(index) and all(
                0 <= i < n for i, n in zip(part, shape[-len(part) :], strict=True)
            ):
                found.append(_written(op, longest, row, (0,) * (len(shape) - len(part)) + part))
        return found

    def _index(self, op, argument: str, element: tuple) -> tuple | None:
        """The index of the element in a descriptor that is of its memory; None: it is of another."""
        desc, arguments = op.group("desc")[0], self._launch.arguments
        given = dict(arguments.named).get(desc.name.removeprefix("%")) if desc.op is None else None
        if given is None or not is_descriptor(given):
            return None
        mine, of = arguments.views[argument], arguments.views[desc.name.removeprefix("%")]
        if (mine.block, mine.dtype) != (of.block, of.dtype):
            return None
        left = _offset(mine, element) + (mine.offset - of.offset) // mine.type.itemsize
        index = []
        for step in given.strides:
            index.append(left // int(step))
            left %= int(step)
        return tuple(index)


def _offset(view, element: tuple) -> int:
    return sum(int(i) * step for i, step in zip(element, view.strides, strict=True))


def _buffer(op) -> list:
    """Returns a buffer's base and the offsets in it."""
    return [op.group("ptr")[0], op.group("offsets")[0]]


def _corner(op) -> list:
    """Returns where a box begins."""
    return op.group("coord" if op.name.startswith("ttng.") else "indices")


def _written(op, values, row: int, part: tuple) -> tuple:
    order = int(values.order[row]) if values.order is not None else row
    return order, Write(op, tuple(values.programs[row].tolist()), part)
