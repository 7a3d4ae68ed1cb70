"""Makes of a kernel what the page holds: the map, the sources, the passes, its resources, dumped values,
findings."""

from __future__ import annotations

import base64
import dataclasses
import functools
import gzip
import json
import os

from triton_runner import _core
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.levels import MLIR
from triton_runner._core import ir, probe
from triton_runner._kernel.compiling import ledger, resources
from triton_runner._kernel.material import Material
from triton_runner._kernel.page import findings as verdicts
from triton_runner._kernel.page import opcodes, pictures, profiles
from triton_runner._kernel.source_map import SourceMap

_MOST_VALUES = 60  # dumped values of a kernel
_MOST_CELLS = 1 << 20  # of the pictures of all its values, of four bytes each
_MOST_SOURCE = 2_000_000  # bytes of a source file
_FACTS = (("num_warps", "warps"), ("num_stages", "stages"), ("num_ctas", "blocks of a cluster"))


class KernelData:
    """`main`: what the page needs to open the kernel. `passes` (the IR after each pass) and `values` (the
    pictures of the records) are unpacked when their panels are opened. All three as JSON can carry them."""

    def __init__(self, material: Material, dumped, findings):
        self.map = SourceMap(material)
        notes = self.map.notes
        self.passes = _pass_texts(material, self.map)
        if len(dumped) > _MOST_VALUES:
            notes.append(f"of {len(dumped)} dumped values the first {_MOST_VALUES} are shown")
            dumped = dumped[:_MOST_VALUES]
        most_cells = _MOST_CELLS // max(1, len(dumped))
        values = [pictures.value(dump, self._place_of(dump), most_cells) for dump in dumped]
        self.values = [records for _, records in values]
        ttgir = material.asm.get("ttgir", "")
        self.main = {
            "name": self.map.name, "facts": _facts(material), "notes": notes,
            "files": [{"path": path, "text": _source(path, material.sources)} for path in self.map.files],
            "mainFile": self.map.files.index(self.map.main_file) if self.map.files else 0,
            "places": [list(place) for place in self.map.places],
            "levels": [
                {
                    "name": name, "text": level.text,
                    "rows": [[r.line, r.op, list(r.places), r.ptx_line] for r in level.rows.values()],
                }
                for name, level in self.map.levels.items()
            ],
            "passes": [
                {
                    "number": step.number, "name": step.name, "stage": step.stage, "changed": step.changed,
                    "seconds": step.seconds,
                }
                for step in material.passes
            ],
            "resources": _numbers(material, self.map, notes), "ledger": _ledger(material, notes),
            "values": [
                {**about, "held": self._held(dump)} for (about, _), dump in zip(values, dumped, strict=True)
            ],
            "layouts": pictures.layouts(ttgir, notes) if ttgir else [],
            "profile": profiles.of(findings, self.map, addresses),
            "findings": [row for finding in findings for row in verdicts.read(finding, self.map)],
            "opcodes": {name: opcodes.of(name, self.map.levels.get(name)) for name in ("ptx", "sass")},
        }  # fmt: skip

    def _held(self, values) -> list:
        """[line of SASS, register] of what gave a value that was recorded in machine code."""
        level = self.map.levels.get("sass")
        lines = addresses(level.text, values.kernel) if level and values.level == "cubin" else {}
        return [[lines[at], register] for at, register in values.registers if at in lines]

    def _place_of(self, values):
        """Returns where the page goes for a dumped value: its line in the level that it was recorded at, or
        in the source."""
        if held := self._held(values):
            return ["sass", held[0][0]]
        level = self.map.levels.get(values.level)
        if level is not None and values.name.startswith("%"):
            if values.level in MLIR:
                line, op = _definitions(level.text, values.kernel).get(values.name, (0, ""))
                if line in level.rows and op == values.op:
                    return [values.level, line]
            for row in level.rows.values() if values.level not in MLIR else ():
                if level.lines[row.line - 1].lstrip().startswith(f"{values.name} ="):
                    return [values.level, row.line]
        if values.file in self.map.files and values.line:
            return ["python", values.line, self.map.files.index(values.file)]
        return None


