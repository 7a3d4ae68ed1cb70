"""Implements triton_runner.ledger(): which allocation takes which bytes of shared memory, from where to
where, and what pins registers where PTX and the machine code have most of them.

Every release notes in the IR after its pass of allocation where each buffer begins (allocation.offset): of
ttg.local_alloc, and of the scratch of conversions, reductions and others. How long a buffer is needed follows
from its uses, through the views that are made of it."""

from __future__ import annotations

import dataclasses
import math
import os

from triton_runner import ptx
from triton_runner._artifact.reading import describe
from triton_runner._base.commands import shell
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import MLIR, level_of_name
from triton_runner._code import machine_registers
from triton_runner._code.machine_registers import MachineRegisters
from triton_runner._code.walk import reached
from triton_runner._kernel.compiling import passes
from triton_runner.ir import parse

_OFFSET, _SIZE = "allocation.offset", "allocation.size"


@dataclasses.dataclass(frozen=True)
class Allocation:
    """One allocation in shared memory.

    - `op`, `value`, `line`: the op that allocates it, the op's result, and its line in `Ledger.text`.
    - `place`: the line of the kernel's source, "matmul.py:31".
    - `offset`, `bytes`: where it begins and its size; the size is None for scratch memory of releases before
      3.9, which do not record it. `room`: an upper bound of the size.
    - `first`, `last`: the first and last line of `Ledger.text` at which it is live; `until`: the source line
      of `last`.
    - `made_by`: the pass that created the op, or "front end".
    """

    op: str
    value: str
    line: int
    place: str
    offset: int
    bytes: int | None
    room: int
    first: int
    last: int
    until: str
    made_by: str


@dataclasses.dataclass(frozen=True)
class Pins:
    """The registers that are live where the PTX has the highest pressure: `words` 32-bit registers, before
    the instruction `at` of the source line `place`. `by_place`: {source line of the defining instructions:
    (words, registers)}, the largest first.
    ptxas reorders instructions before it allocates registers, so the number of registers in the binary
    differs: `Ledger.machine` has these.
    """

    words: int
    at: str
    place: str
    by_place: dict[str, tuple[int, tuple[str, ...]]]


@dataclasses.dataclass(frozen=True)
class Ledger:
    """How a kernel uses shared memory and registers.

    - `kernel`, `target`, `release`: identify the compilation.
    - `shared`: bytes of shared memory of a block, from Triton's metadata; `total`: the same number from the
      IR.
    - `allocations`: all allocations, ordered by offset. `text`: the IR after the allocation pass.
    - `peak`: the most bytes that are live at once, as far as sizes are known; `at`: the line of `text` where
      that is. `unused`: shared - peak (alignment, holes).
    - `registers`: the register pressure of the PTX as Pins; None where there is no PTX.
    - `machine`: the registers and spills of the machine code; None where there is no cubin, or nothing that
      reads it: `notes` says so.
    """

    kernel: str
    target: str
    release: str
    shared: int | None
    total: int | None
    peak: int
    at: int
    allocations: tuple[Allocation, ...]
    registers: Pins | None
    text: str = dataclasses.field(repr=False)
    machine: MachineRegisters | None = dataclasses.field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @property
    def unused(self) -> int | None:
        return None if self.shared is None else self.shared - self.peak

    def live(self, line: int) -> list[Allocation]:
        """Returns the allocations that are live at a line of `text`."""
        return [allocation for allocation in self.allocations if allocation.first <= line <= allocation.last]

    def as_dict(self) -> dict:
        return {**{k: v for k, v in dataclasses.asdict(self).items() if k != "text"}, "unused": self.unused}

    def __str__(self):
        lines = [
            f"{self.kernel} for {self.target} by Triton {self.release}: {self.shared} bytes of shared memory"
        ]
        for a in self.allocations:
            end = a.offset + (a.room if a.bytes is None else a.bytes)
            end = f"{'<= ' if a.bytes is None else ''}{end}"
            lines.append(
                f"  {a.offset:>7} to {end:<9} {a.op:<26} {a.value:<10} {a.place:<24} "
                f"lines {a.first} to {a.last}, until {a.until}; by {a.made_by}"
            )
        if self.allocations:
            lines.append(f"  at most {self.peak} bytes at once, at line {self.at}; {self.unused} unused")
        if self.registers is not None:
            pins = self.registers
            lines.append(
                f"registers: PTX has at most {pins.words} live at once, before {pins.at} of {pins.place}"
            )
            for place, (words, names) in [*pins.by_place.items()][:8]:
                shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
                lines.append(f"  {words:>5} {place:<24} {shown}")
        lines += [str(self.machine)] if self.machine is not None else []
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def ledger(
    kernel, signature=None, constexprs: dict | None = None, *, target: str | None = None,
    options: dict | None = None, triton: str | None = None,
) -> Ledger:  # fmt: skip
    """Finds which allocation occupies which bytes of shared memory and when, what keeps registers live, and
    what was spilled. No GPU is needed; any release works.

    The arguments are those of `compile()`: a kernel in Python, or a file of TTIR or TTGIR. Raises
    DiagnosticError.
    """
    trace, notes = _trace(kernel, signature, constexprs, target, options, triton)
    texts = [("", trace[0].before)] if len(trace) and trace[0].before else []
    texts += [(step.name, step.after) for step in trace if step.after is not None]
    shared = trace.metadata.get("shared")
    found = read(texts, trace.name, trace.target, trace.release, shared, trace.asm.get("ptx"))
    machine = None
    if "cubin" in trace.asm:
        try:
            allocated = describe("cubin", trace.asm["cubin"], "", trace.name, None).description["n_regs"]
            machine = machine_registers.of_cubin(
                trace.asm["cubin"], trace.name, allocated, trace.asm.get("ptx"), trace.asm.get("ttgir")
            )
        except DiagnosticError as error:
            notes.append(f"no registers of the machine code: {error.message}")
    return dataclasses.replace(found, machine=machine, notes=tuple(notes))


