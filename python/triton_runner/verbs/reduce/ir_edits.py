"""Makes TTIR and TTGIR smaller: ops leave, and what they gave becomes a constant, an operand or an earlier
value of the same type; loops become one iteration, branches one of their sides.

The text stays valid: every edit goes through the graph, and what the verifier refuses is not tried.
"""

from __future__ import annotations

import functools
import itertools
import re

from triton_runner import ir
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.shrink import Shrinker

_STAY = ("builtin.module", "tt.func", "tt.return")
_LOOPS = ("scf.for",)


def parsed(text: str):
    """The module, or None where it is not valid."""
    try:
        module = ir.parse(text)
        module.verify()
    except DiagnosticError:
        return None
    return module


@functools.lru_cache(maxsize=256)
def size(text: str) -> tuple:
    """(ops, characters) of a valid text: of what stands in its functions."""
    return len(_ops(ir.parse(text))), len(text)


def _ops(module) -> list:
    return [op for op in module.walk() if op.name not in ("builtin.module", "tt.func")]


def _is_terminator(op) -> bool:
    return op.name in _STAY or op.name.endswith(
        (".yield", ".return", ".condition", ".br", ".cond_br", "_return")
    )


def steps() -> list:
    """Returns what the reduction of IR tries, a round."""
    edits = [
        functools.partial(_drop, substitute=substitute) for substitute in (_zero, _number, _operand, _earlier)
    ]
    return [*edits[:1], _unroll, *edits]


def without_locations(text: str) -> str:
    """The text without loc(...): a fault seldom needs to know where it comes from."""
    text = re.sub(r"(?m)^#loc\d* = .*\n", "", text)
    out, at = [], 0
    for match in re.finditer(r" ?\bloc\(", text):
        if match.start() < at:
            continue
        depth, end = 1, match.end()
        while depth and end < len(text):
            quote = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, end)
            if quote:
                end = quote.end()
                continue
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        out.append(text[at : match.start()])
        at = end
    return "".join([*out, text[at:]])


# --- ops that leave


def _drop(shrinker: Shrinker, substitute) -> None:
    """Ops leave; uses of what they gave take what substitute(value) makes."""

    def places(text: str) -> range:
        return range(len(_ops(ir.parse(text))))

    def edited(text: str, chosen) -> str | None:
        module, fresh = ir.parse(text), _names(text)
        ops = _ops(module)
        # An op leaves with its regions: what it holds is not dropped by itself.
        outer = [ops[i] for i in chosen if not _inside(ops[i], [ops[j] for j in chosen if j < i])]
        changed = False
        for op in reversed(outer):
            changed |= not _is_terminator(op) and _dropped(op, substitute, fresh)
        return _valid(module) if changed else None

    shrinker.each(places, edited)


def _inside(op, others) -> bool:
    parent = op.parent
    while parent is not None:
        if parent in others:
            return True
        parent = parent.parent
    return False


def _dropped(op, substitute, fresh) -> bool:
    try:
        for value in op.results:
            if not value.uses:
                continue
            other = substitute(value, op, fresh)
            if other is None:
                return False
            value.replace_all_uses_with(other)
        op.erase()
    except (DiagnosticError, ValueError):
        return False
    return True


def _valid(module) -> str | None:
    text = str(module)
    return text if parsed(text) is not None else None


def _names(text: str):
    """Names of values that the text does not have, one after the other."""
    first = max((int(number) for number in re.findall(r"%r(\d+)_", text)), default=-1) + 1
    return (f"%r{number}_" for number in itertools.count(first))


def _constant(value, op, fresh, real: str, whole: str, true: str):
    """A value of the type with one number in it; of pointers the kernel's own argument."""
    kind = value.type
    element = kind.element if kind.shape else kind
    text = str(kind)
    if element is not None and str(element).startswith("!tt.ptr"):
        return _argument(value, op, fresh, str(element), text)
    if not re.fullmatch(r"(?:tensor<(?:\d+x)+)?(?:[if]\d+|bf16|f8\w+|index)(?:[,>].*)?", text):
        return None
    name = str(element)
    number = true if name == "i1" else whole if name[0] == "i" else real
    content = f"dense<{number}> : {text}" if kind.shape else number if name == "i1" else f"{number} : {text}"
    (constant,) = op.insert_before(f"{next(fresh)} = arith.constant {content}")
    return constant.results[0]


def _argument(value, op, fresh, element: str, text: str):
    function = op
    while function.name != "tt.func":
        function = function.parent
    same = [a for a in function.regions[0].blocks[0].args if str(a.type) == element]
    if not same:
        return None
    if element == text:
        return same[-1] if same[-1] != value else None
    if op.name == "tt.splat":
        return None  # it is that already
    (splat,) = op.insert_before(f"{next(fresh)} = tt.splat {same[-1].name} : {element} -> {text}")
    return splat.results[0]


def _zero(value, op, fresh):
    return None if op.name == "arith.constant" else _constant(value, op, fresh, "0.000000e+00", "0", "false")


def _number(value, op, fresh):
    return None if op.name == "arith.constant" else _constant(value, op, fresh, "3.000000e+00", "1", "true")


def _operand(value, op, fresh):
    return next((operand for operand in op.operands if operand.type == value.type), None)


def _earlier(value, op, fresh):
    """The nearest value of the type above, in the same block or as an argument of it."""
    block = op.block
    candidate = None
    for other in block.ops:
        if other == op:
            break
        candidate = next((result for result in other.results if result.type == value.type), candidate)
    return candidate or next((argument for argument in block.args if argument.type == value.type), None)


# --- loops and branches


def _unroll(shrinker: Shrinker) -> None:
    """Loops run once; of a branch one side is taken."""

    def places(text: str) -> list:
        return [
            (number, side)
            for number, op in enumerate(_ops(ir.parse(text)))
            for side in range(len(op.regions) if op.name == "scf.if" else op.name in _LOOPS)
        ]

    def edited(text: str, chosen) -> str | None:
        if len(chosen) > 1:
            return None  # one by one: they may hold each other
        module = ir.parse(text)
        ((number, side),) = chosen
        op = _ops(module)[number]
        try:
            return _valid(module) if _inlined(op, side, _names(text)) else None
        except (DiagnosticError, ValueError):
            return None

    shrinker.each(places, edited)


def _inlined(op, side: int, fresh) -> bool:
    """Puts the ops of a region before the op, which leaves; its arguments are what they are at first."""
    if len(op.regions[side].blocks) != 1:
        return False
    block = op.regions[side].blocks[0]
    if op.name == "scf.for":
        operands = op.operands
        for argument, first in zip(block.args, [operands[0], *operands[3:]], strict=True):
            argument.replace_all_uses_with(first)
    *body, last = block.ops
    places, values = {}, []
    for inner in body:
        for value in inner.results:
            value.rename(next(fresh))
    for number, inner in enumerate(body):
        for position, value in enumerate(inner.results):
            places[value.name] = (number, position)
    for inner in body:
        values += op.insert_before(str(inner))
    for value, operand in zip(op.results, last.operands, strict=False):
        at = places.get(operand.name)
        value.replace_all_uses_with(operand if at is None else values[at[0]].results[at[1]])
    op.erase()
    return True
