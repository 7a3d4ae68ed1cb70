"""Finds values in the registers of AMD's machine code: those of TTGIR, put together from the lanes that hold
them, and registers by name.

The compiler says where a value is: it compiles the TTGIR a second time with taps after the values, comments
that name registers. LLVM's text has no virtual registers by which the two programs could be compared, so that
the program with taps is what runs, unless it is the launch's own text; the dump says so.
"""

from __future__ import annotations

import math

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.markers import without_markers
from triton_runner._base.releases import installed
from triton_runner._core import probe
from triton_runner._kernel.dumps.requests import names_value
from triton_runner._worker.spelling import option


def plan(request, compiled):
    """(plan, the text to run or None for the kernel's own, what that changes) of a Compiled of an AMD target.
    Errors: names of both kinds, names of nothing, values that are in no register."""
    name, filename = compiled.name, compiled.label("amdgcn")
    text = compiled.asm["amdgcn"]
    if request.level == "llir":
        raise fail(
            f"kernel '{name}': values of LLIR are not looked for in AMD's machine code",
            f"{option('level', 'ttgir')} has those of the TTGIR, {option('level', 'amdgcn')} registers too",
        )
    ttgir = request.ttgir or (compiled.asm["ttgir"] if compiled.has("ttgir") else None)
    values, names = [], []
    for selector, lines in request.selectors:
        (values if names_value(ttgir, name, selector, lines) else names).append((selector, list(lines)))
    if values and names:
        raise fail(
            f"{values[0][0]} is a value of the TTGIR, and {names[0][0]} of the machine code: they cannot be "
            "recorded in one dump",
            "use a dump of its own for each",
        )
    if values:
        return _through_twin(request, compiled, ttgir, values, text)
    for selector, _ in names:
        if selector.startswith("%") and ttgir is None:
            raise fail(
                f"kernel '{name}' entered as machine code, of which registers are recorded",
                "name one (v5, s3, vcc), an opcode (v_add_f32) or a line (kernel.py:42); values are those of "
                "kernels that enter at ttgir or above",
            )
    block = getattr(compiled, "block", None)
    threads = math.prod(block) if block else 0
    selectors = [selector for selector, _ in names]
    of_bytes = text if compiled.entry == "hsaco" else None  # the text that they are decoded to runs
    return probe.plan_amd_registers(text, filename, name, selectors, threads), of_bytes, []


def _through_twin(request, compiled, ttgir: str, values: list, text: str):
    name, filename = compiled.name, compiled.label("amdgcn")
    is_given = compiled.entry == "amdgcn" or request.ttgir not in ("", compiled.asm.get("ttgir"))
    unknown: list[str] = []  # why no register is known to hold a value

    def again(source: str) -> str:
        """The text of its TTGIR; Triton 3.9 cannot read that of a product with one warp on RDNA."""
        try:
            return compiled.recompile(source, "ttgir", "amdgcn")
        except DiagnosticError as refused:
            unknown.append(f"its TTGIR cannot be compiled again ({refused.message})")
            return ""

    if compiled.entry == "hsaco":
        unknown.append("an hsaco has no values of the TTGIR (level amdgcn does)")
    elif is_given and again(ttgir) != text:
        unknown.append("its machine code is not what the installed Triton compiles its TTGIR to")
    if not unknown:
        tapped = probe.tap(ttgir, f"{name}.ttgir", name, values, "amdgcn")
        twin = again(without_markers(tapped.text, "ttgir", f"{name}.ttgir"))
    if unknown:
        message = f"kernel '{name}': {unknown[0]}"
        if not request.lenient:
            raise fail(
                f"{message}, so that no register is known to hold {values[0][0]}",
                "name a register (v5), an opcode (v_add_f32) or a line (kernel.py:42)",
            )
        nothing = probe.merge_plans([])
        nothing.add_note(f"{message}: only what it leaves in memory is compared")
        return nothing, None, []
    found = probe.plan_amd_taps(tapped, twin, filename, name, request.lenient, not installed().copies_merged)
    try:
        return probe.move_amd_plan(found, twin, text, filename, name), None, []
    except DiagnosticError:
        listed = [*dict.fromkeys(tapped.values)]
        what = ", ".join(listed) if len(listed) < 6 else f"{', '.join(listed[:4])} and {len(listed) - 4} more"
        return found, twin, [f"what ran is the program compiled with taps after {what}"]
