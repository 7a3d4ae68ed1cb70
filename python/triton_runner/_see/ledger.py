"""The ledger as the page holds it: what takes shared memory from when to when, and what pins registers, with
the lines of the levels that the page shows."""

from __future__ import annotations

import dataclasses

from triton_runner import _core
from triton_runner._base.errors import DiagnosticError
from triton_runner._compiler import ledger
from triton_runner._see.material import Material


def of(material: Material, notes: list[str]) -> dict | None:
    """`shared`, `peak`, `at`, `lines` (of the text that lifetimes are counted in), `allocations` (those of
    Ledger, with `ttgir`: the line in the TTGIR on the page, 0 where it cannot be told), `registers`. Only
    registers where no text says the offsets (they need the passes). None: neither is known."""
    texts = [("" if step.number == 0 else step.name, step.text) for step in material.passes if step.text]
    says = any("allocation.offset" in text for _, text in texts)
    shared = material.metadata.get("shared") if says else None
    try:
        result = ledger.read(
            texts if says else [], material.name, material.target, material.release, shared,
            material.asm.get("ptx"),
        )  # fmt: skip
        lines = _lines_in_ttgir(material, _core.ir.parse(result.text).walk()) if result.allocations else {}
    except DiagnosticError as error:
        notes.append(f"no ledger of shared memory and registers: {error.message}")
        return None
    if not result.allocations and result.registers is None:
        return None
    return {
        "shared": result.shared, "peak": result.peak, "at": result.at, "lines": result.text.count("\n") + 1,
        "allocations": [
            {**dataclasses.asdict(a), "ttgir": lines.get(a.line, 0)} for a in result.allocations
        ],
        "registers": result.registers and _pins(result.registers),
    }  # fmt: skip


def _pins(pins: ledger.Pins) -> dict:
    listed = [[place, words, list(names)] for place, (words, names) in pins.by_place.items()]
    return {"words": pins.words, "at": pins.at, "place": pins.place, "byPlace": listed}


def _lines_in_ttgir(material: Material, ops) -> dict[int, int]:
    """The line in the TTGIR that the page shows of each op of a later text, by its line there: ops of one
    name and one type of result in their order, where both texts have as many."""
    try:
        shown = _core.ir.parse(material.asm.get("ttgir", "")).walk()
    except DiagnosticError:
        return {}
    lines_of_kind: dict = {_kind(op): [] for op in ops if op.attr("allocation.offset") is not None}
    there: dict = {kind: [] for kind in lines_of_kind}
    for all_ops, lines in ((ops, lines_of_kind), (shown, there)):
        for op in all_ops:
            if (kind := _kind(op)) in lines:
                lines[kind].append(op.line)
    return {
        line: shown_line
        for kind, lines in lines_of_kind.items()
        if len(lines) == len(there[kind])
        for line, shown_line in zip(lines, there[kind], strict=True)
    }


def _kind(op) -> tuple:
    return op.name, *(str(result.type) for result in op.results)
