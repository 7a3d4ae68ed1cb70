"""Records the data flow of a launch at PTX and in machine code, side by side: what each instruction left in
registers, thread by thread, and whether a register of the machine code had the values of one of the PTX."""

from __future__ import annotations

import collections
import functools
import re

import numpy

from triton_runner import _core

TELLING = 8  # so many different numbers are not met by chance
_NEAR = 6  # instructions of the PTX between one and what it is made of
_WIDTHS = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2}
_THREAD = numpy.uint64(32)
_UNIFORM, _PREDICATE = 256, 512  # register numbers from there on


class Column:
    """The values that threads had in one register, or in 32 bits of it, one number after the other."""

    def __init__(self, threads, orders, values, bytes_: int = 4):
        sorted_ = numpy.lexsort((orders, threads))
        self.threads, self.orders, self.values = threads[sorted_], orders[sorted_], values[sorted_]
        self.bytes = bytes_  # 0: a predicate
        self.keys = (self.threads << _THREAD) | (self.values & numpy.uint64(0xFFFFFFFF))

    @functools.cached_property
    def known(self):
        return numpy.unique(self.keys)

    @functools.cached_property
    def counts(self):
        return numpy.unique(self.threads, return_counts=True)

    @functools.cached_property
    def is_telling(self) -> bool:
        return len(numpy.unique(self.values)) >= TELLING

    @functools.cached_property
    def by_thread(self) -> dict[int, list[int]]:
        threads, first = numpy.unique(self.threads, return_index=True)
        if not len(threads):
            return {}
        parts = numpy.split(self.values, first[1:])
        return {int(thread): part.tolist() for thread, part in zip(threads, parts, strict=True)}

    def changed(self, change) -> Column:
        return Column(self.threads, self.orders, change(self.values), self.bytes)


def has(machine: Column, ptx: Column) -> bool | None:
    """Returns whether the machine code's numbers are those of the PTX: in each thread the same, one after the
    other; of code that runs more or less often than its PTX (unrolled, moved out of a loop), whether each is
    one of them. None: of predicates that cannot be said then."""
    if (machine.bytes == 0) != (ptx.bytes == 0):
        return False
    if 0 < ptx.bytes < 4:
        mask = numpy.uint64((1 << 8 * ptx.bytes) - 1)
        machine, ptx = machine.changed(lambda v: v & mask), ptx.changed(lambda v: v & mask)
    threads, counts = machine.counts
    there = numpy.isin(ptx.threads, threads)
    if len(there) and there.sum() == len(machine.threads):
        others, other_counts = numpy.unique(ptx.threads[there], return_counts=True)
        if len(others) == len(threads) and (others == threads).all() and (other_counts == counts).all():
            return bool((machine.keys == ptx.keys[there]).all())
    if machine.bytes == 0:
        return None
    return bool(numpy.isin(machine.known, ptx.known).all())


class Ptx:
    """The PTX's side: by instruction, the words that it left, the lowest 32 bits of a register first."""

    def __init__(self, text: str, kernel: str, trace):
        function = _core.ptx.parse(text, "kernel.ptx").function(kernel)
        self.instructions, self.cluster = function.instructions, function.cluster
        self.block = function.reqntid or function.maxntid
        names = function.registers
        self.words: dict[int, list[Column]] = collections.defaultdict(list)
        self.makers, self.users = collections.defaultdict(list), collections.defaultdict(list)
        self.of_line = collections.defaultdict(list)
        for i, instruction in enumerate(self.instructions):
            self.of_line[instruction.line].append(i)
            for name in instruction.results:
                self.makers[name].append(i)
            for name in instruction.sources:
                self.users[name].append(i)
        for site, (at, _, registers) in enumerate(trace.sites):
            own = [names[r][0] for r in registers]
            i = next((i for i in range(at, -1, -1) if self.instructions[i].results == own), at)
            for k, register in enumerate(registers):
                self.words[i] += _words(*trace.numbers(site, k), names[register][1])
        self._index()

    @functools.cache  # noqa: B019
    def numbers(self, i: int) -> set[int]:
        """Returns the numbers that stand in an instruction, in 32 bits each, and what shifts and products
        make of them."""
        return _literals(self.instructions[i].operands)

    def _index(self) -> None:
        """By thread and number, which words had it."""
        self.all = [(i, k) for i, words in self.words.items() for k in range(len(words))]
        keys = [self.words[i][k].known for i, k in self.all]
        self._keys = numpy.concatenate(keys) if keys else numpy.zeros(0, numpy.uint64)
        of = numpy.repeat(numpy.arange(len(keys)), [len(one) for one in keys])
        sorted_ = numpy.argsort(self._keys, kind="stable")
        self._keys, self._of = self._keys[sorted_], of[sorted_]

    def with_first(self, column: Column) -> list[tuple[int, int]]:
        """(instruction, word) of those that may have a column's numbers."""
        low, high = (
            numpy.searchsorted(self._keys, column.keys[0], "left"),
            numpy.searchsorted(self._keys, column.keys[0], "right"),
        )
        return [self.all[one] for one in self._of[low:high]]

    def above(self, start: list[int], depth: int = _NEAR) -> set[int]:
        """Returns what instructions are made of."""
        return self._reached(
            start, depth, lambda i: self._of_names(self.makers, self.instructions[i].sources)
        )

    def given(self, i: int, thread: int) -> list[int]:
        """Returns what gave an instruction its operands in a thread, when it came there for the last time."""
        came, result = self._last(i, thread), []
        came = came if came >= 0 else 1 << 62  # it did not come there: the last of all
        for name in self.instructions[i].sources:
            makers = self.makers[name]
            if len(makers) > 1 and i not in makers:
                makers = sorted(makers, key=lambda m: self._last(m, thread, came))[-1:]
            result += makers
        return result

    def _last(self, i: int, thread: int, before: int = 1 << 62) -> int:
        """When a thread came to an instruction for the last time before another; -1: it did not."""
        for word in self.words.get(i, ())[:1]:
            orders = word.orders[word.threads == numpy.uint64(thread)]
            return int(orders[orders < numpy.uint64(before)].max(initial=0)) if len(orders) else -1
        return 1 << 62 if not self.words.get(i) else -1

    def below(self, start: list[int], depth: int) -> list[int]:
        """Returns what is made of them, the nearest first."""
        reached = self._reached(
            start, depth, lambda i: self._of_names(self.users, self.instructions[i].results)
        )
        return sorted(reached)

    @staticmethod
    def _of_names(which, names) -> list[int]:
        return [i for name in names for i in which[name]]

    @staticmethod
    def _reached(start, depth, following) -> set[int]:
        seen, now = set(), list(start)
        for _ in range(depth):
            now = [j for i in now for j in following(i) if j not in seen]
            seen.update(now)
        return seen


