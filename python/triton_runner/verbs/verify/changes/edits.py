"""Lists small changes of a kernel's TTIR, each of which a person could have made at a line: another operator,
comparison, constant or value, a factor or a term more or less. making.py makes them.

Triton takes out what no result depends on: what a program computes and forgets to use stands only in the
TTIR of its front end, for which of_unused() is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator

from triton_runner._code.slices import REPEATS, Reached, Slice, live, repeated
from triton_runner.verbs.verify.changes import making, numbers, wider, wording

_SIBLINGS = {
    "arith.addf": ("arith.subf", "arith.mulf", "arith.maxnumf"), "arith.subf": ("arith.addf", "arith.divf"),
    "arith.mulf": ("arith.divf", "arith.addf"), "arith.divf": ("arith.mulf", "arith.subf"),
    "arith.addi": ("arith.subi", "arith.muli"), "arith.subi": ("arith.addi",),
    "arith.muli": ("arith.addi", "arith.divsi"),
    "arith.divsi": ("arith.ceildivsi", "arith.remsi", "arith.muli"),
    "arith.remsi": ("arith.divsi",), "arith.divui": ("arith.remui",), "arith.remui": ("arith.divui",),
    "arith.andi": ("arith.ori", "arith.xori"), "arith.ori": ("arith.andi", "arith.xori"),
    "arith.xori": ("arith.andi", "arith.ori"), "arith.shli": ("arith.shrsi", "arith.shrui"),
    "arith.shrsi": ("arith.shrui", "arith.shli"), "arith.shrui": ("arith.shrsi", "arith.shli"),
    "arith.maxsi": ("arith.minsi", "arith.addi"), "arith.minsi": ("arith.maxsi",),
    "arith.maxui": ("arith.minui",), "arith.minui": ("arith.maxui",),
    "arith.maxnumf": ("arith.minnumf", "arith.addf"), "arith.minnumf": ("arith.maxnumf",),
    "arith.maximumf": ("arith.minimumf",), "arith.minimumf": ("arith.maximumf",),
}  # fmt: skip
_ONE_SIDED = {"arith.subf", "arith.divf", "arith.subi", "arith.divsi", "arith.remsi", "arith.shli", "tt.dot"}
# Functions of one operand that take each other's place.
_FUNCTIONS = {
    "math.exp": ("math.exp2",), "math.exp2": ("math.exp",), "math.log": ("math.log2", "math.log1p"),
    "math.log2": ("math.log",), "math.sqrt": ("math.rsqrt",), "math.rsqrt": ("math.sqrt",),
    "math.sin": ("math.cos",), "math.cos": ("math.sin",), "math.floor": ("math.ceil", "math.roundeven"),
    "math.ceil": ("math.floor",), "math.erf": ("math.tanh",), "math.tanh": ("math.erf",), "math.absf": (),
    "arith.negf": (), "arith.extsi": ("arith.extui",), "arith.extui": ("arith.extsi",),
    "arith.sitofp": ("arith.uitofp",), "arith.uitofp": ("arith.sitofp",), "tt.trans": (),
}  # fmt: skip
# Comparisons by the number of their predicate, in groups of those that take each other's place.
_COMPARED = {
    "arith.cmpi": (
        {2: "<", 3: "<=", 4: ">", 5: ">="}, {6: "<", 7: "<=", 8: ">", 9: ">="}, {0: "==", 1: "!="},
    ),
    "arith.cmpf": (
        {4: "<", 5: "<=", 2: ">", 3: ">="}, {11: "<", 12: "<=", 9: ">", 10: ">="},
        {1: "==", 13: "!=", 6: "!="},
    ),
}  # fmt: skip
_JOINS = {
    "f32": ("arith.mulf", "arith.addf", "arith.subf", "arith.divf", "arith.maxnumf", "arith.minnumf"),
    "i1": ("arith.andi", "arith.ori"), "i32": ("arith.addi", "arith.subi", "arith.muli"),
    "i64": ("arith.addi", "arith.subi", "arith.muli"),
}  # fmt: skip
_ATOMICS = {4: "add", 5: "add", 6: "max", 7: "min", 10: "xchg", 1: "and", 2: "or", 3: "xor"}

# The kinds of changes, in the order in which they are tried: another token stands there, another value; what
# is computed is not used; something is missing; last come ops that decide only which elements are accessed.
TOKEN, OPERAND, UNUSED, ADDED, ADDRESS = range(5)


@dataclasses.dataclass(frozen=True)
class Edit:
    """A change at an op. make(ops, number): edits a module, whose ops these are; number: what is solved for,
    if `first` is not None, which is where to begin, after some `tries`. is_whole: only integers are tried.
    says(number): what stands there then, in place of what. was: the constant that it replaces. ops: at whose
    lines it can be made, if not at the op's; a result of a loop stands for where what it carries begins."""

    kind: int
    at: Reached
    make: Callable
    says: Callable
    first: float | None = None
    is_whole: bool = False
    tries: tuple = ()
    was: float | None = None
    ops: tuple = ()

    @property
    def rank(self) -> tuple:
        return self.kind, self.at.steps


