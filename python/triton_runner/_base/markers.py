"""Says how a dl.dump statement stands in Triton's IR: a tt.print whose prefix is a marker, with the value,
its offset in dump_tensor and the axes of its program as operands. Engines and probes know it by the
prefix."""

from __future__ import annotations

from triton_runner import _core
from triton_runner._base.levels import MLIR

MARKER = "triton_runner.dump"  # the prefix begins with it, and the statement that left it stands after
UNSIGNED = ".unsigned"  # at its end: the whole numbers have no sign, which the IR's types do not say
BREAKPOINT = "triton_runner.breakpoint"  # of dl.breakpoint, with its condition as the only operand
EVERY = -1  # of a marker's grid axis: every program


def without_markers(text, level: str, label: str):
    """The text of a level without its markers, which a GPU would print."""
    if level not in MLIR or not (MARKER in text or BREAKPOINT in text):
        return text
    module = _core.ir.parse(text, label)
    for op in module.walk():
        if op.name == "tt.print" and op.attr("prefix").value.startswith((MARKER, BREAKPOINT)):
            op.erase()
    return str(module)
