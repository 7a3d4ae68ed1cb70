"""Finds where a kernel's text has what its IR does not tell: a number under a name, a value under another."""

from __future__ import annotations

import ast
import math

from triton_runner._code import sources


def numbers(file: str, line: int, number: float) -> list[tuple[str, int]]:
    """(file, line) of each time that a number stands in the function around a line; none where it stands in
    that line."""
    inner = _around(file, line)
    written = [] if inner is None else [one.lineno for one in ast.walk(inner) if _is(one, number)]
    return [] if line in written else [(file, one) for one in dict.fromkeys(written)]


def renaming(file: str, made: int, used: int, name: str) -> int:
    """The line of the last assignment of a variable, or of what is computed of it, to another name, between
    where it is made and where the other name is used; `used` where that line has the name itself, or no line
    is between."""
    inner = _around(file, used)
    loads = (
        {one.lineno for one in ast.walk(inner) if isinstance(one, ast.Name) and one.id == name}
        if inner
        else {used}
    )
    between = [
        one.lineno
        for one in (ast.walk(inner) if inner and used not in loads else ())
        if isinstance(one, ast.Assign) and made < one.lineno < used
        and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(one.value))
        and not any(isinstance(to, ast.Name) and to.id == name for to in one.targets)
    ]  # fmt: skip
    return max(between, default=used)


def _around(file: str, line: int):
    """The innermost function around a line."""
    around = [one for one in sources.nodes(file, ast.FunctionDef) if one.lineno <= line <= one.end_lineno]
    return max(around, key=lambda one: one.lineno, default=None)


def _is(node, number: float) -> bool:
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return is_number and math.isclose(node.value, number, rel_tol=1e-6)
