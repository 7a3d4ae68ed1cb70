"""Finds the line that computes the mask of an access which a finding is about: a wrong mask is no line of the
access."""

from __future__ import annotations

from triton_runner._base.ci_files import shown_path
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.levels import MLIR
from triton_runner._code.slices import repeated
from triton_runner._core import ir
from triton_runner._kernel.cases.results import Finding


def line(launch, finding: Finding) -> str:
    """Says where the mask is computed, if on another line; "" otherwise."""
    if launch.entry not in MLIR or not finding.line:
        return ""
    try:
        ops = ir.parse(launch.texts[launch.entry]).walk()
    except DiagnosticError:
        return ""
    at = (finding.file, finding.line, finding.column)
    for op in ops:
        if op.name == finding.op and (op.location.file, op.location.line, op.location.column) == at:
            mask = op.group("mask")[:1] if op.name in ("tt.load", "tt.store", "tt.atomic_rmw") else []
            made = repeated(mask[0])[1].op if mask else None
            if made is not None and made.location.line and made.location.line != finding.line:
                return f"its mask is computed at {shown_path(made.location.file)}:{made.location.line}"
    return ""