def of_slice(slice_: Slice, ratios=()) -> Iterator[Edit]:
    """All changes, those first that are tried first. ratios: numbers that the constants may be off by."""
    makers = (
        _tokens, lambda *one: _constants(*one, ratios), _wider(), _solved_constants, _shared_constants(),
        _operands, _scalars_more, _wholes_more, _numbers_more, _numbers_in_operands, _tensors_more,
        _values_in_operands, _sums_more,
    )  # fmt: skip
    reached = [one for one in slice_.reached if one.op.name not in ("tt.func", "builtin.module")]
    for is_address in (False, True):
        for maker in makers:
            for one in reached:
                if one.is_address == is_address:
                    for edit in maker(slice_, one):
                        yield dataclasses.replace(edit, kind=ADDRESS) if is_address else edit


def of_unused(slice_: Slice) -> Iterator[Edit]:
    """Changes that use what the kernel computes, or is given, and does not use. slice_: of what the front end
    made."""
    used = {one.op for one in slice_.reached}
    for at in slice_.reached:
        if at.is_address or at.op.name in ("tt.func", "builtin.module", *REPEATS):
            continue
        for number, operand in enumerate(at.op.operands):
            kind = numbers.element_of(operand.type)
            if not (numbers.is_float(kind) or numbers.is_integer(kind) or kind == "i1"):
                continue
            uses = [user for user, _ in operand.uses if user in used]
            ops = (operand.op, at.op) if operand.op is not None and len(uses) == 1 else (at.op,)
            for value, text in _brought(at.op, operand):
                if value != operand and _is_unused(value, used):
                    says = wording.in_place(wording.called(value), wording.called(operand))
                    yield Edit(UNUSED, at, making.instead(at, number, text), says)
                    names = _JOINS.get(kind, _JOINS["f32"] if numbers.is_float(kind) else ())
                    yield from _joined(UNUSED, at, number, names, value, text, ops)


def _joined(kind: int, at: Reached, number: int, names, value, text: str, ops: tuple) -> Iterator[Edit]:
    """Gives an operand of an op a value more, by each of these ops; text: gives %value_."""
    operand = at.op.operands[number]
    for name in names:
        for is_first in (False, True)[: 1 + (name in _ONE_SIDED)]:
            says = wording.joined(operand, name, value, is_first)
            yield Edit(kind, at, making.joined(at, number, name, text, is_first), says, ops=ops)


def _is_unused(value, used: set) -> bool:
    """Returns whether no result of the kernel depends on a value of it."""
    if value.op is None:
        return not any(user in used for user, _ in value.uses)
    return value.op not in used and numbers.value_of(value.op) is None


# --- something else in the place of what stands there


def _tokens(slice_: Slice, at: Reached) -> Iterator[Edit]:
    op, name = at.op, at.op.name
    result = op.results[0] if op.results else None
    for other in (*_SIBLINGS.get(name, ()), *_FUNCTIONS.get(name, ())):
        yield Edit(
            TOKEN,
            at,
            making.renamed(at, name, other),
            wording.in_place(wording.sign(other), wording.sign(name)),
        )
    if name in _COMPARED:
        yield from _comparisons(at)
    if len(op.operands) >= 2 and op.operands[0].type == op.operands[1].type and name in _ONE_SIDED:
        yield Edit(TOKEN, at, making.swapped(at, 0, 1), lambda _: "its operands the other way round")
    if name == "arith.select":
        yield Edit(TOKEN, at, making.swapped(at, 1, 2), lambda _: "its two values the other way round")
        for side, of in ((1, "where the condition holds"), (2, "where it does not")):
            yield Edit(TOKEN, at, making.dropped(at, side), lambda _, of=of: f"the value {of} everywhere")
    if name in wording.SIGNS:
        for side in (0, 1):
            left_out = f"without `{wording.sign(name)} {wording.called(op.operands[1 - side])}`"
            yield Edit(TOKEN, at, making.dropped(at, side), lambda _, text=left_out: text)
    elif name in _FUNCTIONS and result.type == op.operands[0].type:
        yield Edit(TOKEN, at, making.dropped(at, 0), lambda _: f"without `{wording.sign(name)}`")
    elif name == "arith.extf" and _is_rounded(op.operands[0], result):
        kind = numbers.element_of(op.operands[0].type)
        yield Edit(TOKEN, at, making.unrounded(at), lambda _: f"without rounding to {kind}")
    yield from _attributes(at)


