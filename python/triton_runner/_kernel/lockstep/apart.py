"""Finds where machine code and PTX part: the first instruction with another result from the same operands.

Both run once more from the same inputs, and what each instruction leaves in registers is kept. From the
store of the element that differs, the walk goes back through the machine code's registers to what does not
have a value of the PTX. What it comes to is tried: the machine code runs with the PTX's value in the place
of what an instruction gives. An instruction is named as the first that differs only where its operands have
values of the PTX, its result does not, and with the PTX's value there the machine code is right.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
import time

from triton_runner import _core
from triton_runner._code.walk import reached
from triton_runner._kernel.lockstep.sides import Column, Machine, Ptx, has

SECONDS = 20  # that experiments may take
MOST = 60  # experiments
_JUMPS = 20  # predicates of jumps, the first that a thread comes to
_PARTS = 5  # instructions of the PTX in a row that become one
_COMPARISON = re.compile(r"set(?:p)?\.(lt|gt|le|ge|eq|ne)u?\b")
_END = 1 << 62  # after all that a thread did
_OFF_CHIP = ("global", "generic")


@dataclasses.dataclass(frozen=True)
class Store:
    """The store of the element that differs: its program, a thread of it, the element's address, the line of
    the instruction in the listing. 0: the machine code does not store it; then ptx_line is that of the PTX's
    own store."""

    program: tuple
    thread: tuple
    address: int
    line: int
    ptx_line: int


@dataclasses.dataclass(frozen=True)
class Parting:
    """An instruction of the machine code; is_first: its operands have values of the PTX, its result does not,
    and with the PTX's value in its place the machine code is right; else it is near. said: what is shown."""

    instruction: _core.sass.Instruction
    is_first: bool = False
    said: str = ""


@dataclasses.dataclass(eq=False)
class _Node:
    """Register `register` as instruction `at` left it; inputs: the nodes of what it was made of. stored: what
    an instruction that stores reads from the register, before it."""

    at: int
    register: int
    when: int
    thread: int
    stored: bool = False
    inputs: list = dataclasses.field(default_factory=list)
    right: bool = False
    is_operand: bool = True  # the line of what reads it is made of its line
    helped_by: tuple | None = None  # (line of the PTX, thread, got, want)


