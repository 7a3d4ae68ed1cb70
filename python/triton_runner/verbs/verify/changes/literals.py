"""Finds where a function of a program writes a number that its kernel has as a constant elsewhere."""

from __future__ import annotations

import ast
import functools
import math


def lines(file: str, line: int, number: float) -> list[tuple[str, int]]:
    """(file, line) of each time that a number stands in the function around a line; none where it stands in
    that line."""
    around = [one for one in _functions(file) if one.lineno <= line <= one.end_lineno]
    inner = max(around, key=lambda one: one.lineno, default=None)
    written = [] if inner is None else [one.lineno for one in ast.walk(inner) if _is(one, number)]
    return [] if line in written else [(file, one) for one in dict.fromkeys(written)]


def _is(node, number: float) -> bool:
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return is_number and math.isclose(node.value, number, rel_tol=1e-6)


@functools.lru_cache(maxsize=8)
def _functions(file: str) -> list:
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return []
    return [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
