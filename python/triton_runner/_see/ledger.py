"""The ledger of shared memory: which buffers a kernel has and where they lie, from the IR behind the pass
that gives them their offsets."""

from __future__ import annotations

from triton_runner import _core
from triton_runner._errors import DiagnosticError
from triton_runner._see.material import Material


def of(material: Material, notes: list[str]) -> list[dict]:
    """What each op with an offset keeps there: what, line (of the TTGIR), offset, bytes. Empty where no text
    says the offsets (they need the passes)."""
    text = next((p.text for p in reversed(material.passes) if p.text and _has_offsets(p.text)), None)
    if text is None:
        return []
    try:
        ops = _core.ir.parse(text).walk()
    except DiagnosticError as error:
        notes.append(f"no ledger of shared memory: {error.message}")
        return []
    lines = _lines_in_ttgir(material, ops)
    out = []
    for number, op in enumerate(ops):
        offset, size = op.attr("allocation.offset"), op.attr("allocation.size")
        if offset is None:
            continue
        made = int(size.value) if size is not None else _buffer_bytes(op)
        if made:
            what = f"{op.name} {op.results[0].name}" if op.results else op.name
            entry = {"what": what, "line": lines.get(number, 0), "offset": int(offset.value), "bytes": made}
            out.append(entry)
    return out


def _has_offsets(text: str) -> bool:
    return "allocation.offset" in text and "llvm.func" not in text


def _buffer_bytes(op) -> int:
    """Bytes of a buffer; 0 where its elements have no size that its type says."""
    type_ = op.results[0].type
    if type_.kind != "memdesc" or not type_.element.width:
        return 0
    count = 1
    for extent in type_.shape:
        count *= extent
    return count * type_.element.width // 8


def _lines_in_ttgir(material: Material, ops) -> dict[int, int]:
    """The line in the TTGIR that the page shows of each op of a later text, by its number there: ops of one
    name and one type of result in their order, where both texts have as many."""
    try:
        shown = _core.ir.parse(material.asm.get("ttgir", "")).walk()
    except DiagnosticError:
        return {}
    wanted: dict = {_kind(op): [] for op in ops if op.attr("allocation.offset") is not None}
    there: dict = {kind: [] for kind in wanted}
    for number, op in enumerate(ops):
        if (kind := _kind(op)) in wanted:
            wanted[kind].append(number)
    for op in shown:
        if (kind := _kind(op)) in there:
            there[kind].append(op.line)
    return {
        number: line
        for kind, numbers in wanted.items()
        if len(numbers) == len(there[kind])
        for number, line in zip(numbers, there[kind], strict=True)
    }


def _kind(op) -> tuple:
    return op.name, *(str(result.type) for result in op.results)