class Walk:
    """stops: the machine code stops at the thread. run(observer): whether a launch of it under an observer is
    right."""

    def __init__(self, machine: Machine, ptx: Ptx, kernel: str, program, thread: int, stops: bool, run):
        self.machine, self.ptx, self.kernel, self.program = machine, ptx, kernel, program
        self.thread, self.stops, self.run = thread, stops, run
        self.nodes: dict[tuple, _Node] = {}
        self.helping: dict[tuple, tuple | None] = {}
        self.operands: dict[int, set[int]] = {}
        self.lines = {one.ptx_line for one in machine.instructions}
        self.tried, self.until = 0, time.monotonic() + SECONDS

    def parting(self, stores: list[int]) -> Parting | None:
        """stores: instructions that store the element, or that ought to; or the one that stops."""
        starts = [node for at in stores for node in self._stored(at)]
        found = self._search(starts) or self._search(self._jumps()[:_JUMPS])
        if found:
            return self._named(found)
        starts = starts or [node for jump in self._jumps()[-1:] for node in (jump, *self._expand(jump))]
        nearest = next((one for node in starts for one in node.inputs if not one.right), None)
        nearest = nearest or next((one for node in starts for one in node.inputs), None)
        said = "what is stored, or where, comes from it; no value of the PTX was found that makes it right"
        return Parting(self.machine.instructions[nearest.at], False, said) if nearest else None

    # ---- the graph

    def _node(self, at: int, register: int, when: int, thread: int, reader: int) -> _Node:
        """reader: the instruction that reads the register."""
        if (node := self.nodes.get((at, register, reader))) is None:
            node = self.nodes[at, register, reader] = _Node(at, register, when, thread)
            node.right = self._is_right(node, reader)
            giving = [i for i in self._of_line(at) if self.ptx.words.get(i)]
            wanted = self._operands(reader) | set(self._of_line(reader))
            node.is_operand = not giving or not wanted or bool(wanted.intersection(giving))
        return node

    def _expand(self, node: _Node) -> list[_Node]:
        if not node.inputs and not node.stored:
            node.inputs = self._made_of(node.at, node.when, node.thread)
        return node.inputs

    def _made_of(self, at: int, when: int, thread: int) -> list[_Node]:
        instruction, result = self.machine.instructions[at], []
        for register in self.machine.reads[at]:
            if (made := self.machine.maker(register, when, thread)) is not None:
                result.append(self._node(made[1], register, made[0], thread, at))
        if _loads(instruction):
            for other, one in enumerate(self.machine.instructions):
                came = self.machine.last(other, thread) if _may_give(one, instruction.space) else None
                if came and came[0] < when and other != at:
                    result += self._made_of_store(other, *came)
        return list(dict.fromkeys(result))

    def _made_of_store(self, at: int, when: int, thread: int) -> list[_Node]:
        if ("store", at) not in self.nodes:
            self.nodes["store", at] = None  # of a loop that loads what it stored
            self.nodes["store", at] = self._made_of(at, when, thread)
        return self.nodes["store", at] or []

    def _stored(self, at: int) -> list[_Node]:
        """Returns what a store reads, the value first."""
        came = self.machine.last(at, self.thread)
        if came is None and not self.stops:
            return []
        came, result = came or (_END, self.thread), []
        for register in reversed(self.machine.reads[at]):
            if (made := self.machine.maker(register, *came)) is not None:
                node = _Node(at, register, *came, stored=True)
                node.inputs = [self._node(made[1], register, made[0], came[1], at)]
                result.append(node)
        return result

    def _jumps(self) -> list[_Node]:
        """Predicates that decide where the thread goes, in the order in which it came to them."""
        result = []
        for when, at in self.machine.came(self.thread):
            instruction = self.machine.instructions[at]
            if any(instruction.does(word) for word in ("branches", "ends", "leaves")):
                result += self._made_of(at, when, self.thread)
        return list(dict.fromkeys(result))

    # ---- what is right

    def _is_right(self, node: _Node, reader: int) -> bool:
        """Returns whether it has a value of the PTX that the reader's line is made of: that of its own line,
        or one that is made of it (a part of what became one instruction), or any where its line gives
        none."""
        column = self.machine.columns.get((node.at, node.register))
        if column is None:
            return False
        own, of_reader = self._of_line(node.at), self._of_line(reader)
        needed = self._operands(reader) | set(of_reader)
        if any(self._has(node, i) for i in own if i in needed):
            return True
        if not self.machine.reads[node.at]:
            values = set(column.values[:1024].tolist())
            giving = any(self.ptx.words.get(i) for i in own)
            if len(values) == 1 and not giving and any(values <= self.ptx.numbers(i) for i in needed):
                return True  # a number of the text
            if giving and not needed.intersection(own):
                return False
            return any(has(column, word) for i in needed for word in self.ptx.words.get(i, ()))
        if column.bytes == 0 or not column.is_telling:
            return False
        giving = [i for i in own if self.ptx.words.get(i)]
        among = needed & set(self.ptx.below(giving, 3)) if giving else needed
        return any(has(column, self.ptx.words[i][k]) for i, k in self.ptx.with_first(column) if i in among)

    def _has(self, node: _Node, i: int) -> bool:
        """Returns whether a node has a value of an instruction of the PTX; a predicate, or the opposite."""
        column = self.machine.columns[node.at, node.register]
        ways = _ways(column)
        if column.bytes == 0:
            is_same = _compares_alike(
                str(self.machine.instructions[node.at]), self.ptx.instructions[i].opcode
            )
            if is_same is None and len(set(column.values.tolist())) < 2:
                return False  # a predicate that is always so may be either
            ways = ways if is_same is None else ways[:1] if is_same else ways[1:]
        return any(has(way, word) for way in ways for word in self.ptx.words.get(i, ()))

    def _operands(self, at: int) -> set[int]:
        """The instructions of the PTX that give one of the machine code its operands: those of its lines;
        of such as have no machine code of their own, which are a part of it, their operands."""
        if at not in self.operands:
            own = self._of_line(at)
            now, found = [*own, *filter(self._is_part, self.ptx.below(own, 2))], set()
            for _ in range(_PARTS):
                now = [m for i in now for m in self.ptx.given(i, self.thread) if m not in found]
                found.update(now)
                now = [i for i in now if self._is_part(i) or i in own]
            self.operands[at] = found
        return self.operands[at]

    def _is_part(self, i: int) -> bool:
        """Returns whether an instruction of the PTX has no machine code of its own: it is a part of
        another."""
        return self.ptx.instructions[i].line not in self.lines

    def _of_line(self, at: int) -> list[int]:
        """The instructions of the PTX that one of the machine code was made from."""
        return self.ptx.of_line.get(self.machine.instructions[at].ptx_line, [])

    # ---- experiments

    def _search(self, starts: list[_Node]) -> list[_Node]:
        """The nodes that help and have none above them that does, those that may be shown to be first before
        others."""
        waiting, seen, helping = collections.deque(starts), set(), []
        while waiting and self.tried < MOST and time.monotonic() < self.until:
            node = waiting.popleft()
            if id(node) in seen or (node.right and not node.stored):
                continue
            seen.add(id(node))
            if not node.is_operand:
                continue  # what reads it ought to read something else
            if helps := not node.right and self._helps(node):
                helping.append(node)
            above = [one for one in self._expand(node) if not one.right]
            waiting.extendleft(reversed(above)) if helps else waiting.extend(above)
        places = {(node.at, node.register) for node in helping}
        first = {
            (node.at, node.register): node
            for node in helping
            if not any((n.at, n.register) in places for n in self._above(node))
        }
        return sorted(first.values(), key=lambda node: not self._is_meant(node, node.helped_by[0]))

    def _above(self, node: _Node) -> list[_Node]:
        """Returns what a node was made of, as far as the walk went."""
        found = reached(node.inputs, lambda one: () if one is node else one.inputs)
        return [one for one in found if (one.at, one.register) != (node.at, node.register)]

    def _helps(self, node: _Node) -> bool:
        key = node.at, node.register, node.stored
        if key not in self.helping:
            self.helping[key] = self._tried(node)
        node.helped_by = self.helping[key]
        return node.helped_by is not None

    def _tried(self, node: _Node) -> tuple | None:
        """(line of the PTX, thread, got, want) of the first number that helps in a node's place."""
        for line, places, values in self._proposals(node):
            self.tried += 1
            observer = _core.probe.RegisterSubstitution(self.kernel, places, self.program, values)
            if self.run(observer):
                return line, *self._numbers_of(node, values, places)
            if self.tried >= MOST:
                break
        return None

    def _numbers_of(self, node: _Node, values, places) -> tuple:
        """(thread, got, want) of the first number that was put in the place of another."""
        column = self.machine.columns.get((node.at, node.register))
        given = values[places[0][2].index(node.register)]
        for thread, own in column.by_thread.items() if column is not None else ():
            for got, want in zip(own, given.get(thread, ()), strict=False):
                if got != want:
                    return thread, got, want
        return 0, None, None

    def _proposals(self, node: _Node):
        """(line of the PTX, places, numbers for them) to try in the place of a node."""
        column = self.machine.columns.get((node.at, node.register))
        registers = self._registers(node)
        for i in self._candidates(node)[:6]:
            words = self.ptx.words.get(i, [])
            line = self.ptx.instructions[i].line
            if len(words) == len(registers) > 1 and not node.stored:
                yield line, [(node.at, True, registers)], [word.by_thread for word in words]
                continue
            for word in words[:4]:
                if (node.register >= 512) != (word.bytes == 0) or word.bytes in (1, 2):
                    continue
                for way in _ways(word):
                    for places in self._places(node, column, way):
                        yield line, places, [_as_often(way, column)]

    def _registers(self, node: _Node) -> list[int]:
        return [register for register in self.machine.writes[node.at] if register < 512]

    def _places(self, node: _Node, column: Column | None, word: Column):
        """The instruction, or all those that unrolling made of it."""
        own = (node.at, not node.stored, [node.register])
        if node.stored or column is None or len(column.values) == len(word.values):
            return [[own]]
        this = self.machine.instructions[node.at]
        copies = []
        for at, other in enumerate(self.machine.instructions):
            alike = other.ptx_line == this.ptx_line and other.name == this.name
            mine, theirs = self.machine.writes[node.at], self.machine.writes[at]
            if alike and this.ptx_line and len(mine) == len(theirs):
                copies.append((at, True, [theirs[mine.index(node.register)]]))
        number = sum(len(self.machine.columns[at, r[0]].values) for at, _, r in copies if
        (at, r[0]) in self.machine.columns)  # fmt: skip
        return [copies] if number == len(word.values) else [[own]]

    def _candidates(self, node: _Node) -> list[int]:
        """Instructions of the PTX whose value it may be meant to have."""
        own = self._of_line(node.at)
        makers = [m for i in own for name in self.ptx.instructions[i].sources for m in self.ptx.makers[name]]
        giving = [i for i in own if self.ptx.words.get(i)]
        if node.stored or not giving:
            return list(dict.fromkeys(reversed(makers)))
        return list(dict.fromkeys([*giving, *self.ptx.below(giving, 2), *makers]))

    # ---- what is said

    def _named(self, found: list[_Node]) -> Parting:
        """Returns what is shown of the first of the nodes that help: others may be at fault as well."""
        node = found[0]
        others = [n.at for n in [*found[1:], *(n for n in self._expand(node) if not n.right)]]
        others = list(dict.fromkeys(at for at in others if at != node.at))
        line, thread, got, want = node.helped_by
        made = f"line {line} of the PTX gives another value"
        if want is not None:
            made = f"it gives {got:#010x} in thread {thread}, line {line} of the PTX {want:#010x}"
        if node.stored:
            made = f"it stores something else than line {line} of the PTX gives"
        unmade = self._unmade(node)
        is_first = not others and not unmade and not node.stored and self._is_meant(node, line)
        if is_first:
            said = f"from operands that have the PTX's values {made}; with these the machine code is right"
        elif unmade:
            said = f"{made}; with these the machine code is right, but it reads {unmade}, which nothing wrote"
        else:
            said = (
                f"{made}; with these the machine code is right, but what gives its operands may be at fault"
            )
        beside = [str(self.machine.instructions[at]) for at in [*others, *self._instead(node, line)][:4]]
        said += f": {', '.join(beside)}" if beside and not is_first else ""
        return Parting(self.machine.instructions[node.at], is_first, said)

    def _is_meant(self, node: _Node, line: int) -> bool:
        """Returns whether the value of a line is what an instruction is to give: its own, of which it is the
        last, or one that it is a part of; and none of its own lines has what it gives."""
        own = self._of_line(node.at)
        meant = [*own, *filter(self._is_part, self.ptx.below(own, 2))]
        column = self.machine.columns.get((node.at, node.register))
        is_own = column is None or any(self._has(node, i) for i in own)
        of_line = self.machine.instructions[node.at].ptx_line
        last = max(i for i, one in enumerate(self.machine.instructions) if one.ptx_line == of_line)
        return not is_own and node.at == last and line in {self.ptx.instructions[i].line for i in meant}

    def _instead(self, node: _Node, line: int) -> list[int]:
        """Returns what gives operands of its line, and not to it, or what helps in its place."""
        lines = {self.ptx.instructions[i].line for i in self.ptx.above(self._of_line(node.at), 1)} | {line}
        read = {one.at for one in node.inputs}
        return [
            at
            for at, one in enumerate(self.machine.instructions)
            if one.ptx_line in lines and self.machine.writes[at] and at not in read and at != node.at
        ]

    def _unmade(self, node: _Node) -> str:
        """The name of a register that an instruction reads and no instruction has written."""
        for register in self.machine.reads[node.at]:
            if self.machine.maker(register, node.when, node.thread) is None and node.when:
                return _core.sass.register_name(register)
        return ""


