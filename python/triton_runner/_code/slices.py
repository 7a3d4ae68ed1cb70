"""Finds the ops of a kernel's TTIR that decide what is stored to an argument, the nearest to its stores
first."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from triton_runner._code.carried import CARRYING, carried_to, end_of
from triton_runner._code.walk import reached

REPEATS = ("tt.splat", "tt.broadcast", "tt.expand_dims")  # ops that repeat a value
_MOVES = (*REPEATS, "tt.reshape")  # which take no step towards a store
_CONVERSIONS = {"arith.sitofp", "arith.uitofp", "arith.extf", "arith.truncf", "arith.extsi", "arith.trunci"}
_LOOPS = ("scf.for", "scf.while")


@dataclasses.dataclass(frozen=True)
class Reached:
    """An op with its number in the order of the text, how many steps it is from a store, and whether it
    decides only which elements are accessed."""

    op: object
    number: int
    steps: int
    is_address: bool


class Slice:
    """The ops that reach the stores to an argument of a kernel. argument: its name."""

    def __init__(self, module, argument: str):
        self.module, self.ops = module, [*module.walk()]
        self._numbers = {op: number for number, op in enumerate(self.ops)}
        stores = [op for op in self.ops if is_write(op) and argument in arguments_of(op.operands[0])]
        self.reached = sorted(self._walked(stores), key=lambda one: (one.is_address, one.steps))

    def place(self, value) -> tuple:
        """(number of an op, its region or None, index): where a value is in any parse of the text."""
        if value.op is not None:
            return self._numbers[value.op], None, value.index
        parent = value.block.parent
        region = next(i for i, one in enumerate(parent.regions) if value.block in one.blocks)
        return self._numbers[parent], region, value.index

    def _walked(self, stores: list) -> Iterator[Reached]:
        seen: dict = {}  # by op whether it decides only addresses
        waiting = [(op, 0, False) for op in stores]
        while waiting:
            waiting.sort(key=lambda one: (one[2], one[1]), reverse=True)
            op, steps, is_address = waiting.pop()
            if op in seen:
                continue
            seen[op] = is_address
            yield Reached(op, self._numbers[op], steps, is_address)
            further = steps + (op.name not in _MOVES)
            for value, at_address in _before(op):
                waiting += [(one, further, is_address or at_address) for one in _ops_of(value)]
            parent = op.parent
            while parent is not None and parent.name.startswith("scf."):
                waiting.append((parent, further, is_address))
                parent = parent.parent


def repeated(value) -> tuple:
    """(the ops that repeat a value, the last first; the value that they repeat)."""
    ops = []
    while value.op is not None and value.op.name in REPEATS:
        ops.append(value.op)
        value = value.op.operands[0]
    return ops, value


def is_write(op) -> bool:
    """Returns whether an op writes to memory through its first operand."""
    return op.does("stores") or op.does("atomics")


def arguments_of(pointer) -> set[str]:
    """The arguments of the kernel that a pointer may be computed from."""

    def before(value):
        if value.op is None or value.op.name in CARRYING:
            return [*carried_to(value)]
        return [one for one in value.op.operands if "ptr" in str(one.type) or "tensordesc" in str(one.type)]

    ends = (value for value in reached([pointer], before) if value.op is None)
    return {getattr(value.location, "name", "") or value.name.removeprefix("%") for value in ends}


def _before(op) -> Iterator[tuple]:
    """The values that an op takes, each with whether it is an address."""
    for value in op.operands[:3] if op.name == "scf.for" else op.operands:
        yield value, "ptr" in str(value.type)
    for side, region in enumerate(op.regions):
        if op.name in ("tt.reduce", "tt.scan") and region.blocks:
            for value in end_of(op, side).operands:
                yield value, False


def _ops_of(value) -> list:
    """The ops that a value comes from, through loops and branches."""
    found, seen, waiting = [], set(), [value]
    while waiting:
        if (value := waiting.pop()) in seen:
            continue
        seen.add(value)
        carried = [*carried_to(value)]
        waiting += carried
        if value.op is not None:
            found.append(value.op)
        elif not carried and value.block.parent is not None and value.block.parent.name in _LOOPS:
            found.append(value.block.parent)
    return found


def live(op, type_: str) -> list:
    """The values of a type that a program can name where an op is, the nearest first; the last of a name."""
    found: list = []
    while op is not None and op.block is not None:
        before: list = []
        for other in op.block.ops:
            if other == op:
                break
            before += other.results
        found += [*reversed(before), *op.block.args]
        op = op.parent
        if op is None or op.name in ("tt.reduce", "tt.scan", "tt.func", "builtin.module"):
            break
    named: dict = {}
    for value in found:
        named.setdefault(name_of(value), value)
    return [value for name, value in named.items() if name and str(value.type) == type_]


def name_of(value) -> str:
    """The name of the program's variable that a value is of, or is on the way to; "" where it has none."""
    while value.op is not None and value.op.name in _CONVERSIONS:
        value = value.op.operands[0]
    name = re.sub(r"(_\d+)?(#\d+)?$", "", value.name.removeprefix("%"))
    return "" if name.isdigit() or name == "cst" else name
