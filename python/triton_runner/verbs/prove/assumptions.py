"""Collects the assumptions about a launch: its sizes, by the words of --given and by what launches tell."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import re

from triton_runner._base.errors import fail
from triton_runner.verbs.prove.facts import programs
from triton_runner.verbs.prove.terms import (
    FALSE,
    Cond,
    Poly,
    both,
    either,
    equal,
    ge,
    larger,
    le,
    lt,
    negated,
    poly,
    quotient,
    remainder,
    smaller,
    symbol,
)

MEMORY = 1 << 47  # bytes that a process can address
_FORM = 'as in "M <= 2**31, x.shape == (M, K), index in 0..V"'


@dataclasses.dataclass
class Tensor:
    """A pointer argument. numel: the elements from its pointer to the end of its memory; shape, strides: of
    what it shows, where they are known; is_known: whether anything says how large it is."""

    name: str
    element: str
    bytes: int
    numel: Poly = None
    shape: list | None = None
    strides: list | None = None
    is_known: bool = False
    is_guessed: bool = False  # whether its size is that of one launch, for want of a better
    memory: str = ""  # which memory it lies in: the name of the first argument there
    same: str = ""  # the first argument that begins at the same place, with elements of the same size

    def __post_init__(self):
        self.memory, self.same = self.memory or self.name, self.same or self.name
        if self.numel is None:
            self.numel = symbol(f"{self.name}.numel", 0, MEMORY // self.bytes)

    def of(self, field: str, number: int) -> Poly:
        """The size, or the stride, of a dimension."""
        return symbol(f"{self.name}.{field}[{number}]", 0, MEMORY)

    def forget(self) -> None:
        """Its size is any again."""
        self.numel = symbol(f"{self.name}.numel", 0, MEMORY // self.bytes)
        self.shape = self.strides = None
        self.is_known = self.is_guessed = False

    def set_shape(self, shape: list) -> None:
        """Without strides it is contiguous."""
        self.shape, self.is_known = shape, True
        self._measure()

    def set_strides(self, strides: list) -> None:
        self.strides = strides
        self._measure()

    def _measure(self) -> None:
        if self.shape is None:
            return
        if self.strides is None:
            self.numel = _product(self.shape)
            return
        self.is_known = True
        self.numel = poly(1)
        for extent, stride in zip(self.shape, self.strides, strict=True):
            self.numel = self.numel + (extent - 1) * stride

    def substitute(self, change) -> None:
        self.numel = change.poly(self.numel)
        self.shape = self.shape and [change.poly(poly(one)) for one in self.shape]
        self.strides = self.strides and [change.poly(poly(one)) for one in self.strides]

    def places(self) -> list[tuple[Poly, Poly]]:
        """(extent, stride) of each dimension; one where only the number of elements is known."""
        if self.shape is None:
            return [(self.numel, poly(1))]
        strides = self.strides or [_product(self.shape[i + 1 :]) for i in range(len(self.shape))]
        return list(zip(self.shape, strides, strict=True))


def _product(extents) -> Poly:
    result = poly(1)
    for extent in extents:
        result = result * extent
    return result


@dataclasses.dataclass(frozen=True)
class Assumption:
    """text: for people; place: where it comes from; cond: what it says; kind: "shape" of one tensor, "same"
    of sizes that are equal in a launch, "apart" of a descriptor, or ""; names: of its tensors; given: the
    words of --given that say it."""

    text: str
    place: str
    cond: Cond
    kind: str = ""
    names: tuple = ()
    given: str = ""


class Names:
    """The meanings of an expression's words: numbers (parameters, constants, grid) and tensors by name."""

    def __init__(self, numbers: dict, tensors: dict, grid: list | None = None):
        self.numbers, self.tensors, self.grid = numbers, tensors, grid

    def known(self) -> list[str]:
        return [*self.numbers, *(f"{name}.numel" for name in self.tensors), "grid[0]"]

    def fail(self, word: str, option: str):
        near = difflib.get_close_matches(word, [*self.numbers, *self.tensors], 1, 0.5)
        names = ", ".join(self.known())
        advice = f"did you mean {near[0]}?" if near else f"it may name {names}"
        return fail(f"{option} names {word!r}, which the kernel does not have", advice)