def _loads(one) -> bool:
    """Returns whether an instruction gives what lies in memory."""
    return one.access in ("load", "atomic")


def _may_give(one, space: str) -> bool:
    """Returns whether a load of that space may find what an instruction leaves in memory."""
    if one.access == "copy":
        return space == "shared"
    leaves = one.access in ("store", "atomic", "reduction")
    return leaves and (one.space == space or (one.space in _OFF_CHIP and space in _OFF_CHIP))


def _ways(column: Column) -> list[Column]:
    """A predicate, and its opposite; else the column."""
    return [column, column.changed(lambda v: v ^ 1)] if column.bytes == 0 else [column]


def _compares_alike(sass: str, opcode: str) -> bool | None:
    """Returns whether two comparisons give the same predicate, whichever operand stands first; else the
    opposite. None: one of them does not compare."""
    kinds = {"lt": 0, "gt": 0, "le": 1, "ge": 1, "eq": 2, "ne": 3}
    found = [_COMPARISON.search(text.lower()) for text in (sass, opcode)]
    if not all(found):
        return None
    one, other = (kinds[match[1]] for match in found)
    return one == other if one // 2 == other // 2 else None


def _as_often(word: Column, column: Column | None) -> dict[int, list[int]]:
    """The numbers by thread; of one that never changes, as many as the machine code comes there."""
    values = word.by_thread
    if column is None:
        return values
    result = {}
    for thread, numbers in values.items():
        often = len(column.by_thread.get(thread, ()))
        result[thread] = numbers[:1] * often if len(set(numbers)) == 1 and often > len(numbers) else numbers
    return result


