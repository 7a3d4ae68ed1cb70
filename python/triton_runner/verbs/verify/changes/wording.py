"""Says changes of a kernel as a person would write them: what stands there then, in place of what."""

from __future__ import annotations

from collections.abc import Callable

from triton_runner._code.slices import REPEATS, name_of
from triton_runner.verbs.verify.changes import numbers

# Ops of two operands of one type that take each other's place, with what a person writes for them.
SIGNS = {
    "arith.addf": "+", "arith.subf": "-", "arith.mulf": "*", "arith.divf": "/", "arith.remf": "%",
    "arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.divsi": "//", "arith.remsi": "%",
    "arith.ceildivsi": "tl.cdiv", "arith.andi": "&", "arith.ori": "|", "arith.xori": "^",
    "arith.shli": "<<", "arith.shrsi": ">>", "arith.shrui": ">>", "arith.divui": "//", "arith.remui": "%",
    "arith.maxsi": "max", "arith.minsi": "min", "arith.maxui": "max", "arith.minui": "min",
    "arith.maxnumf": "max", "arith.minnumf": "min", "arith.maximumf": "max", "arith.minimumf": "min",
}  # fmt: skip
_WRITTEN = {
    "arith.extsi": "signed", "arith.extui": "unsigned",
    "arith.sitofp": "signed", "arith.uitofp": "unsigned", "math.absf": "abs",
    "arith.negf": "-",
}  # fmt: skip


def in_place(text: str, of: str) -> Callable:
    return lambda number: f"`{text}` in place of `{of}`"


def wider(value, kind: str) -> Callable:
    return lambda number: f"`{called(value)}` in f32 in place of {kind}"


def constant(of: str) -> Callable:
    return lambda number: f"`{numbers.shown(number)}` in place of {of}"


def more(value, text: str) -> Callable:
    """A value with more, in place of the value alone."""
    return lambda number: f"`{called(value)} {text}` in place of `{called(value)}`"


def joined(value, name: str, other, is_first: bool) -> Callable:
    """A value and another, joined by an op, in place of the value alone."""
    parts = [called(other), called(value)] if is_first else [called(value), called(other)]
    return in_place(f" {sign(name)} ".join(parts), called(value))


def times(value) -> Callable:
    return lambda number: more(value, factor(number).strip())(number)


def plus(value) -> Callable:
    return lambda number: more(value, f"{'+' if number > 0 else '-'} {numbers.shown(abs(number))}")(number)


def sum_more(value, text: str) -> Callable:
    return lambda number: more(value, f"{'+' if number > 0 else '-'} {text}{factor(abs(number))}")(number)


def factor(number: float) -> str:
    """A factor as people write it: 0.00333333 is / 300."""
    if number and len(numbers.shown(1 / number).lstrip("-")) < len(numbers.shown(number).lstrip("-")):
        return f" / {numbers.shown(1 / number)}"
    return f" * {numbers.shown(number)}"


def sign(name: str) -> str:
    return SIGNS.get(name) or _WRITTEN.get(name) or name.rpartition(".")[2]


def called(value) -> str:
    """The name that a value has in the program, else the line that makes it."""
    number = numbers.value_of(value.op)
    if number is not None:
        return numbers.shown(number)
    while value.op is not None and value.op.name in REPEATS and _is_on_the_way(value):
        value = value.op.operands[0]
    if name := name_of(value):
        return name
    return "..." if value.op is None else f"({_expression(value.op)})"


def _is_on_the_way(value) -> bool:
    """Returns whether a value has its name from what the same line makes of it: `a = x - m` repeats m."""
    line, name = value.op.location.line, name_of(value)
    users = [op for op, _ in value.uses if op.results]
    return any(name_of(op.results[0]) == name and op.location.line == line for op in users)


def _expression(op) -> str:
    """A value without a name, by its operands."""
    known = SIGNS.get(op.name)
    names = [
        "..." if one.op is not None and called(one).startswith("(") else called(one) for one in op.operands
    ]
    if known is not None and known in "+-*/%&|^":
        return f"{names[0]} {known} {names[1]}"
    return f"{sign(op.name)}({', '.join(names)})"


def without(shape: list, axis: int) -> list:
    return [count for number, count in enumerate(shape) if number != axis]
