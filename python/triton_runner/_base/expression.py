"""Expressions over named figures, as in --fail-if "shared > 1.1 * base": read, checked, and computed here.

    or, and, not;  < <= > >= == !=;  + - * / // %;  (...);  numbers, names, "texts";  f(x, y)

A parsed expression is nested tuples: ("number", 2), ("text", "LDG"), ("name", "shared"), ("base", node),
("call", function, node, ...), (operator, node, ...).
"""

from __future__ import annotations

import operator
import re

from triton_runner._base.errors import fail

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')|(?P<sign>//|<=|>=|==|!=|[-+*/%()<>,]))"
)
_COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip
_ARITHMETIC = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod,
}  # fmt: skip
FUNCTIONS = {"min": min, "max": max, "abs": abs, "cdiv": lambda a, b: -(-a // b)}


class Unknown(Exception):
    """A figure that has no value here; its text names it."""


class _Parser:
    def __init__(self, text: str, what: str):
        self.text, self.what = text, what
        self.tokens = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise self.error(f"{text[at]!r} stands where nothing like it can", at)
            self.tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            at = match.end()
        self.tokens.append(("end", "", len(text)))

    def error(self, why: str, at: int):
        return fail(f"{self.what}: {why}", self.text, " " * at + "^")

    def next(self, *words: str) -> str | None:
        """Takes the next token if it is one of these signs or words."""
        kind, text, _ = self.tokens[0]
        if kind in ("sign", "name") and text in words:
            self.tokens.pop(0)
            return text
        return None

    def expect(self, sign: str) -> None:
        if self.next(sign) is None:
            _, text, at = self.tokens[0]
            raise self.error(f"expected {sign!r}, found {text!r}" if text else f"expected {sign!r}", at)

    def whole(self):
        node = self.either()
        kind, text, at = self.tokens[0]
        if kind != "end":
            raise self.error(f"unexpected {text!r}", at)
        return node

    def either(self):
        node = self.both()
        while self.next("or"):
            node = ("or", node, self.both())
        return node

    def both(self):
        node = self.denied()
        while self.next("and"):
            node = ("and", node, self.denied())
        return node

    def denied(self):
        return ("not", self.denied()) if self.next("not") else self.comparison()

    def comparison(self):
        at = self.tokens[0][2]
        node = self.sum()
        if sign := self.next(*_COMPARISONS):
            node = (sign, node, self.sum())
            return self.with_base(node, at)
        return node

    def with_base(self, node, at: int):
        """The comparison with `base` as the base's value of the only figure that it names."""
        if ("name", "base") not in named(node):
            return node
        figures = list(dict.fromkeys(n for n in named(node) if n[0] in ("name", "call") and n[1] != "base"))
        if len(figures) != 1:
            raise self.error("base of which figure? Write base.shared, base.registers, ...", at)
        return _replaced(node, ("name", "base"), ("base", figures[0]))

    def sum(self):
        node = self.product()
        while sign := self.next("+", "-"):
            node = (sign, node, self.product())
        return node

    def product(self):
        node = self.factor()
        while sign := self.next("*", "/", "//", "%"):
            node = (sign, node, self.factor())
        return node

    def factor(self):
        return ("negative", self.factor()) if self.next("-") else self.atom()

    def atom(self):
        if self.next("("):
            node = self.either()
            self.expect(")")
            return node
        kind, text, at = self.tokens.pop(0)
        if kind == "number":
            return ("number", float(text) if re.search(r"[.eE]", text) else int(text))
        if kind == "text":
            return ("text", text[1:-1])
        if kind != "name" or text in ("and", "or", "not"):
            raise self.error(f"unexpected {text!r}" if text else "it ends too early", at)
        if self.next("("):
            arguments = [self.either()]
            while self.next(","):
                arguments.append(self.either())
            self.expect(")")
            return ("call", text, *arguments)
        first, dot, second = text.partition(".")
        if not dot:
            return ("name", text)
        if first != "base":
            raise self.error(f"{first!r} has no figures: only base has, as in base.{second}", at)
        return ("base", ("name", second))


def named(node) -> list:
    """The names and calls of counts in an expression. What base.x names is not among them."""
    if node[0] == "name" or (node[0] == "call" and node[1] == "count"):
        return [node]
    if node[0] in ("base", "number", "text"):
        return []
    return [leaf for part in node[1:] if isinstance(part, tuple) for leaf in named(part)]


def _replaced(node, old, new):
    if node == old:
        return new
    if node[0] in ("name", "base", "number", "text"):
        return node
    return tuple(_replaced(part, old, new) if isinstance(part, tuple) else part for part in node)


def parse(text: str, what: str, known=None) -> tuple:
    """The expression of a text. what: what messages call it; known: the names that it may use. Raises
    DiagnosticError."""
    parser = _Parser(text, what)
    node = parser.whole()
    for kind, name, at in _Parser(text, what).tokens:
        if kind != "name" or name in ("and", "or", "not", "base", "count", *FUNCTIONS):
            continue
        if known is not None and name.removeprefix("base.") not in known:
            raise parser.error(f"there is no figure {name.removeprefix('base.')!r}: {', '.join(known)}", at)
    return node


def evaluate(node, figure, what: str = "the expression"):
    """The value of an expression. figure(name, of_base) gives a value, or raises Unknown; of count("LDG")
    the name is ("count", "LDG")."""
    return _value(node, figure, False, what)


def _value(node, figure, of_base: bool, what: str):
    kind = node[0]
    if kind in ("number", "text"):
        return node[1]
    if kind == "name":
        return figure(node[1], of_base)
    if kind == "base":
        return _value(node[1], figure, True, what)
    if kind in ("and", "or"):  # each in turn: the first that decides
        left = _value(node[1], figure, of_base, what)
        return left if bool(left) is (kind == "or") else _value(node[2], figure, of_base, what)
    if kind == "call" and node[1] == "count":
        if len(node) != 3 or node[2][0] != "text":
            raise fail(f'{what}: count takes the name of an instruction in quotes: count("LDG")')
        return figure(("count", node[2][1]), of_base)
    values = [_value(part, figure, of_base, what) for part in node[1:] if isinstance(part, tuple)]
    if kind == "call":
        if node[1] not in FUNCTIONS:
            raise fail(
                f"{what}: there is no function {node[1]!r}", f"functions: count, {', '.join(FUNCTIONS)}"
            )
        function = FUNCTIONS[node[1]]
    elif kind in ("not", "negative"):
        function = operator.not_ if kind == "not" else operator.neg
    else:
        function = _COMPARISONS.get(kind) or _ARITHMETIC[kind]
    try:
        return function(*values)
    except (TypeError, ZeroDivisionError) as error:
        raise fail(f"{what} cannot be computed: {error}") from None


def grid(text: str, numbers: dict) -> list:
    """The extents of "cdiv(n, BLOCK), 4": expressions over numbers by name."""
    what = f"--grid {text!r}"

    def number(name, of_base):
        if of_base or name not in numbers:
            raise fail(
                f"{what}: no number {name!r}", f"numbers of this launch: {', '.join(numbers) or 'none'}"
            )
        return numbers[name]

    parser, extents = _Parser(text, "--grid"), []
    while True:
        extents.append(evaluate(parser.sum(), number, what))
        if not parser.next(","):
            break
    if parser.tokens[0][0] != "end":
        raise parser.error(f"unexpected {parser.tokens[0][1]!r}", parser.tokens[0][2])
    return extents