def parting(launch, listing: str, store: Store, run) -> Parting | None:
    """Finds where a launch's machine code parts from its PTX. run(level, observer): the launch under an
    observer, and whether the element is right then. None: the launch is too long to be looked at, its blocks
    are in clusters, or its store was not found."""
    program = tuple(int(x) for x in store.program)
    of_machine = _core.probe.trace_machine(listing, launch.name, [program], True)
    of_ptx = _core.probe.trace_ptx(launch.texts["ptx"], "kernel.ptx", launch.name, [program])
    run("cubin", of_machine)
    run("ptx", of_ptx)
    if of_machine.is_full or of_ptx.is_full:
        return None
    machine, ptx = Machine(listing, launch.name, of_machine), Ptx(launch.texts["ptx"], launch.name, of_ptx)
    if math.prod(launch.cluster or ptx.cluster or (1,)) > 1:
        return None
    block = (*(launch.block or ptx.block or (1024,)), 1, 1)
    x, y, z = store.thread or (0, 0, 0)
    at, thread = machine.storing(store.address) or (None, x + block[0] * (y + block[1] * z))
    if at is None:
        at = next((i for i, one in enumerate(machine.instructions) if one.line == store.line > 0), None)
    stores = [at] if at is not None else [
        i for i, one in enumerate(machine.instructions)
        if any(one.does(word) for word in ("writes", "updates", "copies"))
        and not machine.writes[i] and one.ptx_line == store.ptx_line
    ]  # fmt: skip
    walk = Walk(
        machine, ptx, launch.name, program, thread, not store.address, lambda it: run("cubin", it)
    )  # fmt: skip
    return walk.parting(stores)
