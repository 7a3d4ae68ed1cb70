"""Explains why two launches part: where their values begin to differ (walk.py), and what their code shows
there. What neither an experiment nor the code shows is not explained.

An experiment decides about contraction: both are compiled again without fp fusion, and what no longer differs
then came of it."""

from __future__ import annotations

import dataclasses

from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._base import commands
from triton_runner._base.errors import DiagnosticError, in_a_line
from triton_runner._code import atomics
from triton_runner._code import summation as code
from triton_runner._code.chain import REDUCTIONS
from triton_runner.verbs.bits.element import Element, Unknown
from triton_runner.verbs.bits.results import UNEXPLAINED, Origin
from triton_runner.verbs.bits.walk import Walk

CAUSES = {
    "contraction": "a product and a sum are rounded once (fma) or twice",
    "order of a reduction": "tl.sum, or a similar reduction, adds in another order",
    "order of a scan": "tl.cumsum, or a similar scan, adds in another order",
    "order of a product": "tl.dot adds its products in another order",
    "order of a loop": "a loop that adds has another number of iterations",
    "tf32": "f32 operands of a product are rounded to tf32, or not",
    "type": "a value has another type",
    "atomics": "atomics add in another order, or other parts",
    "instructions": "an operation becomes other instructions",
    "operations": "the code computes something else",
    UNEXPLAINED: "",
}
_OPEN = (UNEXPLAINED, "instructions")  # which an experiment may explain better
_MOST = 4  # origins that are kept
_MOST_WRITES = 8  # of an element that atomics add to: parts that are looked at


@dataclasses.dataclass(frozen=True)
class Side:
    """A launch as it is compared: its level, and the settings of its run."""

    launch: Relaunch
    level: str
    settings: dict


def origins(x: Side, y: Side, argument: str, at: tuple, other: tuple | None = None) -> list[Origin]:
    """Returns where two launches begin to differ in an element of an argument, and why; never empty. other:
    the element's index in the second, if it is another one."""
    try:
        a = Element(x.launch, x.level, argument, at, x.settings)
        b = Element(y.launch, y.level, argument, at if other is None else other, y.settings)
        if _is_ordered(x, y, a, b):
            return [_ordered(x, a, b)]
        found = _found(x, y, a, b)
        if x.level == y.level == "ptx" and (_is_fused(x) or _is_fused(y)):
            found = _contracted(x, y, argument, (at, other or at), found)
    except Unknown as error:
        return [Origin(UNEXPLAINED, str(error))]
    except DiagnosticError as error:
        return [Origin(UNEXPLAINED, error.message)]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:  # of IR of a new form
        return [Origin(UNEXPLAINED, f"the values could not be followed: {in_a_line(error)}")]
    return found[:_MOST] or [Origin(UNEXPLAINED, "no value was found at which they first differ")]


def _is_fused(side: Side) -> bool:
    return side.launch.metadata.get("enable_fp_fusion", True) is not False


def _is_ordered(x: Side, y: Side, a: Element, b: Element) -> bool:
    """Returns whether the order of programs and atomics decides the element: it is another one, or another
    number of atomics add to the element."""
    is_added = any(write.adds for write in (*a.writes, *b.writes))
    if is_added and len(a.writes) != len(b.writes):
        return True
    return x.settings.get("order") != y.settings.get("order")


def _ordered(x: Side, a: Element, b: Element) -> Origin:
    """Returns what atomics decide: those that write the element, those of a lock around its stores, or those
    that say which program stores it."""
    write = next((w for w in (*a.writes, *b.writes) if w.adds), None)
    count = [len(side.writes) for side in (a, b)]
    if write is not None:
        evidence = f"{count[0]} atomics add to the element | {count[1]}"
        if count[0] == count[1]:
            evidence = f"{count[0]} atomics add to the element, in another order"
        place = write.op.location
        return Origin("atomics", evidence, write.op.name, "", place.file, place.line)
    evidence = f"{len(a.programs)} programs store to the element, in another order"
    places = [(side.programs[-1], list(side.writes[-1].part)) for side in (a, b)]
    if len(a.programs) == 1:
        stored = [f"element {part} of program {program}" for program, part in places]
        evidence = f"{stored[0]} is stored there | {stored[1]}"
    if len(a.programs) == 1 and places[0] == places[1]:
        evidence = "the code is the same, and another order of its programs and atomics decides the value"
    if lines := atomics.lines(x.launch):
        return Origin("atomics", evidence, **lines[0])
    advice = f"there are no atomics: see `{commands.shell('verify', 'PROGRAM')}`"
    return Origin(UNEXPLAINED, f"{evidence}; {advice}")


def _found(x: Side, y: Side, a: Element, b: Element) -> list[Origin]:
    a.look()
    b.look()
    for mine, theirs in zip(a.writes[-1:-_MOST_WRITES:-1], b.writes[-1:-_MOST_WRITES:-1], strict=False):
        walk = Walk(a, b, (mine.program, theirs.program))
        if found := walk.origins(a.root(mine), b.root(theirs)):
            return [_named(x, y, a, b, one) for one in found]
        if not mine.adds:
            break  # it overwrites what was there
    return []


