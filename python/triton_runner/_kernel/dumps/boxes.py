"""Finds which elements an access through a tensor descriptor touches, a box of them or rows: the descriptor
is made in the kernel, or is an argument that the host made, and what it was made of is recorded with the
offsets."""

from __future__ import annotations

import dataclasses
import math

import numpy

from triton_runner._memory.arguments import is_descriptor

_GATHER, _SCATTER = "tt.descriptor_gather", "tt.descriptor_scatter"
_REDUCE = "tt.descriptor_reduce"
LOADS = ("tt.descriptor_load", _GATHER)
STORES = ("tt.descriptor_store", _REDUCE, _SCATTER)
READS = (*LOADS, _REDUCE)  # what is there is part of the result
_MAKES = "tt.make_tensor_descriptor"


@dataclasses.dataclass(frozen=True)
class Descriptor:
    """A descriptor by values of the IR, or by numbers: where it begins, its shape and its strides."""

    base: object
    shape: list
    strides: list


@dataclasses.dataclass(frozen=True)
class Box:
    """The box of an op. moment: a value that is there once for each execution of the op."""

    op: object
    of: Descriptor
    offsets: list
    moment: object

    @property
    def values(self) -> list:
        """The values of the IR that decide which elements are touched."""
        every = [self.moment, self.of.base, *self.of.shape, *self.of.strides, *self.offsets]
        return [value for value in every if not _is_known(value)]

    def touched(self, number) -> tuple[numpy.ndarray, numpy.ndarray] | None:
        """(addresses, which of them are inside of the descriptor's shape). number(value): in an execution; of
        a value that has many, all of them."""
        described = self.op.operands[0].type
        block = [*(described.shape or described.element.shape)]
        at, inside = number(self.of.base), numpy.ones((), bool)
        described_by = self.of.shape, self.of.strides, self.offsets
        parts = [[number(value) for value in values] for values in described_by]
        if at is None or any(one is None for part in parts for one in part):
            return None
        if any(len(part) != len(block) for part in parts):
            return None
        if self.op.name in (_GATHER, _SCATTER):  # of one row each
            block[0] = 1
        for axis, (count, size, stride, offset) in enumerate(zip(block, *parts, strict=True)):
            along = [-1 if i == axis else 1 for i in range(len(block))]
            index = (numpy.asarray(offset).reshape(-1, 1) + numpy.arange(count)).reshape(along)
            inside = inside & (index >= 0) & (index < size)
            at = at + index * stride * _bytes_of(self._value.type)
        return at.reshape(self._value.type.shape), inside.reshape(self._value.type.shape)

    @property
    def _value(self):
        return self.op.results[0] if self.op.name in LOADS else self.op.group("src")[0]


def box_of(op, arguments: dict) -> Box | None:
    """The box of an op; None where it does not show which descriptor it has. arguments: of the launch."""
    of = descriptor_of(op.operands[0], arguments)
    groups = ("x_offsets", "y_offset") if op.name in (_GATHER, _SCATTER) else ("indices",)
    offsets = [_number_or_value(one) for name in groups for one in op.group(name)]
    there = [one for one in offsets if not _is_known(one) and _block_of(one) == op.block]
    moment = there[0] if there else op.results[0] if op.name in LOADS else op.group("src")[0]
    return Box(op, of, offsets, moment) if of is not None else None


def descriptor_of(value, arguments: dict) -> Descriptor | None:
    """Returns how a descriptor was made; None where a loop or a branch chooses it."""
    if value.op is not None:
        if value.op.name != _MAKES:
            return None
        groups = [[_number_or_value(one) for one in value.op.group(name)] for name in ("shape", "strides")]
        return Descriptor(value.op.operands[0], *groups)
    host = arguments.get(value.name.removeprefix("%"))
    if not is_descriptor(host):
        return None
    return Descriptor(host.base.data_ptr(), [*map(int, host.shape)], [*map(int, host.strides)])


def _block_of(value):
    return value.block if value.op is None else value.op.block


def _number_or_value(value):
    """The number that a constant is, or the numbers; else the value."""
    if value.op is None or value.op.name != "arith.constant" or value.op.attr("value").value is None:
        return value
    number = int(value.op.attr("value").value)
    return numpy.full(value.type.shape, number) if value.type.shape else number


def _is_known(value) -> bool:
    return isinstance(value, (int, numpy.ndarray))


def stored_by(op):
    """The value that an op stores."""
    if op.name in STORES:
        return op.group("src")[0]
    return op.operands[2 if op.name == "tt.atomic_cas" else 1]


def _bytes_of(type_) -> int:
    return math.ceil(type_.element.width / 8)