def _is_rounded(value, like) -> bool:
    """Returns whether a value is one of the type of another, rounded."""
    op = value.op
    return op is not None and op.name == "arith.truncf" and op.operands[0].type == like.type


def _comparisons(at: Reached) -> Iterator[Edit]:
    now = at.op.attr("predicate").integer
    for group in _COMPARED[at.op.name]:
        for number, sign in group.items() if now in group else ():
            if number != now and sign != group[now]:
                yield Edit(
                    TOKEN,
                    at,
                    making.attribute(at, "predicate", f"{number} : i64"),
                    wording.in_place(sign, group[now]),
                )


def _attributes(at: Reached) -> Iterator[Edit]:
    op = at.op
    if op.name in ("tt.reduce", "tt.scan"):
        shape, now = op.operands[0].type.shape, op.attr("axis").integer
        for axis in range(len(shape)):
            if axis != now and (
                op.name == "tt.scan" or wording.without(shape, axis) == wording.without(shape, now)
            ):
                yield Edit(
                    TOKEN,
                    at,
                    making.attribute(at, "axis", f"{axis} : i32"),
                    wording.in_place(f"axis={axis}", f"axis={now}"),
                )
    if op.name == "tt.scan":
        way = "false" if op.attr("reverse").value else "true"
        yield Edit(TOKEN, at, making.attribute(at, "reverse", way), lambda _: f"reverse={way.title()}")
    if op.name == "tt.get_program_id":
        now = op.attr("axis").integer
        for axis in {*range(3)} - {now}:
            says = wording.in_place(f"program_id({axis})", f"program_id({now})")
            yield Edit(TOKEN, at, making.attribute(at, "axis", f"{axis} : i32"), says)
    if op.name == "tt.atomic_rmw":
        now = op.attr("atomic_rmw_op").integer
        is_float = numbers.is_float(numbers.element_of(op.operands[1].type))
        for number, name in _ATOMICS.items():
            if name != _ATOMICS.get(now) and (number in (5, 6, 7, 10) if is_float else number != 5):
                says = wording.in_place(f"atomic_{name}", f"atomic_{_ATOMICS.get(now)}")
                yield Edit(TOKEN, at, making.attribute(at, "atomic_rmw_op", f"{number} : i32"), says)


