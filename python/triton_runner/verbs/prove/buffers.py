"""Shared and tensor memory of a kernel's TTGIR: whether a wait stands between each asynchronous copy and what
reads its slot, between each asynchronous read and what writes it next, and between accesses of different
warp-specialised tasks, for every trip count.

The states that tasks can be in together are visited: how far each is on its paths, the phases of mbarriers,
and of each access the tasks that know that it is over. A task knows of what another one did by a wait for a
phase at which that one arrived later. So the order of other steps does not matter: of these one is taken, and
only waits are tried in all orders. What is not followed makes the answer unknown. Barriers between
synchronous accesses of one task are put in by the compiler after TTGIR and are not looked at, nor is which
allocations share a place.
"""

from __future__ import annotations

import dataclasses
import math

from triton_runner.verbs.prove.facts import Place
from triton_runner.verbs.prove.paths import MOST_STATES, SPECIALISED, Paths, Slot, Step, TooMany, group, place

_ASYNC = "async copy", "product", "store", "copy of TMA"  # by whom an access is made that a task starts
_COPY, _PRODUCT, _STORE, _TMA = _ASYNC
_TENSOR = "product of tensor memory"  # these are made one after the other


@dataclasses.dataclass(frozen=True)
class Access:
    """by: (what makes it, the task); reads: it reads the slot, and does not write it."""

    slot: Slot
    by: tuple
    reads: bool
    op: str
    place: Place


@dataclasses.dataclass(frozen=True)
class Barrier:
    """An mbarrier in its phase. count: of arrivals that end it; bytes: that are expected and not copied yet;
    waits: what arrives is asynchronous; told: the accesses that are over when it ends; before: when the last
    one ended."""

    count: int
    parity: int = 0
    arrived: int = 0
    bytes: int = 0
    waits: bool = False
    told: frozenset = frozenset()
    before: frozenset = frozenset()

    @property
    def is_full(self) -> bool:
        return self.arrived == self.count and self.bytes == 0

    def next(self) -> Barrier:
        return Barrier(self.count, 1 - self.parity, before=self.told)


@dataclasses.dataclass(frozen=True)
class Memory:
    """known: {(an access, who knows that it is over)} of those that some task does not know of; barriers:
    {(slot, its barrier)}; flights: {(task, what, groups)}: the accesses of each group that a task started,
    the oldest first, of asynchronous copies the last one without a group."""

    known: frozenset = frozenset()
    barriers: frozenset = frozenset()
    flights: frozenset = frozenset()

    def barrier(self, slot) -> Barrier | None:
        return next((one for at, one in self.barriers if at == slot), None)

    def with_barrier(self, slot, barrier: Barrier) -> Memory:
        others = {one for one in self.barriers if one[0] != slot}
        return dataclasses.replace(self, barriers=frozenset(others | {(slot, barrier)}))

    def groups(self, task: int, what: str) -> tuple:
        return next((groups for *key, groups in self.flights if key == [task, what]), ())

    def with_groups(self, task: int, what: str, groups: tuple) -> Memory:
        others = {one for one in self.flights if one[:2] != (task, what)}
        return dataclasses.replace(
            self, flights=frozenset(others | ({(task, what, groups)} if groups else set()))
        )

    def accessed(self, access: Access, who) -> Memory:
        """An access stands for earlier ones of its kind: who knows that it is over knows so of them."""
        same = (access.slot, access.by, access.reads)
        left = {pair for pair in self.known if (pair[0].slot, pair[0].by, pair[0].reads) != same}
        return self._with_known(left)._with_known(left | {(access, frozenset(who))})

    def _with_known(self, known: set) -> Memory:
        """Keeps of these accesses who knows of them; no barrier tells of the others any more."""
        gone = {one for one, _ in self.known} - {one for one, _ in known}
        barriers = self.barriers
        if gone:
            barriers = frozenset(
                (slot, dataclasses.replace(one, told=one.told - gone, before=one.before - gone))
                for slot, one in barriers
            )
        return dataclasses.replace(self, known=frozenset(known), barriers=barriers)

    def learnt(self, who, accesses) -> Memory:
        known = frozenset((one, by | {who} if one in accesses else by) for one, by in self.known)
        return dataclasses.replace(self, known=known)

    def known_to(self, who) -> frozenset:
        return frozenset(one for one, by in self.known if who in by)

    def without(self, tasks: set) -> Memory:
        """Drops what all of the tasks know."""
        return self._with_known({pair for pair in self.known if not tasks <= pair[1]})