class Given:
    """The assumptions of --given. facts: conditions with their texts; declared: bounds of what integers in
    memory are, by the argument. The order of the words does not matter: a size is a symbol, and what is said
    of it an equation."""

    def __init__(self, texts, names: Names):
        self._names = names
        self._reading = Reading(names, "--given")
        self.facts: list[Assumption] = []
        self.declared: dict = {}
        self.forgotten: list[str] = []
        nodes = [node for text in texts for node in parsed(text, "--given")]
        self._forget(nodes)
        self._equations: list = []
        for node in [node for node in nodes if not self._describes(node)]:
            self._take(node)
        for node, tensor, field, numbers in self._equations:
            held = tensor.shape if field == "shape" else tensor.strides
            numbers = map(self._reading.number, numbers)
            self._add(node, *(equal(a, b) for a, b in zip(held, numbers, strict=True)))

    def _add(self, node, *conds: Cond) -> None:
        text = readable(node)
        self.facts.append(Assumption(text, f"--given {text!r}", both(*conds)))

    def _take(self, node) -> None:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            return self._declare(node)
        own = self._names.numbers
        if "numel" not in own and any(
            isinstance(one, ast.Name) and one.id == "numel" for one in ast.walk(node)
        ):
            tensors = self._names.tensors
            each = [Names({**own, "numel": tensor.numel}, tensors) for tensor in tensors.values()]
            return self._add(node, *(Reading(names, "--given").cond(node) for names in each))
        for name, field in _fields(node):
            if name in self._names.tensors and field == "numel":
                self._names.tensors[name].is_known = True
        return self._add(node, self._reading.cond(node))

    def _declare(self, node) -> None:
        name, bounds = node.left, node.comparators[0]
        is_range = isinstance(bounds, ast.Call) and getattr(bounds.func, "id", "") == "range"
        if not isinstance(name, ast.Name) or not is_range or len(bounds.args) != 2:
            raise fail(f"--given {readable(node)!r} is not understood", 'as in "index in 0..V"')
        lo, hi = (self._reading.number(one) for one in bounds.args)
        if name.id in self._names.numbers:
            number = self._reading.number(name)
            return self._add(node, ge(number, lo), lt(number, hi))
        if name.id not in self._names.tensors:
            raise self._names.fail(name.id, "--given")
        if not re.match(r"i\d", element := self._names.tensors[name.id].element):
            raise fail(f"--given {readable(node)!r}: {name.id} holds {element}", "it is for integers")
        if lt(lo, hi) is FALSE:
            raise fail(f"--given {readable(node)!r} holds for no number", "the second bound is left out")
        self.declared[name.id] = lo, hi
        return self._add(node, either(le(self._names.tensors[name.id].numel, 0), lt(lo, hi)))

    def _forget(self, nodes) -> None:
        """Sizes of a launch that are there for want of better ones give way to what is said of them."""
        for name in {name for node in nodes for name, _ in _fields(node)}:
            tensor = self._names.tensors.get(name)
            if tensor is not None and tensor.is_guessed:
                tensor.forget()
                self.forgotten.append(name)

    def _describes(self, node) -> bool:
        """Takes x.shape == (...) and x.stride == (...), which say how many dimensions there are."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
            return False
        left, right = node.left, node.comparators[0]
        if not (isinstance(left, ast.Attribute) and isinstance(left.value, ast.Name)):
            return False
        tensor, text = self._names.tensors.get(left.value.id), readable(node)
        if tensor is None:
            raise self._names.fail(left.value.id, "--given")
        if left.attr == "numel":
            return False
        if left.attr not in ("shape", "stride", "strides"):
            raise fail(f"--given {text!r}: a tensor has numel, shape and stride", _FORM)
        if not isinstance(right, ast.Tuple):
            raise fail(f"--given {text!r}: a tuple is expected", 'as in "x.shape == (M, K)"')
        field = "shape" if left.attr == "shape" else "stride"
        known = [len(one) for one in (tensor.shape, tensor.strides) if one is not None]
        if any(count != len(right.elts) for count in known):
            raise fail(f"--given {text!r}: {tensor.name} has {known[0]} dimensions elsewhere", _FORM)
        if (tensor.shape if field == "shape" else tensor.strides) is None:
            symbols = [tensor.of(field, i) for i in range(len(right.elts))]
            (tensor.set_shape if field == "shape" else tensor.set_strides)(symbols)
        self._equations.append((node, tensor, field, right.elts))
        return True


def _fields(node) -> list[tuple[str, str]]:
    """(tensor, field) of x.numel, x.shape and x.stride in an expression."""
    found = [one for one in ast.walk(node) if isinstance(one, ast.Attribute)]
    return [(one.value.id, one.attr) for one in found if isinstance(one.value, ast.Name)]


def parsed(text: str, option: str) -> list:
    """The parts of a text, which commas separate."""
    ranged = re.sub(r"\bin\s+([^,()]+?)\.\.([^,]+)", r"in range(\1, \2)", text)
    try:
        tree = ast.parse(ranged.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise fail(f"{option} {text!r} is not understood", _FORM) from None
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    if not parts:
        raise fail(f"{option} is empty", _FORM)
    return parts


def readable(node) -> str:
    return re.sub(r"range\((.+), (.+)\)", r"\1..\2", ast.unparse(node))


class Reading:
    """Python expressions as terms."""

    def __init__(self, names: Names, option: str):
        self._names, self._option = names, option

    def cond(self, node) -> Cond:
        if isinstance(node, ast.BoolOp):
            return (both if isinstance(node.op, ast.And) else either)(*map(self.cond, node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return negated(self.cond(node.operand))
        if not isinstance(node, ast.Compare):
            raise self._fail(node, "it is not a comparison")
        conds, left = [], self.number(node.left)
        for op, right in zip(node.ops, node.comparators, strict=True):
            b = self.number(right)
            make = {ast.Lt: lt, ast.LtE: le, ast.Eq: equal, ast.GtE: ge}.get(type(op))
            if isinstance(op, ast.Gt):
                conds.append(lt(b, left))
            elif isinstance(op, ast.NotEq):
                conds.append(negated(equal(left, b)))
            elif make is not None:
                conds.append(make(left, b))
            else:
                raise self._fail(node, "it compares by < <= == != >= >")
            left = b
        return both(*conds)

    def number(self, node) -> Poly:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return poly(node.value)
        if isinstance(node, ast.Name):
            if node.id not in self._names.numbers:
                raise self._names.fail(node.id, self._option)
            return poly(self._names.numbers[node.id])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.number(node.operand)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            name = getattr(node.func, "id", None) or node.func.attr
            make = {"cdiv": _ceiling, "min": smaller, "max": larger}.get(name)
            if make is not None and len(node.args) == 2:
                numbers = [self.number(one) for one in node.args]
                if name == "cdiv" and numbers[1].const is not None and numbers[1].const <= 0:
                    raise self._fail(node, "a divisor is at least 1")
                return make(*numbers)
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return self._of_tensor(node)
        raise self._fail(node, "numbers, parameters, + - * // % **, cdiv, min, max are taken")

    def _operation(self, node) -> Poly:
        a, b = self.number(node.left), self.number(node.right)
        if (
            isinstance(node.op, ast.Pow)
            and a.const is not None
            and b.const is not None
            and 0 <= b.const <= 64
        ):
            return poly(a.const**b.const)
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and b.const is not None and b.const <= 0:
            raise self._fail(node, "a divisor is at least 1")
        make = {
            ast.Add: lambda: a + b, ast.Sub: lambda: a - b, ast.Mult: lambda: a * b,
            ast.FloorDiv: lambda: quotient(a, b), ast.Mod: lambda: remainder(a, b),
        }.get(type(node.op))  # fmt: skip
        if make is None:
            raise self._fail(node, "the operators are + - * // % **")
        return make()

    def _of_tensor(self, node) -> Poly:
        index = None
        if isinstance(node, ast.Subscript):
            index = node.slice.value if isinstance(node.slice, ast.Constant) else None
            node = node.value
        if isinstance(node, ast.Name) and node.id == "grid" and index in (0, 1, 2):
            return programs(index)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            tensor = self._names.tensors.get(node.value.id)
            if tensor is None:
                raise self._names.fail(node.value.id, self._option)
            if node.attr == "numel" and index is None:
                return tensor.numel
            if node.attr in ("shape", "stride") and isinstance(index, int):
                held = tensor.shape if node.attr == "shape" else tensor.strides
                if held is None and tensor.shape is not None:
                    held = [stride for _, stride in tensor.places()]
                if held is not None and not 0 <= index < len(held):
                    raise self._fail(node, f"{tensor.name} has {len(held)} dimensions")
                return held[index] if held is not None else tensor.of(node.attr, index)
        raise self._fail(node, "a tensor has x.numel, x.shape[0], x.stride[0]; the grid is grid[0]")

    def _fail(self, node, why: str):
        return fail(f"{self._option} {readable(node)!r} is not understood: {why}", _FORM)


def _ceiling(a: Poly, b: Poly) -> Poly:
    return quotient(a + b - 1, b)


def of_grid(text: str, names: Names) -> list[Poly]:
    """The extents of --grid."""
    reading = Reading(names, "--grid")
    parts = [reading.number(node) for node in parsed(text, "--grid")]
    if not 1 <= len(parts) <= 3:
        raise fail(f"--grid {text!r} is not one to three numbers", "as in: cdiv(n, BLOCK), or 4,2,1")
    return [*parts, *[poly(1)] * (3 - len(parts))]
