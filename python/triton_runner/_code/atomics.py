"""The atomics of a kernel and their lines. They make results depend on the order of programs without a
race."""

from __future__ import annotations

from triton_runner import ir, ptx
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.levels import MLIR

_REDUCTIONS = ("descriptor_reduce", "tma_reduce")  # stores that combine with what is there


def lines(launch) -> list[dict]:
    """[{op, file, line}] of the atomics in the highest level of a launch, each line once; [] if it cannot be
    read."""
    level = next((level for level in (*MLIR, "ptx") if level in launch.levels), None)
    if level is None:
        return []
    try:
        text = launch.texts[level]
        places = _of_ptx(ptx.parse(text)) if level == "ptx" else _of_ir(ir.parse(text))
    except DiagnosticError:
        return []
    return [{"op": op, "file": file, "line": line} for op, file, line in dict.fromkeys(places)]


def _of_ir(module):
    for op in module.walk():
        if "atomics" in op.effects or op.name.endswith(_REDUCTIONS):
            yield op.name, op.location.file, op.location.line


def _of_ptx(module):
    for function in module.functions:
        for instruction in function.instructions:
            if instruction.does("updates") or instruction.opcode.startswith("cp.reduce."):
                source = instruction.source
                file, line = source[0][:2] if source else ("", instruction.line)
                yield instruction.opcode, file, line
