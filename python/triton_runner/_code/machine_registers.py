"""Finds what holds the registers of a kernel's machine code where most of them are live, and what was
spilled: for each register the instruction that defined it, and the line of Python, the value of the TTGIR and
the registers of the PTX that this instruction was made from.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import re

from triton_runner import ptx
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError, is_of_language
from triton_runner._code import live_ranges
from triton_runner._code.live_ranges import SLOT
from triton_runner._core import sass
from triton_runner.ir import parse

NVDISASM, OWN = "nvdisasm -plr", "the instructions"
_ZERO = "a zero"
_RESERVED = 1  # R1, the stack frame's address


@dataclasses.dataclass(frozen=True)
class LiveRegister:
    """A register that is live at the peak.

    - `name`: "R24"; `kind`: "address" if an instruction takes it as one, "frame" for R1, else "value".
    - `defined`: the addresses of the instructions that may have defined it; `by`: the text of the one that is
      in the innermost loop, or else the last. `reloaded`: whether that loads what was spilled.
    - `place`: the line of Python, "attention.py:22"; `value`: the value of the TTGIR; `ptx_line`, `ptx`: the
      line of the PTX, and the registers that it defines. All are of what was stored if it is `reloaded`.
    - `first`, `last`: the lowest and the highest address at which this value is defined or read.
    """

    name: str
    kind: str
    defined: tuple[int, ...]
    by: str
    reloaded: bool
    place: str
    value: str
    ptx_line: int
    ptx: tuple[str, ...]
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class LineRegisters:
    """The registers of one line of Python at the peak: how many, how many of them are `addresses` or were
    `reloaded`, the values of the TTGIR, the opcodes that defined them with their counts, and the lowest and
    the highest address at which one of them is defined or read."""

    place: str
    registers: int
    addresses: int
    reloaded: int
    values: tuple[str, ...]
    opcodes: dict[str, int]
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class SpillTraffic:
    """How many instructions of a `loop` store and reload spilled registers. `loop`: the innermost,
    "attention.py:12, 0xd50 to 0x2510"; "" outside of loops. `depth`: how many loops are around them."""

    loop: str
    depth: int
    stores: int
    reloads: int


@dataclasses.dataclass(frozen=True)
class Spill:
    """The spills of one line of Python: `words` 4-byte slots of the stack frame, the `values` of the TTGIR,
    the number of instructions that store and that reload them, and these by loop."""

    place: str
    words: int
    values: tuple[str, ...]
    stores: int
    reloads: int
    loops: tuple[SpillTraffic, ...]


@dataclasses.dataclass(frozen=True)
class MachineRegisters:
    """The registers of machine code where most are live.

    - `allocated`: the registers of a thread that the binary asks for; `live`, `uniform`, `predicates`: the R,
      UR, and P and UP registers that are live at the peak.
    - `address`, `text`, `place`, `loop`: the instruction at the peak, its line of Python, and its loop.
    - `ranges`: where the live ranges are from: "nvdisasm -plr" or "the instructions".
    - `by_place`: the live registers by line of Python, most first; `registers`: each of them.
    - `spills`: what was spilled, by line of Python, most instructions first. `local`: instructions that
      access local memory in another way.
    """

    allocated: int
    live: int
    uniform: int
    predicates: int
    address: int
    text: str
    place: str
    loop: str
    ranges: str
    by_place: tuple[LineRegisters, ...]
    registers: tuple[LiveRegister, ...]
    spills: tuple[Spill, ...]
    local: int

    def __str__(self):
        peak = f"at {self.address:#06x} {self.text} of {self.place}"
        lines = [
            f"machine code: {self.allocated} registers, at most {self.live} live at once, {peak}"
            f"{f' in the loop of {self.loop}' if self.loop else ''}",
            f"  also {self.uniform} uniform registers and {self.predicates} predicates; "
            f"ranges by {self.ranges}",
        ]
        lines += [_line_text(line) for line in self.by_place[:_SHOWN]]
        if rest := self.by_place[_SHOWN:]:
            lines.append(f"  {sum(line.registers for line in rest):>5} {len(rest)} more lines")
        if self.spills:
            stores, reloads = (sum(getattr(s, which) for s in self.spills) for which in ("stores", "reloads"))
            lines.append(f"spills: {stores} instructions store, {reloads} reload")
            lines += [_spill_text(spill) for spill in self.spills[:_SHOWN]]
            if rest := self.spills[_SHOWN:]:
                lines.append(f"  {sum(spill.words for spill in rest):>5} words of {len(rest)} more lines")
        if self.local:
            lines.append(f"  {self.local} more instructions access local memory that is no spill")
        return "\n".join(lines)


_SHOWN = 8


def _line_text(line: LineRegisters) -> str:
    parts = [", ".join(line.values[:3]) + (", ..." if len(line.values) > 3 else "")] if line.values else []
    parts += [f"{line.addresses} in addresses"] if line.addresses else []
    parts += [f"{line.reloaded} reloaded"] if line.reloaded else []
    opcodes = ", ".join(f"{name} {count}" for name, count in [*line.opcodes.items()][:3])
    parts += [f"from {opcodes}", f"{line.first:#06x} to {line.last:#06x}"]
    return f"  {line.registers:>5} {line.place:<24} {'; '.join(parts)}"


def _spill_text(spill: Spill) -> str:
    parts = [", ".join(spill.values[:3])] if spill.values else []
    for one in spill.loops:
        where = f"in the loop of {one.loop}" if one.loop else "outside of loops"
        parts.append(f"{one.stores} stores, {one.reloads} reloads {where}")
    return f"  {spill.words:>5} words of {spill.place:<15} {'; '.join(parts)}"


def of_cubin(
    cubin: bytes, kernel: str, allocated: int, ptx_text: str | None = None, ttgir: str | None = None
) -> MachineRegisters | None:
    """The registers of a kernel of a cubin; None of a kernel that has no instructions. ptx_text, ttgir: what
    it was made from. Raises DiagnosticError where no nvdisasm reads the cubin."""
    function = next((one for one in sass.parse(tools.listing(cubin)) if one.name == kernel), None)
    if function is None or not function.instructions:
        return None
    ranges, live = OWN, live_ranges.live(function)
    if not any(one.does("calls") for one in function.instructions):  # of which -plr does not know the ways
        printed = live_ranges.of_nvdisasm(cubin, kernel)
        if printed is not None:
            ranges = NVDISASM
            live = [printed.get(one.address, frozenset()) for one in function.instructions]
    return _Reader(function, ptx_text, ttgir).read(live, ranges, allocated)


class _Reader:
    """Finds what the registers of a function belong to."""

    def __init__(self, function: sass.Function, ptx_text: str | None, ttgir: str | None):
        self.function, self.code = function, function.instructions
        self.loops = [(head, last, frozenset(body)) for head, last, body in function.loops]
        made_from = ptx.parse(ptx_text).function(function.name) if ptx_text else None
        self.ptx = {one.line: one for one in made_from.instructions} if made_from else {}
        self.values = _values(ttgir)

    def read(self, live, ranges: str, allocated: int) -> MachineRegisters:
        counts = [_count(registers, "R") for registers in live]
        at = counts.index(max(counts))
        one = self.code[at]
        registers = tuple(
            self.register(number, at) for number in sorted(live[at]) if live_ranges.bank(number) == "R"
        )
        spills, local = self.spills()
        return MachineRegisters(
            allocated, counts[at], _count(live[at], "UR"), _count(live[at], "P") + _count(live[at], "UP"),
            one.address, str(one), self.place(at), self.loop(at), ranges, _grouped(registers), registers,
            spills, local,
        )  # fmt: skip

    # --- an instruction

    def place(self, i: int) -> str:
        """The line of Python of an instruction: the innermost that is not of Triton's own library."""
        one = self.code[i]
        made_from = self.ptx.get(one.ptx_line)
        for file, line, _, _ in made_from.source if made_from and is_of_language(one.program) else ():
            if not is_of_language(file):
                return f"{file.rpartition('/')[2]}:{line}"
        return one.program.rpartition("/")[2] or "-"

    def value(self, i: int) -> str:
        """The TTGIR's name of what an instruction computes a part of; "" if it cannot be told."""
        made_from = self.ptx.get(self.code[i].ptx_line)
        for file, line, column, _ in made_from.source if made_from else ():
            if found := self.values.get((file.rpartition("/")[2], line, column)):
                return found
        return ""

    @functools.cache  # noqa: B019
    def loop(self, i: int) -> str:
        head, last, _ = next((loop for loop in reversed(self.loops) if i in loop[2]), (None, None, None))
        if head is None:
            return ""
        return f"{self.place(last)}, {self.code[head].address:#06x} to {self.code[last].address:#06x}"

    def depth(self, i: int) -> int:
        """Returns how many loops an instruction is in."""
        return sum(i in body for _, _, body in self.loops)

    def main(self, definitions: list[int], i: int) -> int:
        """Returns, of several definitions, the one in the innermost loop; of these the last that comes before
        an instruction, or else the last."""
        return max(definitions, key=lambda d: (self.depth(d), d < i, d))

    # --- a register

    def origin(self, register: int, i: int) -> int:
        """The instruction that computed what a register or a slot has before an instruction, through what was
        spilled and reloaded; `i` itself if nothing did."""
        seen = set()
        while (register, i) not in seen:
            seen.add((register, i))
            if not (definitions := self.function.definitions(register, i)):
                return i
            i, was = self.main(definitions, i), register
            one = self.code[i]
            if _reloads(one) and (slots := one.frame):
                register = slots[min(was - min(one.writes, default=was), len(slots) - 1)]
            elif _spills(one) and was >= SLOT:
                if (stored := _stored(one, was)) is None:
                    return i
                register = stored
            else:
                return i
        return i

    def register(self, number: int, at: int) -> LiveRegister:
        code, function = self.code, self.function
        one = code[at]
        is_new = number in one.writes and number not in function.live(at)
        definitions = [at] if is_new else function.definitions(number, at)
        main = self.main(definitions, at) if definitions else at
        origin = main
        if _reloads(code[main]):
            origin = self.origin(number, at if not is_new else at + 1)
        uses = [use for start in (one.targets if is_new else [at]) for use in function.uses(number, start)]
        made_from = self.ptx.get(code[origin].ptx_line)
        addresses = sorted(code[j].address for j in {*definitions, *uses, at})
        return LiveRegister(
            sass.register_name(number), self.kind(number, uses),
            tuple(code[j].address for j in definitions), str(code[main]),
            _reloads(code[main]), self.place(origin), self.value(origin),
            code[origin].ptx_line, tuple(made_from.results) if made_from else (),
            addresses[0], addresses[-1],
        )  # fmt: skip

    def kind(self, number: int, uses: list[int]) -> str:
        if number == _RESERVED:
            return "frame"
        return "address" if any(number in self.code[j].address_registers for j in uses) else "value"

    # --- spills

    def spills(self) -> tuple[tuple[Spill, ...], int]:
        """Returns what was spilled, and how many instructions access local memory in another way."""
        slots, values = collections.defaultdict(set), collections.defaultdict(set)
        counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        local = 0
        for i, one in enumerate(self.code):
            if not one.does("local"):
                continue
            words = one.frame
            if not words:
                local += 1
                continue
            origin = self.spilled(one, words[0], i)
            place = _ZERO if origin is None else self.place(origin)
            slots[place].update(words)
            values[place].add("" if origin is None else self.value(origin))
            counts[place][self.loop(i), self.depth(i), _spills(one)] += 1
        found = []
        for place, own in counts.items():
            loops = sorted({key[:2] for key in own}, key=lambda key: (-key[1], key[0]))
            traffic = tuple(SpillTraffic(*key, own[(*key, True)], own[(*key, False)]) for key in loops)
            stores, reloads = sum(one.stores for one in traffic), sum(one.reloads for one in traffic)
            names = tuple(sorted(values[place] - {""}))
            found.append(Spill(place, len(slots[place]), names, stores, reloads, traffic))
        return tuple(sorted(found, key=lambda s: (-s.stores - s.reloads, s.place))), local

    def spilled(self, one: sass.Instruction, slot: int, i: int) -> int | None:
        """The instruction that computed what a store or a load of a slot moves. A zero that is stored is what
        the reloads of it are: the start of a sum in a loop. None: a zero, and nothing else."""
        stored = _stored(one, slot) if _spills(one) else slot
        if stored is not None:
            origin = self.origin(stored, i)
        else:
            reloads = [use for next_ in one.targets for use in self.function.uses(slot, next_)]
            origin = self.origin(slot, reloads[0]) if reloads else i
        return None if _spills(self.code[origin]) else origin


