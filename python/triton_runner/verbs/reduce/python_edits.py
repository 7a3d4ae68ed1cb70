"""Makes a kernel in Python smaller: statements leave, loops and branches become what they hold, expressions
become one of their parts or a number, names what was assigned to them, functions and imports that nobody uses
leave."""

from __future__ import annotations

import ast
import copy
import functools
import warnings
from collections.abc import Callable

from triton_runner._base.shrink import Shrinker


def size(text: str) -> tuple:
    """(statements, nodes, characters)."""
    nodes = list(ast.walk(ast.parse(text)))
    return sum(isinstance(node, ast.stmt) for node in nodes), len(nodes), len(text)


def steps() -> list:
    """Returns what the reduction of Python tries, a round."""
    return [
        functools.partial(_each, edit=_without),
        functools.partial(_each, edit=_inside),
        functools.partial(_each, edit=_part),
        functools.partial(_each, edit=_number),
        _put_in,
    ]


def _each(shrinker: Shrinker, edit: Callable) -> None:
    """Tries an edit at every node: edit(node) gives (number of ways), edit(node, way) a replacement."""

    def places(text: str) -> list:
        tree = ast.parse(text)
        edits = []
        for number, node in enumerate(ast.walk(tree)):
            edits += [(number, way) for way in range(len(edit(node)))]
        return edits

    def edited(text: str, chosen) -> str | None:
        tree = ast.parse(text)
        nodes = list(ast.walk(tree))
        replacements = {}
        for number, way in chosen:
            replacements.setdefault(id(nodes[number]), edit(nodes[number])[way])
        return _written(_Replace(replacements).visit(tree))

    shrinker.each(places, edited)


def _written(tree) -> str | None:
    """The text of a tree; None where it is no Python."""
    try:
        source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a candidate nobody wants to know
            compile(source, "kernel", "exec")
    except (SyntaxError, ValueError):
        return None
    return source


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
    """Puts what loops and branches hold in their place; a loop's variable begins as its range does."""
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
            ast.Call(node.func, node.args, [k for k in node.keywords if k is not keyword])
            for keyword in node.keywords
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


# --- names that become what was assigned to them


def _put_in(shrinker: Shrinker) -> None:
    """`x = value` leaves; what reads x up to its next assignment, by the lines of the text, has the value.
    Near loops that may mean something else, which the oracle sees."""

    def places(text: str) -> list:
        return [
            (f, i)
            for f, function in enumerate(_functions(ast.parse(text)))
            for i, node in enumerate(_assignments(function))
            # The text does not grow much by it.
            if len(_readers(function, node)) <= 1
            or isinstance(node.value, (ast.Name, ast.Constant, ast.Attribute))
        ]

    def edited(text: str, chosen) -> str | None:
        tree = ast.parse(text)
        functions = _functions(tree)
        picked = [(functions[f], _assignments(functions[f])[i]) for f, i in chosen]
        # From the last on: what it reads stands on its own line still, where the ones before are looked for.
        for function, node in reversed(picked):
            values = {id(reader): copy.deepcopy(node.value) for reader in _readers(function, node)}
            _Replace({**values, id(node): []}).visit(function)
        return _written(tree)

    shrinker.each(places, edited)


def _functions(tree) -> list:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _assignments(function) -> list:
    """Returns the assignments to one name, in the order of the text."""
    edits = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    ]
    return sorted(edits, key=lambda node: node.lineno)


def _readers(function, assignment) -> list:
    """The names that read what an assignment gave."""
    name = assignment.targets[0].id
    same = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    end = assignment.end_lineno
    again = [node.lineno for node in same if isinstance(node.ctx, ast.Store) and node.lineno > end]
    last = min(again, default=function.end_lineno)
    return [node for node in same if isinstance(node.ctx, ast.Load) and end < node.lineno <= last]
