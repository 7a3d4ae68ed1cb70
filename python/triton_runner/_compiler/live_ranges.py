"""Live ranges of the registers of machine code: which registers hold a value that is still read, at each
instruction.

nvdisasm prints them (-plr) where it is of the generation of the assembler that made the cubin; else they
follow from the instructions: a backward data flow over the control flow, of the registers that each
instruction reads and writes. 4-byte slots of the stack frame (STL, LDL) count as registers of their own, so
that what is spilled has live ranges too.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator

from triton_runner import _core
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.walk import reached

UNIFORM, PREDICATE, UNIFORM_PREDICATE = 256, 512, 768  # register numbers from there on: UR0, P0, UP0
_STACK = 1  # R1, the address of the stack frame: kept to the end
SLOT = 1 << 16  # and slots of the stack frame, by the number of the 4-byte word
_LABEL = re.compile(r"^\s*(\.L_\w+|[\w$.]+):\s*$")
_TARGET = re.compile(r"`\(([^)]+)\)")
_GUARD = re.compile(r"^@(!?)(U?P\w)\s+")
_FRAME = re.compile(r"\[R1(?:\.U32)?(?:\+(-?0x[0-9a-f]+))?\]")
_ENDS = {"EXIT", "RET", "KILL", "BRX", "BRXU", "JMX", "JMXU"}
_BANKS = ("GPR", "PRED", "UGPR", "UPRED")
_FROM = {"GPR": 0, "PRED": PREDICATE, "UGPR": UNIFORM, "UPRED": UNIFORM_PREDICATE}
_ROW = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/.*?// \|(.*)\|\s*$")


@dataclasses.dataclass(frozen=True)
class Instruction:
    """An instruction of machine code: `always`, whether it has no guard; `targets`: the instructions that it
    may jump to, `falls`: whether the next one may follow."""

    address: int
    text: str
    name: str
    ptx_line: int
    program: str
    reads: frozenset[int]
    writes: frozenset[int]
    always: bool
    targets: tuple[int, ...]
    falls: bool


@dataclasses.dataclass(frozen=True)
class Loop:
    """`head`: the instruction that a loop's rounds begin with; `last`: the one that jumps back."""

    head: int
    last: int
    body: frozenset[int] = dataclasses.field(repr=False)


class Code:
    """A kernel's instructions, with the control flow between them, and its live ranges."""

    def __init__(self, listing: str, kernel: str):
        decoded = _core.sass_instructions(listing, kernel)
        labels = _labels(listing, decoded)
        self.instructions = [_instruction(i, one, labels) for i, one in enumerate(decoded)]
        self.following = [self._following(i) for i in range(len(decoded))]
        self._return()
        self.before: list[list[int]] = [[] for _ in decoded]
        for i, others in enumerate(self.following):
            for other in others:
                self.before[other].append(i)

    def _following(self, i: int) -> list[int]:
        one = self.instructions[i]
        falls = [i + 1] if one.falls and i + 1 < len(self.instructions) else []
        return [*one.targets, *(other for other in falls if other not in one.targets)]

    def _return(self) -> None:
        """What a function's RET goes on with: what follows the calls of it."""
        for i, one in enumerate(self.instructions):
            if one.name != "CALL":
                continue
            for target in one.targets:
                for end in self._reached(target):
                    if self.instructions[end].name == "RET" and i + 1 < len(self.instructions):
                        self.following[end].append(i + 1)

    def _reached(self, start: int) -> Iterator[int]:
        """The instructions of a function, without what those that it calls reach."""

        def following(at: int) -> list[int]:
            name = self.instructions[at].name
            after = [at + 1] if name == "CALL" else [] if name == "RET" else self.following[at]
            return [other for other in after if other < len(self.instructions)]

        return reached([start], following)

    @functools.cached_property
    def needed(self) -> list[frozenset[int]]:
        """What is live before each instruction."""
        count = len(self.instructions)
        needed: list[frozenset[int]] = [frozenset()] * count
        waiting, queued = list(range(count)), [True] * count
        while waiting:
            i = waiting.pop()  # from the last on: most of it is right at once
            queued[i] = False
            one = self.instructions[i]
            after = frozenset().union(*(needed[other] for other in self.following[i]))
            now = (after - one.writes if one.always else after) | one.reads
            if now != needed[i]:
                needed[i] = now
                for other in self.before[i]:
                    if not queued[other]:
                        queued[other] = True
                        waiting.append(other)
        return needed

    @functools.cached_property
    def live(self) -> list[frozenset[int]]:
        """What takes a register at each instruction, as nvdisasm counts: what is live before it, and what it
        writes."""
        return [needed | one.writes for needed, one in zip(self.needed, self.instructions, strict=True)]

    def definitions(self, register: int, i: int) -> list[int]:
        """The instructions that may have given what a register has before an instruction."""

        def before(at: int) -> list[int]:
            one = self.instructions[at]
            return [] if one.always and register in one.writes else self.before[at]

        found = reached(self.before[i], before)
        return sorted(at for at in found if register in self.instructions[at].writes)

    def uses(self, register: int, i: int) -> list[int]:
        """The instructions that read what a register has before an instruction, it among them."""

        def following(at: int) -> list[int]:
            one = self.instructions[at]
            if one.always and register in one.writes:
                return []
            return [other for other in self.following[at] if register in self.needed[other]]

        found = {i, *reached(following(i), following)}
        return sorted(at for at in found if register in self.instructions[at].reads)

    @functools.cached_property
    def loops(self) -> list[Loop]:
        """The loops: of each jump back, to an instruction on the way to it, what reaches it from there."""
        bodies: dict[int, tuple[set[int], int]] = {}
        for end, head in self._jumps_back():
            if end == head:
                continue  # where a kernel's code ends, and threads wait for ever
            body, last = bodies.get(head, ({head}, end))
            came = reached([end], lambda at, body=body: [i for i in self.before[at] if i not in body])
            bodies[head] = body.union(came), max(last, end)
        found = [Loop(head, last, frozenset(body)) for head, (body, last) in bodies.items()]
        return sorted(found, key=lambda loop: -len(loop.body))

    def _jumps_back(self) -> list[tuple[int, int]]:
        """(from, to) of the edges that lead to an instruction on the way to them, depth first."""
        found, state = [], {0: 1} if self.instructions else {}
        ways = [(0, iter(self.following[0]))] if state else []
        while ways:
            at, others = ways[-1]
            other = next(others, None)
            if other is None:
                state[at] = 2
                ways.pop()
            elif other not in state:
                state[other] = 1
                ways.append((other, iter(self.following[other])))
            elif state[other] == 1:
                found.append((at, other))
        return found

    def loops_of(self, i: int) -> list[Loop]:
        """The loops that an instruction is in, the outermost first."""
        return [loop for loop in self.loops if i in loop.body]


