"""Finds values of the TTGIR and registers of the PTX in the registers of a cubin.

Which registers of the PTX hold a value is found with taps (registers.py); which register of the machine
code holds one of those, by the lines of PTX that ptxas writes into the cubin (probe/sass.h). What ptxas did
not keep is left out, and the notes say why.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re

import numpy

from triton_runner import _core
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._kernel.dumps import registers
from triton_runner._worker.spelling import option

MOST_TWINS = 128  # that are compiled for one dump
_SASS = re.compile(r"\*$|(U?[RP]\d+|0x[0-9a-f]+(:\w+)?|[A-Z][A-Z0-9_.]*|.*\.py:\d+)$")


class DebuggerReads:
    """A _core.probe.SassPlan, as the debugger is told of it, and what becomes of what it read."""

    def __init__(self, plan, opcodes: dict):
        self.plan, self.opcodes = plan, opcodes

    def spec(self) -> dict:
        stops: dict = {}
        for stop, _, register in self.plan.reads:
            registers = stops.setdefault(stop, [])
            if register not in registers:
                registers.append(register)
        opcodes = {definition: self.opcodes[definition] for _, definition, _ in self.plan.reads}
        return {"stops": stops, "fences": self.plan.fences, "opcodes": opcodes}

    def recording(self, records: list, request):
        at: dict = {}
        for i, (stop, _, register) in enumerate(self.plan.reads):
            at.setdefault(stop, []).append((i, register))
        reads, programs, threads, values = [], [], [], []
        for r in records:
            for i, register in at.get(r.get("at"), ()):
                reads += [i] * len(r["lanes"])
                programs += [r["block"]] * len(r["lanes"])
                threads += [r["warp"] * 32 + lane for lane in r["lanes"]]
                values += r["values"][register]
        return self.plan.assemble(
            numpy.array(reads, numpy.uint32), numpy.array(programs, numpy.int64).reshape(-1, 3),
            numpy.array(threads, numpy.uint32), numpy.array(values, numpy.uint32), request.every_iteration,
        )  # fmt: skip


def names_sass(request) -> bool:
    """Whether the selectors name SASS. Errors: none, names of both kinds."""
    if not request.selectors:
        raise fail("at cubin a dump has to be asked for by name: dl.dump needs stores in the kernel")
    of_sass = [text for text, _ in request.selectors if _SASS.match(text)]
    if of_sass and len(of_sass) != len(request.selectors):
        raise fail(
            f"{of_sass[0]} is of the SASS, other names are of the TTGIR or PTX: one dump cannot record both",
            "use a dump of its own for each",
        )
    return bool(of_sass)


def plan(request, compiled) -> DebuggerReads | None:
    """Finds where the SASS of a compiled kernel has the values that the selectors name; None where they name
    SASS. Errors: names of both kinds, values that no register holds, with the reasons."""
    if names_sass(request):
        return None
    code = registers.Code(compiled)
    listing = tools.disassembly(compiled.asm["cubin"], "-gp")  # with the lines of the PTX

    def place(tapped):
        return _core.probe.place_in_sass(tapped, code.ptx, code.filename, code.name, listing)

    found = placed(dataclasses.replace(request, level="ptx"), code, place)
    opcodes = {}
    for match in re.finditer(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@\S+\s+)?([A-Z0-9]+)", listing, re.M):
        opcodes.setdefault(int(match[1], 16), match[2])
    return DebuggerReads(found, opcodes)


def placed(request, code, place):
    """The SassPlan of what the selectors name. place: makes one of a RegisterPlan for the kernel's PTX."""
    probe = _core.probe
    level, names = registers.chosen(request, code)
    if level != "ttgir":
        return place(probe.plan_named_registers(code.ptx, code.filename, code.name, names, *code.size))
    ttgir = request.ttgir or code.ttgir
    tapped = probe.tap(ttgir, f"{code.name}.ttgir", code.name, names)
    values = list(dict.fromkeys(tapped.values))
    with contextlib.suppress(DiagnosticError):
        twin = code.compile(tapped.text, "ttgir")
        found = place(registers.plan_of(tapped, twin, code.ptx, code.filename, True))
        if set(found.values) == set(values):
            return found
    # Taps after many values change the program more than those after one: one by one more is found.
    plan = registers.plan_untouched(ttgir, values, code, MOST_TWINS, 1)
    if plan is None:
        raise fail(
            f"which registers of the untouched program hold {values[0]} is not known",
            f"dump it at {option('level', 'ttgir')}, or name a register, an opcode or a line of the SASS",
        )
    for note in tapped.notes:
        plan.add_note(note)
    return place(plan)
