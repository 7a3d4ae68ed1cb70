"""What makes a kernel in Python smaller: statements leave, loops and branches become what they hold,
expressions become one of their parts or a number, functions and imports that nobody uses leave."""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Callable

from triton_runner._reduce.shrink import Shrinker


def size(text: str) -> tuple:
    """(statements, nodes, characters)."""
    nodes = list(ast.walk(ast.parse(text)))
    return sum(isinstance(node, ast.stmt) for node in nodes), len(nodes), len(text)


def steps() -> list:
    """What the reduction of Python tries, a round."""
    return [
        functools.partial(_each, edit=_without),
        functools.partial(_each, edit=_inside),
        functools.partial(_each, edit=_part),
        functools.partial(_each, edit=_number),
    ]


def _each(shrinker: Shrinker, edit: Callable) -> None:
    """Tries an edit at every node: edit(node) gives (number of ways), edit(node, way) a replacement."""

    def places(text: str) -> list:
        tree = ast.parse(text)
        found = []
        for number, node in enumerate(ast.walk(tree)):
            found += [(number, way) for way in range(len(edit(node)))]
        return found

    def edited(text: str, chosen) -> str | None:
        tree = ast.parse(text)
        nodes = list(ast.walk(tree))
        replacements = {}
        for number, way in chosen:
            replacements.setdefault(id(nodes[number]), edit(nodes[number])[way])
        tree = _Replace(replacements).visit(tree)
        try:
            made = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a candidate nobody wants to know
                compile(made, "kernel", "exec")
        except (SyntaxError, ValueError):
            return None
        return made

    shrinker.each(places, edited)


class _Replace(ast.NodeTransformer):
    """Puts lists of statements, or expressions, in the place of nodes."""

    def __init__(self, replacements: dict):
        self._replacements = replacements

    def visit(self, node):
        if id(node) in self._replacements:
            return self._replacements[id(node)]
        node = self.generic_visit(node)
        if isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.If, ast.With)) and not node.body:
            node.body = [ast.Pass()]
        return node


def _without(node) -> list:
    """Statements leave."""
    return [[]] if isinstance(node, ast.stmt) and not isinstance(node, ast.Pass) else []


def _inside(node) -> list:
    """What loops and branches hold stands in their place; a loop's variable begins as its range does."""
    if isinstance(node, ast.If):
        return [side for side in (node.body, node.orelse) if side]
    if isinstance(node, ast.While):
        return [node.body]
    if isinstance(node, ast.For):
        arguments = node.iter.args if isinstance(node.iter, ast.Call) else []
        first = arguments[0] if len(arguments) > 1 else ast.Constant(0)
        return [[ast.Assign([node.target], first), *node.body]]
    return []


def _part(node) -> list:
    """An expression becomes one of its operands."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, (ast.UnaryOp, ast.Subscript)):
        return [node.operand if isinstance(node, ast.UnaryOp) else node.value]
    if isinstance(node, ast.Call):
        parts = [node.args[0]] if node.args else []
        without = [
            ast.Call(node.func, node.args, [k for k in node.keywords if k is not one])
            for one in node.keywords
        ]
        shorter = [ast.Call(node.func, node.args[:-1], node.keywords)] if len(node.args) > 1 else []
        return [*parts, *without, *shorter]
    if isinstance(node, ast.BoolOp):
        return list(node.values)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return []


def _number(node) -> list:
    """A compound expression becomes a number."""
    is_compound = isinstance(node, (ast.BinOp, ast.Call, ast.Subscript, ast.UnaryOp, ast.Compare))
    return [ast.Constant(0), ast.Constant(1.0)] if is_compound else []