def _trace(kernel, signature, constexprs, target, options, triton) -> tuple[passes.Trace, list[str]]:
    """The compilation down to machine code, or to PTX where this release's ptxas does not take it; notes."""

    def to(level: str) -> passes.Trace:
        given = {"target": target, "options": options, "triton": triton}
        return passes.passes(kernel, signature, constexprs, **given, to=level, check=False)

    entry = level_of_name(kernel) if isinstance(kernel, (str, os.PathLike)) else ""
    if entry and entry not in MLIR:
        raise fail(
            f"{os.fspath(kernel)} is {entry.upper()}: the ledger follows buffers and values from IR to IR",
            f"give kernel.py:name or its TTIR; {shell('resources', os.fspath(kernel))} reads the code",
        )
    if (target or "").startswith("hip:"):
        return to("amdgcn"), []
    try:
        return to("cubin"), []
    except DiagnosticError as error:
        return to("ptx"), [f"no registers of the machine code: {error.message}"]


def read(
    texts: list[tuple[str, str]], name: str, target: str, release: str, shared: int | None,
    ptx_text: str | None,
) -> Ledger:  # fmt: skip
    """The ledger of a compilation that is there already.

    texts: (pass, the IR after it) in their order, "" for the pass of what the front end made; those that
    changed nothing may be left out. Raises DiagnosticError where shared memory lies nobody says where.
    """
    texts = [(made_by, text) for made_by, text in texts if passes.dialect_of(text) != "llvm"]
    text = next((text for _, text in reversed(texts) if _OFFSET in text), None)
    if text is None:
        if shared:
            raise fail(f"the IR of Triton {release} does not say where the {shared} shared bytes lie")
        text = texts[-1][1] if texts else ""
    module = parse(text)
    makers = _makers(texts, module)
    allocations = []
    for op in module.walk():
        if (offset := op.attr(_OFFSET)) is None:
            continue
        first, last = op.line, op.line
        until = op
        for user in _users(op) if _is_buffer(op) else ():
            if user.line > last:
                last, until = user.line, user
        made_by = makers.get(_mark(op), "front end")
        value = op.results[0].name if op.results else ""
        for at in _numbers(offset):
            of_op = op.name, value, op.line, _place(op)
            allocations.append(Allocation(*of_op, at, _bytes(op), 0, first, last, _place(until), made_by))
    allocations.sort(key=lambda a: (a.offset, a.first))
    allocations = [
        dataclasses.replace(allocation, room=_room(allocation, allocations, shared or 0))
        for allocation in allocations
    ]
    peak, at = _peak(allocations)
    total = next((int(_number(op.attr(n))) for op in module.walk()[:1] for n in _TOTALS if op.attr(n)), None)
    return Ledger(
        name, target, release, shared, total, peak, at, tuple(allocations), _pins(ptx_text, name), text
    )


_TOTALS = ("ttg.shared", "triton_gpu.shared")


def _number(attr):
    return attr.integer if attr.integer is not None else attr.value


