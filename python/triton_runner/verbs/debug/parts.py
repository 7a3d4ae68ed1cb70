"""Reads a value, or a part of one, as people write it: "acc", "%12", "acc[3, 5]", "acc[3, :]"."""

from __future__ import annotations

import ast
import dataclasses
import re

from triton_runner._base.errors import fail

_NAME = r"[%\w.#$]+"
_PART = re.compile(rf"\s*({_NAME})\s*(?:\[([^\[\]]*)\])?\s*")
_ASSIGNMENT = re.compile(rf"\s*({_NAME}\s*(?:\[[^\[\]]*\])?)\s*=(?!=)\s*(.+)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Part:
    """A value's name; index: numbers and slices, empty for the whole value."""

    name: str
    index: tuple = ()

    @property
    def is_element(self) -> bool:
        return all(isinstance(at, int) for at in self.index)

    def of(self, array):
        """The part of an array; None of None."""
        return array if array is None or not self.index else array[self.index]


def part_of(what: str) -> Part | None:
    """The part that a text names; None: it is something else, as an expression."""
    match = _PART.fullmatch(what)
    if not match:
        return None
    try:
        return Part(match[1], _index(match[2]) if (match[2] or "").strip() else ())
    except (SyntaxError, ValueError):
        return None


def part(what: str) -> Part:
    """The same. Raises DiagnosticError for something else."""
    found = part_of(what)
    if found is None:
        raise fail(f"{what!r} is not a value or a part of one", 'as in "acc", "%12", "acc[3, 5]"')
    return found


def element(what: str) -> Part:
    """A value, or one element of it."""
    found = part(what)
    if not found.is_element:
        raise fail(f"{what!r} is not a value or an element of one", 'as in "acc", "acc[3, 5]"')
    return found


def assignment(text: str) -> tuple[str, str] | None:
    """("acc[3]", "0") of "acc[3] = 0"; None: it is not an assignment."""
    match = _ASSIGNMENT.fullmatch(text)
    return (match[1].strip(), match[2].strip()) if match else None


def _index(text: str) -> tuple:
    """The index that "3, :" stands for: numbers and slices."""
    found = ast.parse(f"x[{text}]", mode="eval").body.slice
    axes = found.elts if isinstance(found, ast.Tuple) else [found]

    def of(axis):
        if isinstance(axis, ast.Slice):
            ends = (axis.lower, axis.upper, axis.step)
            return slice(*(None if end is None else ast.literal_eval(end) for end in ends))
        return ast.literal_eval(axis)

    return tuple(of(axis) for axis in axes)