def _words(threads, orders, values, type_: str) -> list[Column]:
    if type_ == "pred":
        return [Column(threads, orders, values, 0)]
    if type_.endswith("64"):
        low = values & numpy.uint64(0xFFFFFFFF)
        return [Column(threads, orders, low), Column(threads, orders, values >> _THREAD)]
    return [Column(threads, orders, values, _WIDTHS.get(type_, 4))]


def _literals(operands: list[str]) -> set[int]:
    found = {0}
    for text in re.findall(r"(?<![%\w])(?:0[fdFD][0-9a-fA-F]+|0x[0-9a-fA-F]+|\d+)", " ".join(operands)):
        value = int(text[2:], 16) if text[1:2] in "fdFDx" and len(text) > 2 else int(text)
        made = value, value >> 32, -value, 1 << value % 64
        found |= {number & 0xFFFFFFFF for number in made}
    return found


class Machine:
    """The machine code's side: its instructions, what each left in registers, and which of them a thread came
    to one after the other."""

    def __init__(self, listing: str, kernel: str, trace):
        self.instructions = _core.sass.parse_kernel(listing, kernel).instructions
        self.writes = [one.writes for one in self.instructions]
        self.reads = [
            [r for r in one.reads if r not in one.descriptor_registers]  # which are no value of the PTX
            for one in self.instructions
        ]
        self.columns: dict[tuple[int, int], Column] = {}
        self.read: dict[tuple[int, int], tuple] = {}  # what instructions that write no register read
        events = {}
        for site, (at, after, registers) in enumerate(trace.sites):
            if not after and self.writes[at]:
                continue  # what a guarded one left in the other threads
            for k, register in enumerate(registers):
                threads, orders, values = trace.numbers(site, k)
                if after and len(threads):
                    is_predicate = register >= _PREDICATE
                    self.columns[at, register] = Column(threads, orders, values, 0 if is_predicate else 4)
                elif not after and len(threads):
                    self.read[at, register] = threads, orders, values
                events[at] = (threads, orders)
        self._events = events

    @functools.cache  # noqa: B019
    def came(self, thread: int) -> list[tuple[int, int]]:
        """(when, instruction) of a thread, in order."""
        return sorted(
            (int(order), at)
            for at, (threads, orders) in self._events.items()
            for order in orders[threads == numpy.uint64(thread)]
        )

    def last(self, at: int, thread: int) -> tuple[int, int] | None:
        """(when, the thread) that a thread, or else any, came to an instruction for the last time."""
        threads, orders = self._events.get(at, ((), ()))
        if not len(threads):
            return None
        own = orders[threads == numpy.uint64(thread)]
        if len(own):
            return int(own.max()), thread
        return int(orders[-1]), int(threads[-1])

    def maker(self, register: int, before: int, thread: int) -> tuple[int, int] | None:
        """(when, instruction) that gave what a register of a thread had at a time."""
        found = None
        for order, at in self.came(thread):
            if order >= before:
                break
            if register in self.writes[at]:
                found = order, at
        return found

    def storing(self, address: int) -> tuple[int, int] | None:
        """(instruction, thread) of the last store to an address of global memory."""
        found = None
        for at, one in enumerate(self.instructions):
            stores = one.access == "store" and one.space in ("global", "generic")
            own = [r for r in one.address_registers if r < _UNIFORM] if stores else []
            low, high = (self.read.get((at, own[0] + k)) if own else None for k in (0, 1))
            if low is None or high is None or len(own) < len(one.address_registers):
                continue
            first = low[2] + (high[2] << _THREAD) + numpy.uint64(one.offset % (1 << 64))
            for i in numpy.flatnonzero((first <= address) & (address < first + numpy.uint64(one.bytes))):
                if found is None or low[1][i] > found[0]:
                    found = low[1][i], at, int(low[0][i])
        return found[1:] if found else None
