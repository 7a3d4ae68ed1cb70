"""Reads conditions of breakpoints: what the core decides ("acc.max() > 1e4 and pid == 3"), and the rest,
which is an expression of NumPy. Whether the names exist is checked in names.py."""

from __future__ import annotations

import ast
import difflib
import math
import re

import numpy

from triton_runner._base.errors import fail
from triton_runner._core import probe

_COMPARE = {
    ast.Lt: "LESS", ast.LtE: "LESS_EQUAL", ast.Gt: "GREATER", ast.GtE: "GREATER_EQUAL", ast.Eq: "EQUAL",
    ast.NotEq: "UNEQUAL",
}  # fmt: skip
_REDUCES = {"max": "MAX", "min": "MIN", "any": "ANY", "all": "ALL", "nan": "NAN", "inf": "INF"}
OF_THE_LAUNCH = ("program", "iteration", "task")  # where it stands, in words of conditions
_PERCENT = re.compile(r"%[\w$]+(?:\.[\w$]+)*(#\d+)?")


def identifiers(text: str) -> tuple[str, dict]:
    """An expression in which "%12" is a name of Python, and what those names stand for."""
    names: dict = {}

    def name_of(match) -> str:
        value, method = _without_method(match[0])
        name = f"ir_{re.sub(r'[^0-9A-Za-z]', '_', value[1:])}"
        names[name] = value
        return name + method

    return _PERCENT.sub(name_of, text), names


def _without_method(text: str) -> tuple[str, str]:
    """("%12", ".max") of "%12.max": a name may have dots, too."""
    value, dot, word = text.rpartition(".")
    is_method = dot and (word in _REDUCES or hasattr(numpy.ndarray, word))
    return (value, dot + word) if is_method else (text, "")


def parsed(text: str) -> tuple[list, str]:
    """(conditions for the core, what is left for Python or "") of a breakpoint's condition."""
    code, names = identifiers(text)
    try:
        tree = ast.parse(code.strip(), mode="eval").body
    except SyntaxError as error:
        raise fail(
            f"the condition {text!r} is no expression: {error.msg}", 'as in "acc.max() > 1e4"'
        ) from None
    terms = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    conditions, rest = [], []
    for term in terms:
        condition = _of(term, names)
        conditions += [] if condition is None else [condition]
        rest += [term] if condition is None else []
    return conditions, " and ".join(f"({ast.unparse(term)})" for term in rest)


def names(text: str) -> list[str]:
    """The names of values in an expression."""
    code, ir_names = identifiers(text)
    found = [node.id for node in ast.walk(ast.parse(code.strip(), mode="eval")) if isinstance(node, ast.Name)]
    return [*dict.fromkeys(ir_names.get(name, name) for name in found)]


def _of(term, names: dict):
    """Returns what the core decides; None: it is for Python."""
    compare, number = "UNEQUAL", 0.0
    if isinstance(term, ast.Compare):
        if len(term.ops) != 1 or type(term.ops[0]) not in _COMPARE:
            return None
        compare = _COMPARE[type(term.ops[0])]
        try:
            number = float(ast.literal_eval(term.comparators[0]))
        except (ValueError, TypeError, SyntaxError):
            return None
        term = term.left
    of, index = "ELEMENT", []
    if isinstance(term, ast.Call) and isinstance(term.func, ast.Attribute) and not term.args:
        of, term = _REDUCES.get(term.func.attr, ""), term.func.value
    elif isinstance(term, ast.Subscript):
        try:
            at = ast.literal_eval(term.slice)
        except (ValueError, SyntaxError):
            return None
        index, term = [*at] if isinstance(at, tuple) else [at], term.value
    if not of or not isinstance(term, ast.Name) or not all(isinstance(i, int) for i in index):
        return None
    if math.isnan(number) or term.id in OF_THE_LAUNCH:
        return None
    value = names.get(term.id, term.id)
    return probe.Condition(value, getattr(probe.Of, of), index, getattr(probe.Compare, compare), number)


def nearest(name: str, names) -> list[str]:
    """Notes for a name that is not there."""
    close = difflib.get_close_matches(name, sorted(names))
    return [f"did you mean {other!r}?" for other in close]
