"""The dl.dump statements of a kernel, read back from its TTIR or TTGIR."""

from __future__ import annotations

import dataclasses
import math

from triton_runner._base.errors import fail
from triton_runner._base.markers import EVERY, MARKER
from triton_runner._kernel.dumps import fill


@dataclasses.dataclass(frozen=True)
class Marker:
    """A dl.dump statement in a module, as far as it is known before it runs: who it is, the type and number
    of its elements, its offset and program (None: computed by the kernel; EVERY: all programs); and name, op
    and location of the value, as the IR writes them."""

    who: str
    type: str
    elements: int
    offset: int | None
    grid: tuple
    value: str = ""
    op: str = ""
    location: str = ""

    @property
    def program(self) -> str:
        return f"({', '.join('?' if axis is None else str(axis) for axis in self.grid)})"

    @property
    def all_programs(self) -> bool:
        return self.grid == (EVERY,) * 3


# Ops whose regions are run on pairs of elements: there is no tensor to dump.
_COMBINING = ("tt.reduce", "tt.scan", "tt.map_elementwise")


def markers_of(module) -> list[Marker]:
    """The dl.dump statements of a module of TTIR or TTGIR, in the order of its text."""
    statements = []
    for op in module.walk():
        prefix = op.attr("prefix") if op.name == "tt.print" else None
        if prefix is None or not prefix.value.startswith(MARKER):
            continue
        value, *numbers = op.operands
        place = op.location
        who = fill.statement(prefix.value, place.file or "", place.line) if place else "dl.dump"
        shape = value.type.shape or []
        offset, *grid = [_constant(number) for number in numbers]
        kind = str(value.type.element or value.type)
        kind = "ptr" if kind.startswith("!tt.ptr") else kind
        if op.parent.name in _COMBINING:
            raise fail(
                f"{who} stands in a function that {op.parent.name} combines with",
                "dump what it combines, or what comes of it",
            )
        maker = value.op or value.block.parent  # of an argument what it belongs to: a loop, the function
        statements.append(
            Marker(
                who,
                kind,
                math.prod(shape),
                offset,
                tuple(grid),
                value.name,
                maker.name,
                _location(value.location if value.op is None else maker.location),
            )
        )
    return statements


def _location(place) -> str:
    if place is None:
        return ""
    return f"loc({place.alias})" if place.alias else str(place)


def _constant(value):
    """The number of an arith.constant, or None."""
    op = value.op
    if op is None or op.name != "arith.constant":
        return None
    number = op.attr("value").value
    return number if isinstance(number, int) else None
