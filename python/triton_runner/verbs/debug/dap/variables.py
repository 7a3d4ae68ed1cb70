"""Shows values as an editor does: a line of text, and children that it asks for page by page.

A reference is the number of something with children; it is valid until the launch goes on. An array has named
children, its statistics, and indexed ones along its first axis."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy

from triton_runner._base.errors import fail
from triton_runner.verbs.debug import show

MOST = 1000  # children in an answer, whatever the editor asks for


@dataclasses.dataclass
class Children:
    """Something with children. named(as_hex): rows; indexed(start, stop, as_hex): rows of so many elements.

    - `name_of(child)`: the expression of a child by its name, for setVariable and data breakpoints; or "".
    """

    named: Callable[[bool], list[dict]]
    count: int = 0
    indexed: Callable[[int, int, bool], list[dict]] | None = None
    name_of: Callable[[str], str] = lambda name: ""


class Variables:
    """The references of a stop."""

    def __init__(self):
        self._numbers = itertools.count(1)
        self._all: dict[int, Children] = {}

    def forget(self) -> None:
        """The launch has gone on: what was shown is no longer there."""
        self._all.clear()

    def add(self, children: Children) -> int:
        number = next(self._numbers)
        self._all[number] = children
        return number

    def __getitem__(self, number: int) -> Children:
        if number not in self._all:
            raise fail(f"there are no variables {number}: the launch has gone on since they were shown")
        return self._all[number]

    def page(self, number: int, which: str, start: int, count: int, as_hex: bool) -> list[dict]:
        """The children that are asked for. which: "named", "indexed" or "" for both."""
        of = self[number]
        if which not in ("", "named", "indexed"):
            raise fail(f"filter {which!r} is neither 'named' nor 'indexed'")
        rows = of.named(as_hex) if which != "indexed" else []
        if which == "named" or of.indexed is None:
            return rows[start : start + count] if count else rows[start:]
        wanted = min(of.count, start + (count or of.count))
        stop = min(wanted, start + MOST)
        rows += of.indexed(start, stop, as_hex)
        if stop < wanted:
            rows.append(row("...", f"{wanted - stop} more: ask for them with start and count"))
        return rows

    def value(self, name: str, array, expression: str = "", mask=None, as_hex: bool = False) -> dict:
        """The row of a value: a number, or an array with children. expression: what gives it, for those that
        can be changed."""
        array = numpy.asarray(array)
        shown = row(name, text_of(array, mask, as_hex), type_of(array), expression)
        if array.ndim:
            mask = None if mask is None else numpy.broadcast_to(mask, array.shape)
            named = _statistics(array, mask)
            children = Children(
                lambda _: named, len(array), self._elements(array, mask, expression), _name_of(expression)
            )
            shown |= {
                "variablesReference": self.add(children),
                "namedVariables": len(named),
                "indexedVariables": len(array),
            }
        return shown

    def _elements(self, array, mask, expression: str):
        def elements(start: int, stop: int, as_hex: bool) -> list[dict]:
            return [
                self.value(
                    f"[{i}]", array[i], element_of(expression, i), None if mask is None else mask[i], as_hex
                )
                for i in range(start, stop)
            ]

        return elements


def _name_of(expression: str):
    """Returns a function that gives, for an element "[5]" of an array, the expression that yields it."""

    def name_of(child: str) -> str:
        inside = child[1:-1]
        return element_of(expression, int(inside)) if child[:1] == "[" and inside.isdecimal() else ""

    return name_of


def row(name: str, value: str, type: str = "", evaluateName: str = "", **more) -> dict:
    """A variable of the protocol."""
    optional = {"type": type, "evaluateName": evaluateName}
    return {
        "name": name, "value": value, "variablesReference": 0,
        **{key: text for key, text in optional.items() if text}, **more,
    }  # fmt: skip


def element_of(expression: str, index: int) -> str:
    """ "acc[3, 5]" of "acc[3]"; "" of what is no value and no part of one."""
    if not expression:
        return ""
    return f"{expression[:-1]}, {index}]" if expression.endswith("]") else f"{expression}[{index}]"


def type_of(array) -> str:
    """ "64x32 float32" """
    shape = "x".join(map(str, array.shape))
    return f"{shape} {array.dtype}".strip()


def text_of(value, mask=None, as_hex: bool = False) -> str:
    """A number, or a line that says of an array what is in it."""
    array = numpy.asarray(value)
    if array.ndim:
        return f"{type_of(array)}, {show.statistics(array, mask)}"
    if mask is not None and not numpy.all(mask):
        return "masked"
    return show.element(array[()], "x" if as_hex and array.dtype.kind in "iu" else "")


def _statistics(array, mask) -> list[dict]:
    found, counts = show.figures(array, mask)
    texts = {"shape": list(array.shape), "type": array.dtype, **found, **counts}
    return [row(name, str(text)) for name, text in texts.items()]