def _numbers(attr) -> list[int]:
    """The offsets of an op: several where it has a buffer for each warp group."""
    elements = attr.elements
    return [int(_number(element)) for element in elements] if elements else [int(_number(attr))]


def _place(op) -> str:
    """The line of the kernel, whichever functions it calls on the way to the op."""
    location = op.location
    while location is not None and location.caller is not None:
        location = location.caller
    return f"{location.file.rpartition('/')[2]}:{location.line}" if location and location.file else "-"


def _bytes(op) -> int | None:
    """Returns how many bytes an op's allocation takes: what it says, else those of the buffer that it
    makes."""
    if (size := op.attr(_SIZE)) is not None:
        return int(_number(size))
    if not _is_buffer(op):
        return None
    kind = op.results[0].type
    return math.ceil(math.prod(kind.shape) * kind.element.width / 8)


def _is_buffer(op) -> bool:
    """Returns whether it makes a buffer that others use, in place of scratch of its own."""
    return bool(op.results) and op.results[0].type.kind == "memdesc"


def _users(op) -> list:
    """The ops that reach an allocation: through views of it, and through what loops and branches carry."""
    return [user for value in reached(op.results, _views) for user, *_ in value.uses]


def _views(value) -> list:
    """The buffers that the users of one give, or hand to what they go on with."""
    values = []
    for user, *_ in value.uses:
        values += [*user.results, *(argument for block in user.successors for argument in block.args)]
    return [one for one in values if one.type.kind == "memdesc"]


def _room(own: Allocation, allocations: list[Allocation], shared: int) -> int:
    """The bytes to the next buffer that is needed meanwhile, or to the end."""
    above = [a.offset for a in allocations if a.offset > own.offset and a.first <= own.last <= a.last]
    return min([*above, shared]) - own.offset


def _peak(allocations: list[Allocation]) -> tuple[int, int]:
    """The most bytes that are needed at once, and the first line where they are."""
    peak, at = 0, 0
    for line in sorted({allocation.first for allocation in allocations}):
        needed = sum(
            allocation.bytes or 0 for allocation in allocations if allocation.first <= line <= allocation.last
        )
        if needed > peak:
            peak, at = needed, line
    return peak, at


# --- the pass that made an op --------------------------------------------------------------------------


def _mark(op) -> tuple:
    """Returns what an op is known by from pass to pass: its kind, its place, and the shape that it gives."""
    shape = tuple(op.results[0].type.shape or ()) if op.results else ()
    location = op.location
    while location and (within := location.child or next(iter(location.children), None)):
        location = within  # the innermost, as before the inliner nobody has called it yet
    place = (location.file, location.line, location.column) if location else ()
    return (op.name.rpartition(".")[2], place, shape)


def _makers(texts, module) -> dict:
    """The pass after which an op first stands and then stays, by its mark."""
    marks = {_mark(op) for op in module.walk() if op.attr(_OFFSET) is not None}
    makers, left = {}, set(marks)
    later = None
    for made_by, text in reversed(texts):
        if not left:
            break
        if later is not None and text == later[1]:
            later = (made_by, text)
            continue
        try:
            there = {_mark(op) for op in parse(text).walk()} if text else set()
        except DiagnosticError:
            continue
        for mark in left - there:
            if later is not None:
                makers[mark] = later[0]
        left &= there
        later = (made_by, text)
    return makers


# --- registers -----------------------------------------------------------------------------------------


def _pins(text: str | None, name: str) -> Pins | None:
    function = ptx.parse(text).function(name) if text else None
    if function is None:
        return None
    instructions = function.instructions
    at, words, live = function.pressure()
    by_place: dict[str, list] = {}
    for register, kind, definition in live:
        size = 0 if kind == "pred" else math.ceil(int("".join(c for c in kind if c.isdigit())[-3:]) / 32)
        place = _source(instructions[definition]) if definition >= 0 else "-"
        by_place.setdefault(place, []).append((size, register))
    summed = {
        place: (sum(size for size, _ in ones), tuple(name for size, name in ones if size))
        for place, ones in by_place.items()
    }
    ordered = dict(sorted((pair for pair in summed.items() if pair[1][0]), key=lambda pair: -pair[1][0]))
    return Pins(words, instructions[at].opcode, _source(instructions[at]), ordered)


def _source(instruction) -> str:
    for file, line, _, _ in instruction.source[-1:]:
        return f"{file.rpartition('/')[2]}:{line}"
    return "-"