@functools.lru_cache(maxsize=8)
def addresses(listing: str, kernel: str) -> dict:
    """The line of each address of a kernel's machine code."""
    out, inside = {}, False
    for number, line in enumerate(listing.splitlines(), 1):
        if line.startswith(".text."):
            inside = line == f".text.{kernel}:"
        elif inside and line.startswith("/*"):
            out[int(line[2 : line.index("*/")], 16)] = number
    return out


@functools.lru_cache(maxsize=8)
def _definitions(text: str, kernel: str) -> dict:
    """(line, op) of each value of a kernel's IR, by the name that dumps give it."""
    try:
        module = ir.parse(text)
        named = probe.values(module, kernel)
    except DiagnosticError:  # dumps of another kernel than the page's
        return {}
    ops = {name: value.op or value.block.parent for name, value in named}
    return {name: (op.line, op.name) for name, op in ops.items()}


def packed(data) -> str:
    """JSON, compressed, as text that a script element can hold whatever the data."""
    text = json.dumps(data, separators=(",", ":"), default=str).encode()
    return base64.b64encode(gzip.compress(text, 3, mtime=0)).decode()


def _facts(material: Material) -> list[str]:
    out = [material.target, *([f"Triton {material.release}"] if material.release else [])]
    for field, word in _FACTS:
        if isinstance(number := material.metadata.get(field), int) and (number != 1 or field == "num_warps"):
            out.append(f"{number} {word}")
    return [fact for fact in out if fact]


def _source(path: str, texts: dict | None) -> str | None:
    if texts is not None:
        return texts.get(path)
    try:
        if os.path.getsize(path) > _MOST_SOURCE:
            return None
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _pass_texts(material: Material, map_: SourceMap) -> dict:
    """Returns for each pass that changed something its IR, and for each line the number of its place or
    -1."""
    out = {}
    for step in material.passes:
        if step.text is None:
            continue
        try:
            lines = map_.places_of_lines(step.text)
        except DiagnosticError:  # its lines are shown without the lines of the source
            lines = [-1] * (step.text.count("\n") + 1)
        out[step.number] = {"text": step.text, "at": lines}
    return out


def _numbers(material: Material, map_: SourceMap, notes: list[str]) -> list:
    """[label, text, whether it stands out] of what the binary needs."""
    if not {"cubin", "hsaco", "amdgcn"} & material.asm.keys():
        shared = material.metadata.get("shared")
        return [] if shared is None else [["shared bytes", f"{shared:,}", True]]
    try:
        sass = map_.levels.get("sass")
        needs = resources.resources(material, listing=sass and sass.text)
    except DiagnosticError as error:
        notes.append(f"no resources: {error.message}")
        return []
    shared = f"{(needs.static_shared or 0) + (needs.dynamic_shared or 0):,}"
    if needs.dynamic_shared is None:
        shared = f"{needs.static_shared or 0:,} + ?"
    rows = [
        ["registers", needs.registers, True], ["spills", needs.spills, True],
        ["shared bytes", shared, True], ["code bytes", f"{needs.code_bytes or 0:,}", True],
        ["instructions", f"{sum(needs.instructions.values()):,}", True],
    ]  # fmt: skip
    if o := needs.occupancy:
        rows.append(["warps on an SM", f"{o['warps']} of {o['most_warps']}", True])
        rows.append(["blocks on an SM", f"{o['blocks']}; limit: {' and '.join(o['limits'])}", False])
    rows += [
        ["waves on a SIMD", needs.waves, True], ["SGPRs", needs.sgprs, False], ["AGPRs", needs.agprs, False],
        ["warps", needs.warps, False], ["local bytes of a thread", needs.local_bytes, False],
        ["static shared bytes", needs.static_shared, False],
        ["dynamic shared bytes", needs.dynamic_shared, False],
        ["named barriers", needs.barriers, False],
        ["constant banks", ", ".join(f"{k}: {v}" for k, v in needs.constant_banks.items()) or None, False],
    ]  # fmt: skip
    notes.extend(needs.notes)
    return [[label, str(value), big] for label, value, big in rows if value is not None]


def _ledger(material: Material, notes: list[str]) -> dict | None:
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
