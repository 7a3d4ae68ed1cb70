"""Parses and computes expressions over named figures, in Python's own syntax, of which this is taken:

    or, and, not;  < <= > >= == !=;  + - * / // % **;  (...);  numbers, names;  f(x, y), count("LDG")

    parse("shared > 1.1 * base", "--fail-if").value(figure)
    parse("cdiv(n, BLOCK) * 2", "--grid").value(lambda name, of_base: numbers[name])

`base` is the base's value of the only figure that a comparison names, base.shared that of a figure.
It is described in doc/guide/compare.md."""

from __future__ import annotations

import ast
import operator
import re

from triton_runner._base.errors import fail

_LARGEST_POWER = 64
FUNCTIONS = {"min": min, "max": max, "abs": abs, "cdiv": lambda a, b: -(-a // b)}


def _power(value, power):
    if abs(power) > _LARGEST_POWER:
        raise ArithmeticError(f"a power is at most {_LARGEST_POWER}")
    return value**power


_OPERATORS = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Add: operator.add, ast.Sub: operator.sub,
    ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: _power, ast.USub: operator.neg, ast.Not: operator.not_,
}  # fmt: skip


class Unknown(Exception):
    """A figure that has no value here; its text names it."""


class Expression:
    """A text that was read. figures: what it names, in order and once, without what base.x names: names, and
    ("count", "LDG") of count("LDG")."""

    def __init__(self, text: str, what: str, tree: ast.expr, known=None):
        self.text, self._what, self._tree, self._known = text, what, tree, known
        self._bases: dict = {}  # nodes that read `base`, and the nodes that they are the base's value of
        self.figures = tuple(dict.fromkeys(map(_figure, self._named(tree))))

    def value(self, figure):
        """figure(name, of_base) gives a figure's value, or raises Unknown."""
        try:
            return self._value(self._tree, figure, False)
        except (TypeError, ArithmeticError) as error:
            raise fail(f"{self._what} cannot be computed: {error}", self.text) from None

    def _error(self, why: str, node):
        return _error(self._what, why, self.text, node.col_offset)

    def _named(self, node) -> list:
        """The nodes that name figures, after they were checked."""
        match node:
            case ast.Name(name):
                if self._known is not None and name not in self._known and name != "base":
                    raise self._error(f"there is no figure {name!r}: {', '.join(self._known)}", node)
                return [node]
            case ast.Attribute(ast.Name("base"), name):
                self._bases[node] = ast.Name(name, lineno=1, col_offset=node.col_offset)
                self._named(self._bases[node])
                return []
            case ast.Attribute(ast.Name(first), name):
                raise self._error(f"{first!r} has no figures: only base has, as in base.{name}", node)
            case ast.Constant(int() | float()) if not isinstance(node.value, bool):
                return []
            case ast.Call(ast.Name("count"), arguments, []) if self._known is not None:
                match arguments:
                    case [ast.Constant(str())]:
                        return [node]
                why = 'count takes the name of an instruction in quotes: count("LDG")'
                raise self._error(why, node)
            case ast.Call(ast.Name(name), [_, *_] as parts, []):
                if name not in FUNCTIONS:
                    names = ["count"] * (self._known is not None) + [*FUNCTIONS]
                    raise self._error(f"there is no function {name!r}: {', '.join(names)}", node)
            case ast.Compare(left, _, right):
                return self._compared(node, [named for part in (left, *right) for named in self._named(part)])
            case ast.BoolOp(_, parts):
                pass
            case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
                parts = [left, right]
            case ast.UnaryOp(sign, part) if type(sign) in _OPERATORS:
                parts = [part]
            case _:
                raise self._error(
                    f"{ast.unparse(node)!r} is not allowed here: write numbers, names, sums, comparisons",
                    node,
                )
        return [named for part in parts for named in self._named(part)]

    def _compared(self, node, named: list) -> list:
        bases = [each for each in named if isinstance(each, ast.Name) and each.id == "base"]
        figures = {_figure(each): each for each in named if each not in bases}
        if bases and len(figures) != 1:
            raise self._error("base of which figure? Write base.shared, base.registers, ...", node)
        self._bases |= {base: each for base in bases for each in figures.values()}
        return [each for each in named if each not in bases]

    def _value(self, node, figure, of_base: bool):
        if node in self._bases:
            return self._value(self._bases[node], figure, True)
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                return figure(name, of_base)
            case ast.Call(ast.Name("count"), [ast.Constant(name)]):
                return figure(("count", name), of_base)
            case ast.Call(ast.Name(name), parts):
                return FUNCTIONS[name](*(self._value(part, figure, of_base) for part in parts))
            case ast.BoolOp(sign, parts):  # each in turn: the first that decides
                for part in parts:
                    value = self._value(part, figure, of_base)
                    if bool(value) is isinstance(sign, ast.Or):
                        break
                return value
            case ast.Compare(left, signs, right):
                values = [self._value(part, figure, of_base) for part in (left, *right)]
                pairs = zip(signs, values, values[1:], strict=False)
                return all(_OPERATORS[type(sign)](one, other) for sign, one, other in pairs)
            case ast.UnaryOp(sign, part):
                parts = [part]
            case ast.BinOp(left, sign, right):
                parts = [left, right]
        return _OPERATORS[type(sign)](*(self._value(part, figure, of_base) for part in parts))

    def __str__(self) -> str:
        return self.text


def _figure(node):
    return node.id if isinstance(node, ast.Name) else ("count", node.args[0].value)


def _error(what: str, why: str, text: str, at: int):
    return fail(f"{what}: {why}", text, " " * at + "^")


def _tree(text: str, what: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        at = min(error.offset - 1, len(text)) if error.offset else len(text)
        word = re.match(r"\w+|.|$", text[at:], re.S)[0]
        why = f"expected a number or a name, found {word!r}" if word else "it ends too early"
        raise _error(what, why if error.msg == "invalid syntax" else error.msg, text, at) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise fail(f"{what}: {error}", text) from None


def parse(text: str, what: str, known=None) -> Expression:
    """Reads an expression. what: what messages call it; known: the names that it may use, and that it may
    use count. Raises DiagnosticError."""
    text = text.strip()
    return Expression(text, what, _tree(text, what), known)


def grid(text: str, numbers: dict) -> list:
    """The extents of "cdiv(n, BLOCK), 4": expressions over numbers by name."""
    text, what = text.strip(), f"the grid {text!r}"

    def number(name, of_base):
        if of_base or name not in numbers:
            raise fail(
                f"{what}: no number {name!r}", f"numbers of this launch: {', '.join(numbers) or 'none'}"
            )
        return numbers[name]

    tree = _tree(text, "the grid")
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    return [Expression(text, what, part).value(number) for part in parts]
