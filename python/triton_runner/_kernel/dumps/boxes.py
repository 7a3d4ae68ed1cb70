"""Finds which elements a load or store through a tensor descriptor touches: the descriptor is made in the
kernel, or is an argument that the host made, and what it was made of is recorded with the offsets."""

from __future__ import annotations

import dataclasses
import math

import numpy

from triton_runner._memory.arguments import is_descriptor

LOADS = ("tt.descriptor_load",)
STORES = ("tt.descriptor_store",)
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
        return [value for value in every if not isinstance(value, int)]

    def touched(self, number) -> tuple[numpy.ndarray, numpy.ndarray] | None:
        """(addresses, which of them are inside of the descriptor's shape). number(value): in an execution."""
        described = self.op.operands[0].type
        block = described.shape or described.element.shape
        at, inside = number(self.of.base), numpy.ones((), bool)
        described_by = self.of.shape, self.of.strides, self.offsets
        parts = [[number(value) for value in values] for values in described_by]
        if at is None or any(None in part or len(part) != len(block) for part in parts):
            return None
        for axis, (count, size, stride, offset) in enumerate(zip(block, *parts, strict=True)):
            index = offset + numpy.arange(count).reshape([-1 if i == axis else 1 for i in range(len(block))])
            inside = inside & (index >= 0) & (index < size)
            at = at + index * stride * _bytes_of(self._value.type)
        return at.reshape(self._value.type.shape), inside.reshape(self._value.type.shape)

    @property
    def _value(self):
        return self.op.results[0] if self.op.name in LOADS else self.op.operands[1]


def box_of(op, arguments: dict) -> Box | None:
    """The box of an op; None where it does not show which descriptor it has. arguments: of the launch."""
    of = descriptor_of(op.operands[0], arguments)
    offsets = [_number_or_value(one) for one in op.group("indices")]
    there = [one for one in offsets if not isinstance(one, int) and _block_of(one) == op.block]
    moment = there[0] if there else op.results[0] if op.name in LOADS else op.operands[1]
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
    """The number that a constant is; else the value."""
    is_constant = value.op is not None and value.op.name == "arith.constant"
    return int(value.op.attr("value").value) if is_constant else value


def _bytes_of(type_) -> int:
    return math.ceil(type_.element.width / 8)
