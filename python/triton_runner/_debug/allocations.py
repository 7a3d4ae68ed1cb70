"""The buffers of shared memory by the names that the TTGIR has for them, where a launch runs PTX or machine
code: Triton's pass of allocation says where each of them lies."""

from __future__ import annotations

import dataclasses

from triton_runner._artifact.compiled_kernel import Compiled
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.paths import in_a_file
from triton_runner._base.recent import Recent
from triton_runner._compiler import ledger, passes
from triton_runner._core import ir, probe


@dataclasses.dataclass(frozen=True)
class Allocated:
    """A buffer: the variable that it is of, or its value's name; where it begins in shared memory."""

    name: str
    value: str
    offset: int
    bytes: int


_known = Recent(8)


def of_kernel(compiled: Compiled) -> list[Allocated]:
    """The buffers of a kernel; [] where nobody says where they lie."""
    if not compiled.has("ttgir") or compiled.entry not in ("python", "ttir", "ttgir"):
        return []
    key = (compiled.asm["ttgir"], compiled.target)
    found = _known.get(key)
    return _known.put(key, _found(compiled)) if found is None else found


def _found(compiled: Compiled) -> list[Allocated]:
    try:
        with in_a_file(compiled.asm["ttgir"], f"{compiled.name}.ttgir") as path:
            trace = passes.passes(path, target=compiled.target, to="llir", check=False)
            texts = [(step.name, step.after) for step in trace if step.after is not None]
            told = ledger.read(texts, trace.name, trace.target, trace.release, None, None)
    except DiagnosticError:
        return []
    module = ir.parse(told.text)
    out = []
    for a in told.allocations:
        size = a.room if a.bytes is None else a.bytes
        if size <= 0 or a.op == "tt.func":  # scratch of all warps: the rest of the block's memory
            continue
        out.append(Allocated(_variable(module, compiled.name, a.value) or a.op, a.value, a.offset, size))
    return out


def _variable(module, kernel: str, value: str) -> str:
    """The variable of a value, or its name; "" of what has none."""
    try:
        sites = probe.select(module, kernel, [value]) if value else []
    except DiagnosticError:
        sites = []
    return sites[0][0].variable or value if sites else value