def _contracted(x: Side, y: Side, argument: str, at: tuple, found: list) -> list[Origin]:
    """Returns what was found, contraction where it is gone without fusion and the code shows no other cause.
    One element may be equal by chance: then the instructions of the line have to agree."""
    first, second = (_without_fusion(side) for side in (x, y))
    runs = [side.launch.run(side.level, **side.settings) for side in (first, second)]
    if _equal(*runs):
        return [_gone(x, y, one) if one.cause in _OPEN else _also_gone(one) for one in found]
    here, there = (
        Element(side.launch, side.level, argument, index, side.settings)
        for side, index in zip((first, second), at, strict=True)
    )
    left = {_place(one) for one in _found(first, second, here, there)}
    return [one if _place(one) in left or not _may_be_gone(x, y, one) else _gone(x, y, one) for one in found]


def _may_be_gone(x: Side, y: Side, one: Origin) -> bool:
    """Returns whether the code agrees that contraction makes the difference at a place."""
    mine, theirs = (_opcodes(side, one.file, one.line) for side in (x, y))
    return one.cause in _OPEN and code.contraction_of(mine) != code.contraction_of(theirs)


def _equal(a: Outcome, b: Outcome) -> bool:
    """Returns whether two runs leave the same bits, as far as their arrays have the same elements."""
    pairs = [(array, b.arrays[name]) for name, array in a.arrays.items()]
    return all(x.tobytes() == y.tobytes() for x, y in map(common, pairs))


def common(pair: tuple) -> tuple:
    """The parts of two arrays that both have: of batches of other sizes the first rows."""
    a, b = pair
    if a.shape == b.shape or a.ndim != b.ndim:
        return a, b
    part = tuple(slice(min(n, m)) for n, m in zip(a.shape, b.shape, strict=True))
    return a[part], b[part]


def _gone(x: Side, y: Side, one: Origin) -> Origin:
    evidence = f"without fp fusion they are equal here; {_instructions(x, y, one.file, one.line)}"
    return dataclasses.replace(one, cause="contraction", evidence=evidence)


def _without_fusion(side: Side) -> Side:
    if not _is_fused(side):
        return side
    return dataclasses.replace(side, launch=side.launch.recompiled(enable_fp_fusion=False))


def _place(one: Origin) -> tuple:
    return one.op, one.file, one.line, one.variable


def _also_gone(one: Origin) -> Origin:
    evidence = f"{one.evidence}; without fp fusion these inputs give equal bits"
    return dataclasses.replace(one, evidence=evidence)


def _instructions(x: Side, y: Side, file: str, line: int) -> str:
    mine, theirs = (_opcodes(side, file, line) for side in (x, y))
    return f"on the line: {code.opcode_words(mine)} | {code.opcode_words(theirs)}"


def _opcodes(side: Side, file: str, line: int) -> dict:
    return code.opcodes_at(side.launch.texts["ptx"], side.launch.name, file, line)


def _named(x: Side, y: Side, a: Element, b: Element, one) -> Origin:
    """An origin of the walk with its place and its cause."""
    values = a.values_of(one.x)
    op = values.op if values is not None else one.x.op.name if one.x.op is not None else ""
    place = {
        "op": op, "variable": values.variable if values else "", "file": values.file if values else "",
        "line": values.line if values else 0, "program": list(one.program),
        "iteration": list(one.iteration), "numbers": list(one.numbers) or None,
    }  # fmt: skip
    cause, evidence = _cause(x, y, a, b, one, place)
    return Origin(cause, evidence, **place)


def _cause(x: Side, y: Side, a: Element, b: Element, one, place: dict) -> tuple[str, str]:
    mine, theirs = one.x.value.type, one.y.value.type
    if _type(mine) != _type(theirs):
        return "type", f"{_type(mine)} | {_type(theirs)}"
    if one.kind == "type":
        return "type", f"{_type(mine)} | {_type(theirs)}"
    if one.kind == "turns":
        return "order of a loop", f"{one.turns[0]} turns | {one.turns[1]} turns"
    if one.kind == "ops":
        names = [node.op.name if node.op is not None else "an argument" for node in (one.x, one.y)]
        return "operations", f"{names[0]} | {names[1]}"
    op, other = one.x.op, one.y.op
    if op is not None and op.name in REDUCTIONS and code.is_inexact(op):
        orders = code.order_of(op, a.ttgir), code.order_of(other, b.ttgir)
        if orders[0] != orders[1]:
            what = "order of a reduction" if op.name == "tt.reduce" else "order of a scan"
            return what, f"{code.order_words(orders[0])} | {code.order_words(orders[1])}"
    if code.is_product(op):
        products = code.product_of(op), code.product_of(other)
        what = (
            "tf32" if products[0].get("precision") != products[1].get("precision") else "order of a product"
        )
        if products[0] != products[1]:
            return what, " | ".join(map(code.product_words, products))
    if x.level == y.level == "ptx":
        sets = [set(_opcodes(side, place["file"], place["line"])) for side in (x, y)]
        if sets[0] != sets[1]:
            return "instructions", _instructions(x, y, place["file"], place["line"])
    return UNEXPLAINED, "the operands are equal, and the code shows no difference here"


def _type(value) -> str:
    return str(value.element or value)
