"""Finds the atomics of a kernel and their lines. They make results depend on the order of programs without a
race, and so does little else: has_one_result()."""

from __future__ import annotations

from triton_runner import ir, ptx
from triton_runner._base.errors import DiagnosticError, is_of_language
from triton_runner._base.levels import MLIR
from triton_runner._code.slices import Slice, arguments_of

_REDUCTIONS = ("descriptor_reduce", "tma_reduce")  # stores that combine with what is there
# Effects by which programs, tasks and warps meet, or find out who comes first, without a race.
_MEETING = {"atomics", "async", "barrier", "named", "token", "cluster", "forks", "mover"}
_MEETING_IN_PTX = {"updates", "copies", "objects", "later", "orders"}
# Loads and stores that others may wait for.
_FLAGS = (".volatile", ".relaxed", ".acquire", ".mmio", ".cluster")
_OF_PLACE_OR_TIME = ("%clock", "%globaltimer", "%smid", "%nsmid", "%warpid", "%nwarpid", "%gridid")


def lines(launch, argument: str = "") -> list[dict]:
    """[{op, file, line}] of the atomics in the highest level of a launch, each line once; [] if it cannot be
    read. argument: only those that what is written to it may depend on, where the IR tells that."""
    level = next((level for level in (*MLIR, "ptx") if level in launch.levels), None)
    if level is None:
        return []
    try:
        text = launch.texts[level]
        places = _of_ptx(ptx.parse(text)) if level == "ptx" else [*_of_ir(ir.parse(text), argument)]
    except DiagnosticError:
        return []
    return [{"op": op, "file": file, "line": line} for op, file, line in dict.fromkeys(places)]


def has_one_result(level: str, text: str) -> bool:
    """Returns whether the order of programs and warps can change the results of a kernel by a race alone,
    such as check="race" reports. False: the code has atomics, flags, operations that go on beside the
    program, warps that meet at barriers of their own, or text of another language."""
    if level == "ptx":
        functions = ptx.parse(text).functions
        return not any(_meets_in_ptx(one) for function in functions for one in function.instructions)
    return level in MLIR and not any(map(_meets, ir.parse(text).walk()))


def _meets_in_ptx(instruction) -> bool:
    is_flag = any(word in instruction.opcode for word in _FLAGS)
    reads = any(operand.startswith(_OF_PLACE_OR_TIME) for operand in instruction.operands)
    return is_flag or reads or not _MEETING_IN_PTX.isdisjoint(instruction.effects)


def _meets(op) -> bool:
    if (code := op.attr("asm_string")) is not None and (op.attr("pure") is None or "%" in code.value):
        return True
    pure, flag = op.attr("pure"), op.attr("isVolatile")
    is_seen = (pure is not None and not pure.value) or (flag is not None and flag.value)
    return is_seen or op.name.endswith(_REDUCTIONS) or not _MEETING.isdisjoint(op.effects)


def _of_ir(module, argument: str):
    every = [op for op in module.walk() if "atomics" in op.effects or op.name.endswith(_REDUCTIONS)]
    mine = _reaching(module, every, argument) if argument else []
    for op in mine or every:
        yield op.name, op.location.file, op.location.line


def _reaching(module, atomics: list, argument: str) -> list:
    """The atomics that an argument may depend on: they write to it, or to what decides what is written."""
    if len(module.functions) > 1:
        return []  # a function that is called has pointers of its own
    seen, waiting = set(), [argument]
    while waiting:
        seen.add(name := waiting.pop())
        for one in Slice(module, name).reached:
            if any(map(one.op.does, ("loads", "atomics", "stores"))) and one.op.operands:
                waiting += arguments_of(one.op.operands[0]) - {*seen, *waiting}
    return [op for op in atomics if arguments_of(op.operands[0]) & seen]


def _of_ptx(module):
    for function in module.functions:
        for instruction in function.instructions:
            if instruction.does("updates") or instruction.opcode.startswith("cp.reduce."):
                source = instruction.source
                own = [place[:2] for place in source if not is_of_language(place[0])]
                file, line = (own or [place[:2] for place in source] or [("", instruction.line)])[0]
                yield instruction.opcode, file, line
