"""Rewrites TTIR so that a value which has 16 bits has 32: it, what it is computed with, and what loops carry
of it, between where 16 bits are loaded and where they are stored."""

from __future__ import annotations

from triton_runner._code.carried import CARRYING, carried_to, end_of
from triton_runner._code.walk import reached
from triton_runner.verbs.verify.changes import numbers

NARROW = ("f16", "bf16")
_MOVES = {"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans"}
_REGIONS = ("tt.reduce", "tt.scan")
_MOST = 200  # values


def is_narrow(value) -> bool:
    return numbers.element_of(value.type) in NARROW


def computed(op) -> bool:
    """Returns whether an op gives its result the type of its operands, and can have another."""
    if op.name in ("arith.constant", "tt.dot", *_MOVES, *_REGIONS):
        return True
    is_kept = not op.results or any(one.type == op.results[0].type for one in op.operands)
    return op.does("elementwise") and is_kept and op.name != "arith.bitcast"


def together(value) -> list:
    """The values that have to have the same element type as one, which is among them."""
    return [one for one in reached([value], _beside) if is_narrow(one)]


def _beside(value) -> list:
    found = [*carried_to(value)]
    if value.op is not None and computed(value.op):
        found += _of(value.op)
    elif value.op is None and value.block.parent is not None and value.block.parent.name in _REGIONS:
        found += _of(value.block.parent)
    for user, number in value.uses:
        if computed(user) and (user.name != "tt.dot" or number == 2):
            found += _of(user)
        elif user.name == "scf.for" and number >= 3:
            found += [user.results[number - 3], user.regions[0].blocks[0].args[number - 2]]
        elif user.name == "scf.yield" and user.parent.name in CARRYING:
            found.append(user.parent.results[number])
        elif user.name.endswith(("reduce.return", "scan.return")):
            found += _of(user.parent)
    if value.op is not None and value.op.name == "scf.for":
        found.append(value.op.regions[0].blocks[0].args[value.index + 1])
    elif (
        value.op is None
        and value.block.parent is not None
        and value.block.parent.name == "scf.for"
        and value.index
    ):
        found.append(value.block.parent.results[value.index - 1])
    return [one for one in found if is_narrow(one)]


def _of(op) -> list:
    operands = op.operands[2:] if op.name == "tt.dot" else op.operands
    values = [*operands, *op.results]
    if op.name in _REGIONS:
        values += [*op.regions[0].blocks[0].args, *end_of(op, 0).operands]
    return values


def can_be(values: list) -> bool:
    """Returns whether these values can be widened: no parameter is among them, and something computes."""
    ops = [one.op for one in values if one.op is not None]
    is_argument = any(one.op is None and one.block.parent.name == "tt.func" for one in values)
    return (
        len(values) <= _MOST and not is_argument and any(computed(op) and op.name not in _MOVES for op in ops)
    )


def widen(value) -> None:
    """Edits the module of a value."""
    values = together(value)
    inside = [one for one in values if one.op is None or computed(one.op) or one.op.name in CARRYING]
    inside = [one for one in inside if one.op is None or one.op.name != "arith.constant"]
    types = {one: (str(one.type), _wide(one.type)) for one in values}
    taking = {one: [use for use in one.uses if _takes(*use)] for one in values}
    leaving = {one: [use for use in one.uses if not _takes(*use)] for one in inside}
    for one in inside:
        one.retype(types[one][1])
    for one in values:
        if one not in inside:
            _bring_in(one, taking[one], *types[one])
    for one in inside:
        for user, number in leaving[one]:
            _hand_out(one, user, number, types[one][0])


def _takes(user, number: int) -> bool:
    """Returns whether a user of a value becomes wide with it."""
    if user.name == "tt.dot":
        return number == 2
    return computed(user) or user.name in CARRYING or user.name.endswith((".yield", ".return", ".condition"))


def _wide(type_) -> str:
    text, kind = str(type_), numbers.element_of(type_)
    return "f32" if text == kind else text.replace(f"x{kind}", "xf32")


def _bring_in(value, users: list, narrow: str, wide: str) -> None:
    """Lets what computes with a narrow value have it wide."""
    op = value.op
    number = numbers.value_of(op) if op.name == "arith.constant" else None
    value.retype(wide)
    if op.name == "arith.truncf" and str(op.operands[0].type) == wide:
        other = op.operands[0]
    elif number is not None:
        other = op.insert_before(numbers.constant("%wide_", value.type, number))[0].results[0]
    else:
        value.retype(narrow)
        after = op.block.ops[op.block.ops.index(op) + 1]
        other = after.insert_before(f"%in_ = arith.extf {value.name} : {narrow} to {wide}")[0].results[0]
        value.retype(wide)
    for user, index in users:
        user.set_operand(index, other)
    value.retype(narrow)


def _hand_out(value, user, number: int, narrow: str) -> None:
    """Lets what takes 16 bits have them."""
    if user.name == "arith.extf" and user.results[0].type == value.type:
        user.results[0].replace_all_uses_with(value)
        user.erase()
        return
    wide = str(value.type)
    (made,) = user.insert_before(f"%out_ = arith.truncf {value.name} : {wide} to {narrow}")
    made.results[0].retype(wide)
    user.set_operand(number, made.results[0])
    made.results[0].retype(narrow)
