"""Finds reductions and scans whose function is not associative. Triton leaves open in which groups they
combine elements: each level, layout and number of warps may give another result, by more than rounding.

The function is called for all zeros and ones: f(f(a, b), c) has to be f(a, f(b, c))."""

from __future__ import annotations

import dataclasses
import functools
import re

import numpy

from triton_runner import ir
from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.levels import MLIR
from triton_runner._code.chain import REDUCTIONS
from triton_runner._kernel.cases.results import Finding
from triton_runner._memory.arguments import Arguments

ADVICE = "combine by an associative function, or combine the elements one after another in a loop"
_MOST_VALUES = 3  # of an element: of four there are 4,096 cases
_NEAR = 0.02  # as far as functions that round move numbers of about one, in bf16 too
_PLACE = re.compile(r" loc\([^()]*\)$", re.MULTILINE)
_TYPE = re.compile(r"i(1|8|16|32|64)|b?f16|f32|f64")
_NAME = "combined_"
# Ops that are known to be associative: most functions are one of them.
_ASSOCIATIVE = {
    *("arith.addf", "arith.addi", "arith.mulf", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
    *(f"arith.{which}{kind}" for which in ("max", "min") for kind in ("numf", "imumf", "si", "ui")),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Grouped:
    """A function that is not associative. op: the reduction or scan; elements: three of them, of which f(f(a,
    b), c) is `left`, and f(a, f(b, c)) `right`."""

    op: ir.Op
    elements: tuple
    left: tuple
    right: tuple

    def finding(self, kernel: str, level: str, severity: str) -> Finding:
        a, b, c = map(_written, self.elements)
        op, at = self.op.name, self.op.location
        message = (
            f"{op} at {at.file}:{at.line}:{at.column} combines by a function that is not associative: "
            f"f(f({a}, {b}), {c}) is {_written(self.left)}, and f({a}, f({b}, {c})) is {_written(self.right)}"
        )
        why = (
            "Triton leaves open in which groups elements are combined: the result depends on level, layout "
            "and number of warps"
        )
        return Finding(
            "combine", severity, [level], "not associative", message, at.file or "", at.line or 0, "",
            f"kernel '{kernel}': {message}\n{why}", op=op, column=at.column or None, why=why, advice=ADVICE,
        )  # fmt: skip


def first(launch: Relaunch) -> Grouped | None:
    """The first reduction or scan of a launch whose function is not associative. None: there is none, or the
    functions cannot be called by themselves."""
    level = next((level for level in MLIR if level in launch.levels), None)
    text = launch.texts[level] if level is not None else ""
    return _first(text, launch.target) if any(name in text for name in REDUCTIONS) else None


@functools.lru_cache(32)
def _first(text: str, target: str) -> Grouped | None:
    try:
        ops = ir.parse(text).walk()
    except DiagnosticError:
        return None
    found = (_grouped(text, target, op, number) for number, op in enumerate(ops) if op.name in REDUCTIONS)
    return next(filter(None, found), None)


def _grouped(module: str, target: str, op, number: int) -> Grouped | None:
    """Calls the function of an op for all elements of zeros and ones. number: of the op in its module."""
    block = op.regions[0].blocks[0]
    values = len(block.args) // 2
    is_known = values == 1 and len(block.ops) == 2 and block.ops[0].name in _ASSOCIATIVE
    if is_known or values > _MOST_VALUES or len(op.regions[0].blocks) > 1:
        return None
    cases = 2 ** (3 * values)
    out = numpy.zeros((cases, 2, values))
    try:
        text = _text(module, number, [str(arg.type) for arg in block.args[:values]])
        arguments = Arguments([("out", out)])
        launch = Relaunch(_NAME, target, {"ttir": text}, dict, "ttir", (cases, 1, 1), arguments)
        run = launch.run("ttir", "combined", checks="")
    except (DiagnosticError, _Unknown):
        return None
    if run.trap is not None:
        return None
    results = run.arrays["out"].reshape(out.shape)
    with numpy.errstate(invalid="ignore"):
        far = abs(results[:, 0] - results[:, 1]) > _NEAR * numpy.maximum(1, abs(results).max(axis=1))
    far = far.any(axis=1) & numpy.isfinite(results).all(axis=(1, 2))
    if not far.any():
        return None
    case = int(far.argmax())
    bits = [case >> at & 1 for at in range(3 * values)]
    elements = tuple(tuple(bits[one * values : (one + 1) * values]) for one in range(3))
    return Grouped(op, elements, *map(tuple, results[case].tolist()))


class _Unknown(Exception):
    """A function that uses what is computed outside of it, or another type."""


def _text(module: str, number: int, types: list[str]) -> str:
    """TTIR whose program p stores f(f(a, b), c) and f(a, f(b, c)); the bits of p are a, b and c."""
    lines = ["%p = tt.get_program_id x : i32", "%one_ = arith.constant 1 : i32"]
    elements = [[f"%e{one}_{at}_" for at in range(len(types))] for one in range(3)]
    for one, names in enumerate(elements):
        for at, (name, kind) in enumerate(zip(names, types, strict=True)):
            lines += _bit(name, one * len(types) + at, kind)
    a, b, c = elements
    constants: dict[str, str] = {}
    calls = []

    def call(left: list[str], right: list[str]) -> list[str]:
        written, results = _inlined(module, number, len(calls), left + right, constants)
        calls.extend(written)
        return results

    stored = [call(call(a, b), c), call(a, call(b, c))]
    lines += [*constants.values(), *calls]
    for side, results in enumerate(stored):
        for at, (result, kind) in enumerate(zip(results, types, strict=True)):
            lines += _store(result, kind, f"{side}_{at}", 2 * len(types), side * len(types) + at)
    body = "\n".join(lines)
    return f"module {{\ntt.func public @{_NAME}(%out: !tt.ptr<f64>) {{\n{body}\ntt.return\n}}\n}}\n"


def _bit(name: str, at: int, kind: str) -> list[str]:
    """One bit of the program's number, as a type."""
    lines = [
        f"{name}by = arith.constant {at} : i32",
        f"{name}all = arith.shrui %p, {name}by : i32",
        f"{name}bit = arith.andi {name}all, %one_ : i32",
    ]
    if not _TYPE.fullmatch(kind):
        raise _Unknown
    if kind == "i32":
        return [*lines, f"{name} = arith.andi {name}all, %one_ : i32"]
    cast = "sitofp" if kind[0] != "i" else "trunci" if int(kind[1:]) < 32 else "extsi"
    return [*lines, f"{name} = arith.{cast} {name}bit : i32 to {kind}"]


def _store(value: str, kind: str, name: str, width: int, column: int) -> list[str]:
    """Stores a value as f64 in a column of the row of the program."""
    cast = {"f64": None, "i1": "uitofp"}.get(kind, "sitofp" if kind[0] == "i" else "extf")
    lines = [] if cast is None else [f"%s{name} = arith.{cast} {value} : {kind} to f64"]
    return [
        *lines,
        f"%w{name} = arith.constant {width} : i32",
        f"%r{name} = arith.muli %p, %w{name} : i32",
        f"%c{name} = arith.constant {column} : i32",
        f"%i{name} = arith.addi %r{name}, %c{name} : i32",
        f"%a{name} = tt.addptr %out, %i{name} : !tt.ptr<f64>, i32",
        f"tt.store %a{name}, {value if cast is None else f'%s{name}'} : !tt.ptr<f64>",
    ]


def _inlined(module: str, number: int, call: int, inputs: list[str], constants: dict) -> tuple:
    """(lines, names of results) of the function of an op with these inputs; what it uses of outside goes to
    `constants`."""
    op = ir.parse(module).walk()[number]
    (block,) = op.regions[0].blocks
    inside = op.walk()
    for at, inner in enumerate(inside[1:]):
        for index, result in enumerate(inner.results):
            result.rename(f"%f{call}_{at}_{index}_")
        for operand in inner.operands:
            maker = operand.block.parent if operand.op is None else operand.op
            if maker not in inside:
                if maker.name != "arith.constant":
                    raise _Unknown
                constants[operand.name] = _PLACE.sub("", str(maker))
    for arg, name in zip(block.args, inputs, strict=True):
        arg.rename(name)
    *ops, last = block.ops
    return [_PLACE.sub("", str(inner)) for inner in ops], [value.name for value in last.operands]


def _written(values: tuple) -> str:
    """An element as a person writes it."""
    numbers = [f"{value:g}" for value in values]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"