def _count(registers, bank: str) -> int:
    return sum(live_ranges.bank(number) == bank for number in registers)


def _spills(one: sass.Instruction) -> bool:
    return one.does("local") and one.does("writes")


def _reloads(one: sass.Instruction) -> bool:
    return one.does("local") and one.does("reads")


def _stored(one: sass.Instruction, slot: int) -> int | None:
    """The register that a store writes into a slot; None for RZ."""
    values = [n for n in one.reads if live_ranges.bank(n) == "R" and n not in one.address_registers]
    return values[0] + slot - one.frame[0] if values else None


def _grouped(registers: tuple[LiveRegister, ...]) -> tuple[LineRegisters, ...]:
    groups: dict[str, list[LiveRegister]] = collections.defaultdict(list)
    for one in registers:
        groups["stack frame" if one.kind == "frame" else one.place].append(one)
    found = [
        LineRegisters(
            place, len(own), sum(one.kind == "address" for one in own), sum(one.reloaded for one in own),
            tuple(name for name, _ in collections.Counter(o.value for o in own if o.value).most_common()),
            dict(collections.Counter(_opcode(one.by) for one in own).most_common()),
            min(one.first for one in own), max(one.last for one in own),
        )
        for place, own in groups.items()
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda line: (-line.registers, line.first)))


def _opcode(text: str) -> str:
    return re.sub(r"^@\S+\s+", "", text).partition(" ")[0].partition(".")[0]


def _values(ttgir: str | None) -> dict[tuple[str, int, int], str]:
    """The name of the value that the op of a place in the source gives, by (file, line, column); the
    variable's, if the IR has it."""
    try:
        ops = parse(ttgir).walk() if ttgir else []
    except DiagnosticError:
        return {}
    found = {}
    for op in ops:
        if (at := op.location) is not None and at.file and op.results:
            key = at.file.rpartition("/")[2], at.line, at.column
            found[key] = at.name or op.results[0].name
    return found