@dataclasses.dataclass(frozen=True)
class Clash:
    """text: what goes wrong; place: where; is_sure: whether the slots are known to be one."""

    text: str
    place: Place
    is_sure: bool


class Buffers:
    """function: a kernel of TTGIR. explore() fills clashes, problems (why, place), stuck (those of them by
    which tasks wait for ever) and count, of the ops that access shared memory asynchronously or wait for
    that."""

    def __init__(self, function):
        self._paths = Paths(function, lambda op: self._does(op) is not None)
        self.clashes: dict[str, Clash] = {}
        self.problems = self._paths.problems
        self.stuck: list[str] = []
        self.accesses: set = set()
        self._done: set = set()  # the steps that some order has

    @property
    def count(self) -> int:
        return len(self.accesses)

    def explore(self) -> None:
        start = ((0, self._paths.start),)
        waiting, seen = [(start, Memory())], {(start, Memory())}
        try:
            while waiting:
                for state in self._next(*waiting.pop()):
                    if state not in seen:
                        seen.add(state)
                        waiting.append(state)
                if len(seen) > MOST_STATES:
                    raise TooMany
        except TooMany:
            first = next((step.op for step in self._paths.steps.values() if step.op is not None), None)
            self._problem(f"more than {MOST_STATES:,} states of shared memory", first)
            return
        for step in self._paths.steps.values():
            if step.op is not None and step.op not in self._done:
                self.stuck = ["no order of the tasks gets there: a wait before it does not end"]
                self._problem(*self.stuck, step.op)

    def _does(self, op):
        return getattr(self, "_" + op.name.replace(".", "_"), None)

    # ---- orders

    def _next(self, tasks: tuple, memory: Memory) -> list:
        """The states after one step of a task: where a task has none that others see, of that task alone."""
        found = []
        for at, (task, step) in enumerate(tasks):
            own = [(at, task, after) for after in step.after]
            if own and not any(self._is_seen(after, memory) for after in step.after):
                found = own
                break
            found += own
        states = [self._taken(tasks, memory, *one) for one in found]
        return [state for state in states if state is not None]

    def _is_seen(self, step: Step, memory: Memory) -> bool:
        """Whether the order of a step and those of other tasks matters: a wait, or what ends a phase that
        nobody has waited for."""
        if step.joins or (step.op is not None and step.op.name == "ttng.wait_barrier"):
            return True
        barriers = [memory.barrier(one) for one in step.given if isinstance(one, Slot)]
        return any(one is not None and one.is_full for one in barriers)

    def _taken(self, tasks: tuple, memory: Memory, at: int, task: int, step: Step) -> tuple | None:
        """The state after a step; None: the task has to wait."""
        places = dict(tasks)
        if step.joins:
            if any(places[other].after for other in step.joins):
                return None
            for other in step.joins:
                memory = memory.learnt(task, memory.known_to(other))
                del places[other]
        elif step.op is not None and step.op.name != SPECIALISED:
            after = self._does(step.op)(step.op, step.given, memory, task)
            if after is None:
                return None
            memory = after
        self._done.add(step.op)
        places[task] = step
        for other, start in step.starts:
            memory = memory.learnt(other, memory.known_to(task))
            memory = dataclasses.replace(
                memory, flights=frozenset(one for one in memory.flights if one[0] != other)
            )
            places[other] = start
        memory = memory.without({*places})
        return tuple(sorted(places.items(), key=lambda pair: pair[0])), memory

    # ---- accesses

    def _access(self, op, slot, reads: bool, memory: Memory, task: int, by: str = "") -> tuple:
        """(the memory, the access) after an access, which is made by the task, or by what it starts."""
        if not isinstance(slot, Slot):
            self._problem(f"{op.name} accesses shared memory that is not followed", op)
            return memory, None
        who = (by, task) if by == _TENSOR else task
        for other, knowing in memory.known:
            if other.slot.meets(slot) and who not in knowing and not (reads and other.reads):
                self._clash(op, slot, reads, other)
        access = Access(slot, (by, task), reads, op.name, place(op))
        if by:
            self.accesses.add(op)
        return memory.accessed(access, () if by and by != _TENSOR else (who,)), access

    def _clash(self, op, slot: Slot, reads: bool, other: Access) -> None:
        does, may = "reads" if reads else "writes", "read" if other.reads else "write"
        text = (
            f"{op.name} {does} a slot of shared memory that {other.op} at {other.place} may still {may}: "
            "no wait for it stands between them"
        )
        is_sure = None not in (slot.index, other.slot.index) or slot == other.slot
        old = self.clashes.get(text)
        if old is None or (is_sure and not old.is_sure):
            self.clashes[text] = Clash(text, place(op), is_sure)

    def _waits(self, op, memory: Memory, task: int, what: str, count: int) -> Memory:
        """A wait until so many groups are left in flight."""
        self.accesses.add(op)
        groups = memory.groups(task, what)
        left = groups[max(len(groups) - count, 0) :] if count else ()
        over = {one for group in groups[: len(groups) - len(left)] for one in group}
        over -= {one for group in left for one in group}
        return memory.with_groups(task, what, left).learnt(task, over)

    def _ttg_local_alloc(self, op, given, memory, task):
        return self._access(op, given[0], False, memory, task)[0]

    _ttng_tmem_alloc = _ttg_local_alloc

    def _ttg_local_load(self, op, given, memory, task):
        return self._access(op, given[0], True, memory, task)[0]

    _ttng_tmem_load = _ttg_local_load

    def _ttg_local_store(self, op, given, memory, task):
        return self._access(op, given[1], False, memory, task)[0]

    def _ttng_tmem_store(self, op, given, memory, task):
        return self._access(op, *_of(op, given, "dst"), False, memory, task)[0]

    def _ttg_async_copy_global_to_local(self, op, given, memory, task):
        memory, access = self._access(op, given[1], False, memory, task, _COPY)
        *groups, last = memory.groups(task, _COPY) or (frozenset(),)
        return memory.with_groups(task, _COPY, (*groups, last | {access}))

    def _ttg_async_commit_group(self, op, given, memory, task):
        groups = memory.groups(task, _COPY) or (frozenset(),)
        return memory.with_groups(task, _COPY, (*groups, frozenset()))

    def _ttg_async_wait(self, op, given, memory, task):
        *groups, last = memory.groups(task, _COPY) or (frozenset(),)
        memory = self._waits(
            op, memory.with_groups(task, _COPY, tuple(groups)), task, _COPY, op.attr("num").value
        )
        groups = memory.groups(task, _COPY)
        return memory.with_groups(task, _COPY, (*groups, last) if groups or last else ())

    def _ttng_warp_group_dot(self, op, given, memory, task):
        flag = op.attr("isAsync")
        by = _PRODUCT if flag is not None and flag.value else ""
        slots = [value for value, operand in zip(given[:2], op.operands, strict=False)
                 if operand.type.kind == "memdesc"]  # fmt: skip
        started = set()
        for slot in slots:
            memory, access = self._access(op, slot, True, memory, task, by)
            started.add(access)
        if not by:
            return self._waits(op, memory, task, _PRODUCT, 0)
        return memory.with_groups(task, _PRODUCT, (*memory.groups(task, _PRODUCT), frozenset(started)))

    def _ttng_warp_group_dot_wait(self, op, given, memory, task):
        return self._waits(op, memory, task, _PRODUCT, op.attr("pendings").value)

    def _ttng_async_tma_copy_local_to_global(self, op, given, memory, task):
        slots = [value for value, operand in zip(given, op.operands, strict=True)
                 if operand.type.kind == "memdesc"]  # fmt: skip
        memory, access = self._access(op, slots[0] if slots else None, True, memory, task, _STORE)
        return memory.with_groups(task, _STORE, (*memory.groups(task, _STORE), frozenset({access})))

    def _ttng_async_tma_store_wait(self, op, given, memory, task):
        return self._waits(op, memory, task, _STORE, op.attr("pendings").value)

    # ---- tensor memory

    def _ttng_tc_gen5_mma(self, op, given, memory, task):
        """Products know what their task knew as they were started."""
        if _of(op, given, "pred") == [0]:
            return memory
        memory = memory.learnt((_TENSOR, task), memory.known_to(task))
        reads = {"a": True, "b": True, "d": False}
        barriers, preds = _of(op, given, "barriers"), _of(op, given, "barrier_preds")
        is_async = bool(barriers) or op.attr("is_async") is not None
        for name, is_read in reads.items():
            memory, _ = self._access(op, *_of(op, given, name), is_read, memory, task, _TENSOR)
        if not is_async:
            return memory.learnt(task, memory.known_to((_TENSOR, task)))
        for i, barrier in enumerate(barriers):
            if i >= len(preds) or preds[i]:
                memory = self._arrives(op, barrier, memory, memory.known_to((_TENSOR, task)), waits=True)
        return memory

    def _ttng_tc_gen5_commit(self, op, given, memory, task):
        self.accesses.add(op)
        if _of(op, given, "pred") == [0]:
            return memory
        (barrier,) = _of(op, given, "barrier")
        return self._arrives(op, barrier, memory, memory.known_to((_TENSOR, task)), waits=True)

    # ---- mbarriers

    def _ttng_init_barrier(self, op, given, memory, task):
        if not isinstance(given[0], Slot):
            self._problem("an mbarrier that is not followed", op)
            return memory
        return memory.with_barrier(given[0], Barrier(op.attr("count").value))

    def _barrier(self, op, slot, memory: Memory) -> Barrier | None:
        is_one = isinstance(slot, Slot) and (slot.index is not None or memory.barrier(slot) is not None)
        barrier = memory.barrier(slot) if is_one else None
        if barrier is None:
            self._problem("an mbarrier that is not followed", op)
        return barrier

    def _arrives(self, op, slot, memory: Memory, told, count: int = 1, more: int = 0, waits=False) -> Memory:
        """told: the accesses that are over then."""
        barrier = self._barrier(op, slot, memory)
        if barrier is None:
            return memory
        if barrier.is_full and not barrier.waits:
            barrier = barrier.next()
        if barrier.arrived + count > barrier.count:
            self._problem("an mbarrier that is told before its phase is over", op)
            return memory
        return memory.with_barrier(slot, dataclasses.replace(
            barrier, arrived=barrier.arrived + count, bytes=barrier.bytes + more, told=barrier.told | told,
            waits=barrier.waits or waits,
        ))  # fmt: skip

    def _ttng_arrive_barrier(self, op, given, memory, task):
        self.accesses.add(op)
        if _of(op, given, "pred") == [0]:
            return memory
        each = op.attr("perThread")
        if each is not None and each.value is not False:
            self._problem("each thread arrives at an mbarrier", op)
        return self._arrives(op, given[0], memory, memory.known_to(task), op.attr("count").value)

    def _ttng_barrier_expect(self, op, given, memory, task):
        told, size = memory.known_to(task), op.attr("size").value
        return self._arrives(op, given[0], memory, told, more=size, waits=True)

    def _ttng_async_tma_copy_global_to_local(self, op, given, memory, task):
        (barrier,), (slot,) = (_of(op, given, name) for name in ("barrier", "result"))
        multicast = op.attr("multicast")
        if multicast is not None and multicast.value:
            self._problem("a copy of TMA to several blocks", op)
        memory, access = self._access(op, slot, False, memory, task, _TMA)
        own = self._barrier(op, barrier, memory)
        if own is None:
            return memory
        own = dataclasses.replace(
            own, bytes=own.bytes - _bytes(_group_type(op, "result")), told=own.told | {access}, waits=True
        )
        return memory.with_barrier(barrier, own)

    def _ttng_wait_barrier(self, op, given, memory, task):
        self.accesses.add(op)
        slot, phase = given[:2]
        if _of(op, given, "pred") == [0]:
            return memory
        barrier = self._barrier(op, slot, memory)
        if barrier is None:
            return memory
        if not isinstance(phase, int):
            self._problem("a wait whose phase is not followed", op)
            return memory
        if phase % 2 == barrier.parity:
            if not barrier.is_full:
                return None
            barrier = barrier.next()
        return memory.with_barrier(slot, barrier).learnt(task, barrier.before)

    def _problem(self, why: str, op) -> None:
        self._paths.problem(why, op)


def _of(op, given, name: str) -> list:
    """Returns what is known of a group of operands."""
    operands = list(op.operands)
    return [given[operands.index(value)] for value in group(op, name)]


def _group_type(op, name: str):
    return group(op, name)[0].type


def _bytes(type_) -> int:
    return math.prod(type_.shape) * type_.element.width // 8