def _constants(slice_: Slice, at: Reached, ratios) -> Iterator[Edit]:
    """Another constant, of those that people confuse."""
    for number, value in _constant_operands(at):
        kind = numbers.element_of(at.op.operands[number].type)
        if numbers.is_float(kind):
            others = [0.0, 1.0, -1.0, -value, 2 * value, value / 2, value + 1, value - 1, -math.inf, math.inf]
            others += [1 / value] if value else []
            others += [value * 10, value / 10]
            others += [other for ratio in ratios if ratio for other in (value / ratio, value * ratio)]
        else:
            others = [0, 1, -1, value + 1, value - 1, 2 * value, value // 2, -value]
            others += [1 << bits for bits in range(1, 11)] if value > 1 and value & (value - 1) == 0 else []
        for other in dict.fromkeys(
            numbers.rounded(one, kind) if math.isfinite(one) else one for one in others
        ):
            if other != value:
                says = wording.in_place(numbers.shown(other), numbers.shown(value))
                yield Edit(TOKEN, at, making.constant(at, number, other), says, was=value)


def _solved_constants(slice_: Slice, at: Reached) -> Iterator[Edit]:
    for number, value in _constant_operands(at):
        if value and math.isfinite(value):
            says = wording.constant(f"`{numbers.shown(value)}`")
            is_whole = not numbers.is_float(numbers.element_of(at.op.operands[number].type))
            yield Edit(TOKEN, at, making.constant(at, number), says, value, is_whole, was=value)


def _shared_constants() -> Callable:
    """Another number wherever the kernel has one: of a name that stands for it."""
    seen: set = set()

    def maker(slice_: Slice, at: Reached) -> Iterator[Edit]:
        for operand, value in _constant_operands(at):
            kind = numbers.element_of(at.op.operands[operand].type)
            if value in (0, 1, *seen) or not math.isfinite(value) or not numbers.is_float(kind):
                continue
            seen.add(value)
            uses = [
                (one.number, number)
                for one in slice_.reached
                for number, other in _constant_operands(one)
                if other == value
            ]
            if len(uses) > 1:
                ops = tuple(slice_.ops[number] for number, _ in uses)
                says = wording.constant(f"each `{numbers.shown(value)}`")
                yield Edit(TOKEN, at, making.constants_at(uses), says, value, ops=ops, was=value)

    return maker


def _constant_operands(at: Reached) -> Iterator[tuple]:
    """(operand, number) of the constants that an op takes."""
    if at.op.name in REPEATS or at.op.name.endswith("return"):
        return
    for number, operand in enumerate(at.op.operands):
        value = numbers.value_of(operand.op)
        if value is not None and value == value:
            yield number, value


def _wider() -> Callable:
    """32 bits in place of 16, of a value and all that it is computed with."""
    seen: set = set()

    def maker(slice_: Slice, at: Reached) -> Iterator[Edit]:
        for result in at.op.results if at.op.name != "arith.constant" else ():
            if not wider.is_narrow(result) or result in seen:
                continue
            values = wider.together(result)
            seen.update(values)
            if wider.can_be(values):
                place, kind = slice_.place(result), numbers.element_of(result.type)
                summed = [
                    one.op for one in values if one.op is not None and one.op.name in ("arith.addf", "tt.dot")
                ]
                ops = (*(one for one in values if _is_of_loop(one)), *summed[:1])
                says = wording.wider(result, kind)
                make = lambda ops, number, place=place: wider.widen(making.value_at(ops, place))  # noqa: E731
                yield Edit(TOKEN, at, make, says, ops=ops)

    return maker


def _is_of_loop(value) -> bool:
    return value.op is not None and value.op.name == "scf.for"


def _operands(slice_: Slice, at: Reached) -> Iterator[Edit]:
    """Another value of the same type in the place of an operand, or of the one that an operand repeats."""
    if at.op.name in REPEATS:
        return
    for number, operand in enumerate(at.op.operands):
        if "ptr" in str(operand.type) and at.op.name != "tt.addptr":
            continue
        repeats, source = repeated(operand)
        for other in live(at.op, str(source.type)):
            if other != source and numbers.value_of(other.op) is None:
                says = wording.in_place(wording.called(other), wording.called(source))
                yield Edit(OPERAND, at, making.other(at, number, repeats, slice_.place(other)), says)


# --- something more


def _numbers_more(slice_: Slice, at: Reached) -> Iterator[Edit]:
    """A factor or a term that is a number, of what an op gives."""
    for result in making.results(at):
        for name, says, more in _numbers_for(result):
            yield Edit(ADDED, at, making.with_number(at, result.index, name), says(result), **more)


def _numbers_in_operands(slice_: Slice, at: Reached) -> Iterator[Edit]:
    """The same of what an op takes and other ops take too."""
    for number, operand in enumerate(at.op.operands) if at.op.name not in REPEATS else ():
        if len(operand.uses) > 1 and numbers.value_of(operand.op) is None:
            for name, says, more in _numbers_for(operand):
                yield Edit(
                    ADDED, at, making.in_operand(at, number, name), says(operand), ops=(at.op,), **more
                )


def _numbers_for(value) -> Iterator[tuple]:
    """(op, how it is said, fields of the Edit) of numbers that a value can be joined with."""
    kind = numbers.element_of(value.type)
    if numbers.is_float(kind):
        yield "arith.mulf", wording.times, {"first": 1.0, "tries": (2.0, 0.5, -1.0)}
        yield "arith.addf", wording.plus, {"first": 0.0, "tries": (1.0, -1.0)}
    elif numbers.is_integer(kind):
        yield "arith.addi", wording.plus, {"first": 0, "tries": (1, -1), "is_whole": True}


def _values_in_operands(slice_: Slice, at: Reached) -> Iterator[Edit]:
    """A factor or a term that is a value, of what an op takes and other ops take too."""
    if at.op.name in REPEATS:
        return
    for number, operand in enumerate(at.op.operands):
        is_shared = len(operand.uses) > 1 and numbers.value_of(operand.op) is None
        if not is_shared or not numbers.is_float(numbers.element_of(operand.type)):
            continue
        for value, text in _brought(at.op, operand):
            if numbers.value_of(value.op) is None:
                yield from _joined(ADDED, at, number, _JOINS["f32"][:4], value, text, (at.op,))


def _scalars_more(slice_: Slice, at: Reached) -> Iterator[Edit]:
    """A factor or a term that is a number of the kernel's, such as one of its arguments."""
    for result in making.results(at):
        after = making.after(at.op, result)
        if numbers.is_float(numbers.element_of(result.type)) and after is not None:
            for value, text in _scalars(after, result):
                yield from _values_more(at, result, text, value)


def _wholes_more(slice_: Slice, at: Reached) -> Iterator[Edit]:
    """A factor that is a whole number of the kernel's: how many there are."""
    for result in making.results(at):
        kind, whole, after = numbers.element_of(result.type), str(result.type), making.after(at.op, result)
        for value in live(after, "i32") if numbers.is_float(kind) and after is not None else ():
            text = f"%float_ = arith.sitofp {value.name} : i32 to {kind}"
            spread = f"%value_ = tt.splat %float_ : {kind} -> {whole}"
            alone = f"%value_ = tt.bitcast %float_ : {kind} -> {kind}"
            text += f"\n{spread if result.type.shape else alone}"
            for name in ("arith.divf", "arith.mulf") if numbers.value_of(value.op) is None else ():
                make = making.with_value(at, result.index, name, text)
                yield Edit(ADDED, at, make, wording.joined(result, name, value, False))


def _tensors_more(slice_: Slice, at: Reached) -> Iterator[Edit]:
    """A factor or a term that is a value of the same type, or a row or a column for a matrix."""
    for result in making.results(at):
        after = making.after(at.op, result)
        if numbers.is_float(numbers.element_of(result.type)) and after is not None:
            for value, text in _tensors(after, result):
                if value != result and numbers.value_of(value.op) is None:
                    yield from _values_more(at, result, text, value)


def _brought(op, like) -> Iterator[tuple]:
    """(value, ops that give %value_) of what is there at an op and can be brought to the type of another."""
    yield from _tensors(op, like)
    yield from _scalars(op, like)


def _scalars(op, like) -> Iterator[tuple]:
    kind, whole = numbers.element_of(like.type), str(like.type)
    for value in live(op, kind) if like.type.shape else ():
        yield value, f"%value_ = tt.splat {value.name} : {kind} -> {whole}"


def _tensors(op, like) -> Iterator[tuple]:
    kind, whole, shape = numbers.element_of(like.type), str(like.type), list(like.type.shape or ())
    for value in live(op, whole):
        yield value, f"%value_ = tt.bitcast {value.name} : {whole} -> {whole}"
    for axis in (1, 0) if len(shape) == 2 else ():
        row, thin = f"tensor<{shape[1 - axis]}x{kind}>", [*shape]
        thin[axis] = 1
        between = f"tensor<{thin[0]}x{thin[1]}x{kind}>"
        for value in live(op, between):
            yield value, f"%value_ = tt.broadcast {value.name} : {between} -> {whole}"
        for value in live(op, row):
            yield (
                value,
                (
                    f"%thin_ = tt.expand_dims {value.name} {{axis = {axis} : i32}} : {row} -> {between}\n"
                    f"%value_ = tt.broadcast %thin_ : {between} -> {whole}"
                ),
            )


def _values_more(at: Reached, result, text: str, value) -> Iterator[Edit]:
    for name in _JOINS["f32"][:4]:
        for is_first in (False, True)[: 1 + (name in _ONE_SIDED)]:
            make = making.with_value(at, result.index, name, text, is_first)
            yield Edit(ADDED, at, make, wording.joined(result, name, value, is_first))
    for lines, says in making.functions_of(result.type):
        make = making.with_value(
            at, result.index, "arith.mulf", f"{text.replace('%value_', '%other_')}\n{lines}"
        )
        yield Edit(ADDED, at, make, wording.more(result, f"* {says.format(wording.called(value))}"))


def _sums_more(slice_: Slice, at: Reached) -> Iterator[Edit]:
    """A sum of a value along an axis, times a number, as a term."""
    for result in making.results(at):
        kind, shape, whole = numbers.element_of(result.type), list(result.type.shape or ()), str(result.type)
        after = making.after(at.op, result)
        if not numbers.is_float(kind) or not 1 <= len(shape) <= 2 or after is None:
            continue
        for value in live(after, whole):
            if numbers.value_of(value.op) is not None:
                continue
            for axis in range(len(shape)):
                text = making.sum_of(value, axis, shape, kind, whole)
                says = wording.sum_more(result, f"tl.sum({wording.called(value)}, {axis})")
                yield Edit(ADDED, at, making.with_value(at, result.index, "arith.addf", text), says, 0.0)
