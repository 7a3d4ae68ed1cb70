"""Makes changes of a kernel's TTIR: each function gives one that edits a module, make(ops, number). ops: all
of its ops, in the order of the text; number: what is solved for."""

from __future__ import annotations

import re
from collections.abc import Callable

from triton_runner._code.slices import Reached
from triton_runner.verbs.verify.changes import numbers


def results(at: Reached) -> list:
    """The results of an op that something may be added to."""
    return [one for one in at.op.results if at.op.name != "arith.constant" and one.uses]


def after(op, result):
    """The op before which a value can be put that takes a result; None: there is none."""
    ops = op.block.ops
    number = ops.index(op)
    return ops[number + 1] if number + 1 < len(ops) else None


def sum_of(value, axis: int, shape: list, kind: str, whole: str) -> str:
    left = [count for number, count in enumerate(shape) if number != axis]
    row = f"tensor<{left[0]}x{kind}>" if left else kind
    lines = [
        f'%sum_ = "tt.reduce"({value.name}) <{{axis = {axis} : i32}}> ({{',
        f"^bb0(%left_: {kind}, %right_: {kind}):",
        f"%both_ = arith.addf %left_, %right_ : {kind}",
        f"tt.reduce.return %both_ : {kind}",
        f"}}) : ({whole}) -> {row}",
    ]
    if not left:
        return "\n".join([*lines, f"%all_ = tt.splat %sum_ : {kind} -> {whole}"])
    thin = [*shape]
    thin[axis] = 1
    between = f"tensor<{thin[0]}x{thin[1]}x{kind}>"
    lines.append(f"%thin_ = tt.expand_dims %sum_ {{axis = {axis} : i32}} : {row} -> {between}")
    return "\n".join([*lines, f"%all_ = tt.broadcast %thin_ : {between} -> {whole}"])


def functions_of(type_) -> list[tuple[str, str]]:
    """(ops that make %value_ of %other_, how a person writes that) of what people multiply by."""
    one = numbers.constant("%one_", type_, 1.0)
    sigmoid = [
        one, f"%minus_ = arith.negf %other_ : {type_}", f"%exp_ = math.exp %minus_ : {type_}",
        f"%more_than_one_ = arith.addf %exp_, %one_ : {type_}",
        f"%value_ = arith.divf %one_, %more_than_one_ : {type_}",
    ]  # fmt: skip
    return [
        (f"{one}\n%value_ = arith.subf %one_, %other_ : {type_}", "(1 - {})"),
        (f"{one}\n%value_ = arith.addf %one_, %other_ : {type_}", "(1 + {})"),
        (f"%value_ = math.exp %other_ : {type_}", "tl.exp({})"),
        (f"%value_ = arith.mulf %other_, %other_ : {type_}", "{0} * {0}"),
        ("\n".join(sigmoid), "tl.sigmoid({})"),
    ]


def renamed(at: Reached, name: str, other: str) -> Callable:
    """Another op with the same operands."""

    def make(ops, number):
        op = ops[at.number]
        text = re.sub(r"^%[^=]* = ", "%other_ = ", str(op), count=1).replace(name, other, 1)
        text = re.sub(r" (overflow|fastmath)<[^>]*>", "", text)
        op.results[0].replace_all_uses_with(op.insert_before(text)[0].results[0])

    return make


def attribute(at: Reached, name: str, text: str) -> Callable:
    return lambda ops, number: ops[at.number].set_attr(name, text)


def swapped(at: Reached, first: int, second: int) -> Callable:
    def make(ops, number):
        op = ops[at.number]
        one, other = op.operands[first], op.operands[second]
        op.set_operand(first, other)
        op.set_operand(second, one)

    return make


def dropped(at: Reached, side: int) -> Callable:
    """An operand in the place of what an op makes of it."""

    def make(ops, number):
        op = ops[at.number]
        op.results[0].replace_all_uses_with(op.operands[side])

    return make


def unrounded(at: Reached) -> Callable:
    def make(ops, number):
        op = ops[at.number]
        op.results[0].replace_all_uses_with(op.operands[0].op.operands[0])

    return make


def constant(at: Reached, operand: int, fixed: float | None = None) -> Callable:
    """Another constant as an operand."""

    def make(ops, number):
        op = ops[at.number]
        text = numbers.constant("%number_", op.operands[operand].type, number if fixed is None else fixed)
        op.set_operand(operand, op.insert_before(text)[0].results[0])

    return make


def other(at: Reached, operand: int, repeats: list, place: tuple) -> Callable:
    texts = [(str(op).partition(" = ")[2], op.operands[0].name) for op in reversed(repeats)]

    def make(ops, number):
        op, value = ops[at.number], value_at(ops, place)
        for step, (text, source) in enumerate(texts):
            text = text.replace(f" {source} ", f" {value.name} ", 1)
            value = op.insert_before(f"%repeated{step}_ = {text}")[0].results[0]
        op.set_operand(operand, value)

    return make


def with_number(at: Reached, result: int, name: str) -> Callable:
    def make(ops, number):
        value = ops[at.number].results[result]
        _insert(value, after(ops[at.number], value), numbers.constant("%value_", value.type, number), name)

    return make


def in_operand(at: Reached, operand: int, name: str) -> Callable:
    def make(ops, number):
        op, value = ops[at.number], ops[at.number].operands[operand]
        text = numbers.constant("%value_", value.type, number)
        *_, made = op.insert_before(f"{text}\n%more_ = {name} {value.name}, %value_ : {value.type}")
        op.set_operand(operand, made.results[0])

    return make


def instead(at: Reached, operand: int, text: str) -> Callable:
    def make(ops, number):
        *_, made = ops[at.number].insert_before(text)
        ops[at.number].set_operand(operand, made.results[0])

    return make


def joined(at: Reached, operand: int, name: str, text: str, is_first: bool = False) -> Callable:
    """A value more in an operand. is_first: it stands before the operand."""

    def make(ops, number):
        op, value = ops[at.number], ops[at.number].operands[operand]
        both = f"%value_, {value.name}" if is_first else f"{value.name}, %value_"
        *_, made = op.insert_before(f"{text}\n%more_ = {name} {both} : {value.type}")
        op.set_operand(operand, made.results[0])

    return make


def with_value(at: Reached, result: int, name: str, text: str, is_first: bool = False) -> Callable:
    """A value more, which the last op of a text gives; number: a factor of it. is_first: it stands before."""

    def make(ops, number):
        value = ops[at.number].results[result]
        lines = text
        if number is not None:
            factor = numbers.constant("%factor_", value.type, number)
            lines = f"{text}\n{factor}\n%value_ = arith.mulf %all_, %factor_ : {value.type}"
        _insert(value, after(ops[at.number], value), lines, name, is_first)

    return make


def _insert(value, before, text: str, name: str, is_first: bool = False) -> None:
    """Lets all uses of a value have what an op makes of it and of %value_."""
    users = value.uses
    both = f"%value_, {value.name}" if is_first else f"{value.name}, %value_"
    *_, made = before.insert_before(f"{text}\n%more_ = {name} {both} : {value.type}")
    for user, number in users:
        user.set_operand(number, made.results[0])


def value_at(ops, place: tuple):
    """A value by Slice.place()."""
    number, region, index = place
    return ops[number].results[index] if region is None else ops[number].regions[region].blocks[0].args[index]


def constants_at(uses: list) -> Callable:
    def make(ops, number):
        for index, (op, operand) in enumerate((ops[at], operand) for at, operand in uses):
            text = numbers.constant(f"%number{index}_", op.operands[operand].type, number)
            op.set_operand(operand, op.insert_before(text)[0].results[0])

    return make