def _labels(listing: str, decoded: list[dict]) -> dict[str, int]:
    """The number of the instruction that follows each label."""
    lines = [one["line"] for one in decoded]
    if not lines:
        return {}
    labels, at = {}, 0
    for number, text in enumerate(listing.splitlines()[: lines[-1]], 1):
        while at < len(lines) and lines[at] < number:
            at += 1
        if (match := _LABEL.match(text)) and at < len(lines):
            labels[match[1]] = at
    return labels


def _instruction(i: int, one: dict, labels: dict[str, int]) -> Instruction:
    guard = _GUARD.match(one["text"])
    always = guard is None or (guard[2] in ("PT", "UPT") and not guard[1])
    name, text = one["name"], one["text"]
    target = _TARGET.search(text)
    target = labels.get(target[1]) if target else None
    targets = (target,) if target is not None and name in ("BRA", "CALL", "WARPSYNC") else ()
    conditional = not always or (name == "BRA" and _has_condition(text))
    falls = conditional or (name not in _ENDS and name != "BRA" and not (name == "CALL" and targets))
    reads, writes = set(one["reads"]), set(one["writes"])
    if name in ("STL", "LDL") and (slots := _slots(text)):
        (writes if name == "STL" else reads).update(slots)
    if name in ("EXIT", "RET") or target == i:
        reads.add(_STACK)
    return Instruction(
        one["address"], text, name, one["ptx_line"], one["program"], frozenset(reads), frozenset(writes),
        always, targets, falls,
    )  # fmt: skip


def _has_condition(text: str) -> bool:
    """Of a BRA: whether an operand beside its guard says who jumps."""
    operands = re.sub(r"^@\S+\s+", "", text).partition(" ")[2].split(",")
    return len(operands) > 1 or ".DIV" in text or ".CONV" in text or ".ANY" in text


def _slots(text: str) -> list[int]:
    """The words of the stack frame that a load or a store of a register takes; none where its address is
    computed."""
    match = _FRAME.search(text)
    if match is None:
        return []
    first = int(match[1] or "0", 16) // 4
    mnemonic = re.sub(r"^@\S+\s+", "", text).split()[0].split(".")
    size = 4 if "128" in mnemonic else 2 if "64" in mnemonic else 1
    return [SLOT + first + k for k in range(size)]


def bank(register: int) -> str:
    """ "R", "UR", "P", "UP" or "slot"."""
    if register >= SLOT:
        return "slot"
    return next(
        name
        for name, first in (("UP", UNIFORM_PREDICATE), ("P", PREDICATE), ("UR", UNIFORM), ("R", 0))
        if register >= first
    )


def name_of(register: int) -> str:
    kind = bank(register)
    first = {"UP": UNIFORM_PREDICATE, "P": PREDICATE, "UR": UNIFORM, "R": 0, "slot": SLOT}[kind]
    return f"[R1+{4 * (register - SLOT):#x}]" if kind == "slot" else f"{kind}{register - first}"


# --- what nvdisasm says


def of_nvdisasm(cubin: bytes, kernel: str) -> dict[int, frozenset[int]] | None:
    """{address: the registers that are live at the instruction}, by `nvdisasm -plr`; None where none of this
    machine's prints live ranges of this cubin."""
    try:
        return parse(tools.disassembly(cubin, "-plr"), kernel)
    except DiagnosticError:
        return None


def parse(text: str, kernel: str) -> dict[int, frozenset[int]] | None:
    """The live ranges in what `nvdisasm -plr -c` prints. None: there are none."""
    result, banks, heads, inside = {}, None, [], False
    for line in text.splitlines():
        if line.startswith("//----") and ".text." in line:
            inside, banks, heads = line.split()[1] == f".text.{kernel}", None, []
        if not inside or "// |" not in line:
            continue
        cells = line.partition("// |")[2].rstrip().rstrip("|").split("|")
        if (row := _ROW.match(line)) and banks:
            result[int(row[1], 16)] = frozenset(
                number
                for (first, columns), cell in zip(banks, cells, strict=True)
                for number in _marked(columns, cell, first)
            )
        elif any(cell.strip() in _BANKS for cell in cells):
            heads = [cell.strip() for cell in cells]
        elif heads and "#" in line:
            banks = [(_FROM[name], cell) for name, cell in zip(heads, cells, strict=True)]
    return result or None


def _marked(head: str, cell: str, first: int):
    """The registers of a bank that are marked in a cell, under the numbers of the head."""
    for match in re.finditer(r"\d+", head):
        part = cell[match.start() : match.end()]
        if part.strip():
            yield first + int(match[0])
