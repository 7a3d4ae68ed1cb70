"""Shared and tensor memory of a kernel's TTGIR: whether a wait stands between each asynchronous copy and what
reads its slot, and between each asynchronous read and what writes it next, for every trip count.

The numbers that choose slots come from constants and from what loops carry. All states of these numbers, and
of copies, products and stores in flight, are visited: a loop ends after any iteration, an unknown branch goes
both ways, and a state that was seen is not visited again. What is not followed makes the answer unknown.
Barriers between synchronous accesses are put in by the compiler after TTGIR and are not looked at, nor is
which allocations share a place.
"""

from __future__ import annotations

import dataclasses
import operator

from triton_runner.verbs.prove.facts import Place

_MOST_STATES = 20_000
_MOST_NUMBER = 64  # above which a carried number is any: it counts iterations
_VIEWS = (
    "ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_reinterpret", "ttg.memdesc_subslice",
    "ttng.tmem_subslice",
)  # fmt: skip
# Copies of TMA are taken to be made whatever their predicate is: without a copy nothing waits for it.
_PREDICATED = ("ttng.wait_barrier", "ttng.tc_gen5_mma", "ttng.tc_gen5_commit")
_ARITHMETIC = {
    "arith.addi": operator.add, "arith.subi": operator.sub, "arith.muli": operator.mul,
    "arith.xori": operator.xor, "arith.andi": operator.and_, "arith.ori": operator.or_,
}  # fmt: skip
_SAME = ("arith.extui", "arith.extsi", "arith.trunci", "arith.index_cast")
_COMPARED = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le, "sgt": operator.gt,
    "sge": operator.ge,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Slot:
    """A part of an allocation. index: None: nobody knows which."""

    allocation: int
    index: int | None

    def meets(self, other) -> bool:
        same = self.allocation == other.allocation
        return same and (None in (self.index, other.index) or self.index == other.index)


@dataclasses.dataclass(frozen=True)
class Copy:
    """Something asynchronous that has a slot. place: its line; reads: it reads the slot, and does not write
    it."""

    slot: Slot
    place: Place
    op: str
    reads: bool = False


@dataclasses.dataclass(frozen=True)
class Memory:
    """Keeps what is in flight. open: copies without a group; groups: those of committed groups, the oldest
    first; products, stores: the same of what reads shared memory; barriers: (slot, parity, copies) of
    mbarriers that copies, or products of tensor memory, arrive at; tensor: of such products that none was
    told of."""

    open: frozenset = frozenset()
    groups: tuple = ()
    products: tuple = ()
    stores: tuple = ()
    barriers: frozenset = frozenset()
    tensor: frozenset = frozenset()

    def _told(self):
        yield from self.tensor
        for _, _, copies in self.barriers:
            yield from copies

    def written(self):
        yield from self.open
        for group in self.groups:
            yield from group
        yield from (one for one in self._told() if not one.reads)

    def read(self):
        for group in (*self.products, *self.stores):
            yield from group
        yield from (one for one in self._told() if one.reads)


@dataclasses.dataclass(frozen=True)
class Clash:
    """text: what goes wrong; place: where; is_sure: whether the slots are known to be one."""

    text: str
    place: Place
    is_sure: bool


class _TooMany(Exception):
    pass


class Buffers:
    """function: a kernel of TTGIR. explore() fills clashes, problems (why, place) and count, of the ops that
    access shared memory asynchronously or wait for such."""

    def __init__(self, function):
        self._function = function
        self.clashes: dict[str, Clash] = {}
        self.problems: dict[str, Place] = {}
        self.accesses: set = set()
        self._states = 0
        self._numbers: dict = {}  # of allocations

    @property
    def count(self) -> int:
        return len(self.accesses)

    def explore(self) -> None:
        blocks = self._function.regions[0].blocks
        waiting, seen = [(blocks[0], {}, Memory())], set()
        try:
            while waiting:
                block, env, memory = waiting.pop()
                key = (block, _key(env), memory)
                if key in seen:
                    continue
                seen.add(key)
                inner, last = _parted(block)
                for after, held in self._ops(inner, env, memory):
                    waiting += [(to, env, held) for to, env in self._successors(last, after)]
        except _TooMany:
            self._problem(f"more than {_MOST_STATES:,} states of shared memory", blocks[0].ops[0])

    def _successors(self, last, env: dict) -> list:
        if last is None:
            return []
        if last.name == "cf.br":
            pairs = [(last.successors[0], last.operands)]
        elif last.name == "cf.cond_br":
            count = len(last.group("true_args"))
            given = last.operands[1:]
            pairs = [(last.successors[0], given[:count]), (last.successors[1], given[count:])]
            cond = env.get(last.operands[0])
            pairs = pairs if cond is None else [pairs[0 if cond else 1]]
        else:
            return []
        return [(to, {**env, **_bound(to.args, given, env)}) for to, given in pairs]

    # ---- ops

    def _ops(self, ops, env: dict, memory: Memory) -> list:
        """The states after ops: (env, memory)."""
        states = [(env, memory)]
        for op in ops:
            if op.regions:
                states = _once([after for state in states for after in self._region_op(op, *state)])
            else:
                states = [self._op(op, *state) for both in states for state in self._decided(op, *both)]
        return states

    def _decided(self, op, env: dict, memory: Memory) -> list:
        """The states in which it is known whether a predicated op does something."""
        states = [env]
        names = ("pred", "barrier_preds") if op.name in _PREDICATED else ()
        for value in [value for name in names for value in _group(op, name)]:
            states = [
                {**one, value: flag} for one in states
                for flag in ((0, 1) if one.get(value) is None else (one[value],))
            ]  # fmt: skip
        return [(one, memory) for one in states]

    def _region_op(self, op, env: dict, memory: Memory) -> list:
        if op.name == "scf.if":
            cond = env.get(op.operands[0])
            sides = [side for side in (0, 1) if cond is None or bool(cond) is (side == 0)]
            return [after for side in sides for after in self._side(op, side, env, memory)]
        if op.name in ("scf.for", "scf.while"):
            return self._loop(op, env, memory)
        if any(self._is_shared(inner) for inner in _inside(op)):
            self._problem(f"{op.name} is not followed", op)
        return [(env, memory)]

    def _side(self, op, side: int, env: dict, memory: Memory) -> list:
        if len(op.regions) <= side or not op.regions[side].blocks:
            return [(env, memory)]
        inner, last = _parted(op.regions[side].blocks[0])
        given = last.operands if last is not None else ()
        return [
            ({**env, **_bound(op.results, given, after)}, held)
            for after, held in self._ops(inner, env, memory)
        ]

    def _loop(self, op, env: dict, memory: Memory) -> list:
        """All states that leave a loop, which may end before each iteration."""
        is_for = op.name == "scf.for"
        first = op.regions[0].blocks[0]
        inits = op.operands[3:] if is_for else op.operands
        arguments = first.args[1:] if is_for else first.args
        waiting, seen, left = [(_bound(arguments, inits, env), memory)], set(), []
        while waiting:
            carried, held = waiting.pop()
            if (key := (_key(carried), held)) in seen:
                continue
            seen.add(key)
            self._count_state()
            here = {**env, **carried}
            if is_for:
                left.append(({**env, **_bound(op.results, arguments, here)}, held))
                if _is_empty(op, env):
                    continue
            inner, end = _parted(first)
            for after, then in self._ops(inner, here, held):
                if end is None:
                    waiting.append(({}, then))
                elif not is_for:
                    left.append(({**env, **_bound(op.results, end.operands[1:], after)}, then))
                    second = op.regions[1].blocks[0]
                    passed = {**after, **_bound(second.args, end.operands[1:], after)}
                    ops, again = _parted(second)
                    for last, at in self._ops(ops, passed, then):
                        waiting.append((_small(_bound(arguments, again.operands, last)), at))
                else:
                    waiting.append((_small(_bound(arguments, end.operands, after)), then))
        return _once(left)

    def _count_state(self) -> None:
        self._states += 1
        if self._states > _MOST_STATES:
            raise _TooMany

    def _op(self, op, env: dict, memory: Memory) -> tuple:
        self._count_state()
        given = [env.get(value) for value in op.operands]
        if any(result in env for result in op.results):  # of the turn before
            env = {name: value for name, value in env.items() if name not in op.results}
        if (number := _computed(op, given)) is not None:
            return {**env, op.results[0]: number}, memory
        if op.name in ("ttg.local_alloc", "ttng.tmem_alloc"):
            slot = Slot(self._numbers.setdefault(op, len(self._numbers)), None)
            if op.operands:
                memory = self._writes(op, slot, memory)
            return {**env, op.results[0]: slot}, memory
        if op.name in ("ttg.memdesc_index", "ttg.memdesc_subview"):
            slot = given[0]
            if isinstance(slot, Slot) and slot.index is None:
                index = given[1] if isinstance(given[1], int) else None
                is_whole = op.name == "ttg.memdesc_subview" and len(op.operands[0].type.shape) == len(
                    op.results[0].type.shape
                )
                slot = Slot(slot.allocation, None if is_whole else index)
            return {**env, op.results[0]: slot}, memory
        if op.name in _VIEWS:
            return {**env, op.results[0]: given[0]}, memory
        function = getattr(self, "_" + op.name.replace(".", "_"), None)
        if function is not None:
            return env, function(op, given, memory)
        if self._is_shared(op) and op.name not in ("ttg.local_dealloc", "ttng.inval_barrier"):
            self._problem(f"{op.name} is not followed", op)
        return env, memory

    def _is_shared(self, op) -> bool:
        kinds = {value.type.kind for value in (*op.operands, *op.results)}
        return "memdesc" in kinds or op.name.startswith(("ttg.warp_", "ttng.tc", "ttng.tmem", "ttng.arrive"))

    # ---- accesses

    def _reads(self, op, slot, memory: Memory) -> Memory:
        return self._meets(op, slot, memory, [(memory.written(), "reads", "may still write")])

    def _writes(self, op, slot, memory: Memory) -> Memory:
        kinds = [(memory.read(), "writes", "may still read"), (memory.written(), "writes", "may still write")]
        return self._meets(op, slot, memory, kinds)

    def _meets(self, op, slot, memory: Memory, kinds: list) -> Memory:
        for copies, does, may in kinds if isinstance(slot, Slot) else ():
            for copy in copies:
                if copy.slot.meets(slot):
                    text = (
                        f"{op.name} {does} a slot of shared memory that {copy.op} at {copy.place} {may}: "
                        "no wait for it stands between them"
                    )
                    self._clash(text, op, slot, copy)
        return memory

    def _clash(self, text: str, op, slot: Slot, copy: Copy) -> None:
        is_sure = None not in (slot.index, copy.slot.index) or slot == copy.slot
        old = self.clashes.get(text)
        if old is None or (is_sure and not old.is_sure):
            self.clashes[text] = Clash(text, _place(op), is_sure)

    def _started(self, op, slot, reads: bool = False) -> Copy:
        self.accesses.add(op)
        return Copy(slot, _place(op), op.name, reads)

    def _ttg_local_load(self, op, given, memory):
        return self._reads(op, given[0], memory)

    def _ttg_local_store(self, op, given, memory):
        return self._writes(op, given[1], memory)

    def _ttg_async_copy_global_to_local(self, op, given, memory):
        slot = given[1]
        if not isinstance(slot, Slot):
            self._problem("a copy into shared memory that is not followed", op)
            return memory
        memory = self._writes(op, slot, memory)
        return dataclasses.replace(memory, open=memory.open | {self._started(op, slot)})

    def _ttg_async_commit_group(self, op, given, memory):
        return dataclasses.replace(memory, open=frozenset(), groups=(*memory.groups, memory.open))

    def _ttg_async_wait(self, op, given, memory):
        self.accesses.add(op)
        return dataclasses.replace(memory, groups=_last(memory.groups, op.attr("num").value))

    def _ttng_warp_group_dot(self, op, given, memory):
        slots = [slot for slot in given[:2] if isinstance(slot, Slot)]
        for slot in slots:
            memory = self._reads(op, slot, memory)
        flag = op.attr("isAsync")
        if flag is None or not flag.value:
            return dataclasses.replace(memory, products=())
        started = frozenset(self._started(op, slot) for slot in slots)
        return dataclasses.replace(memory, products=(*memory.products, started))

    def _ttng_warp_group_dot_wait(self, op, given, memory):
        self.accesses.add(op)
        return dataclasses.replace(memory, products=_last(memory.products, op.attr("pendings").value))

    # ---- tensor memory

    def _ttng_tmem_load(self, op, given, memory):
        return self._reads(op, given[0], memory)

    def _ttng_tmem_store(self, op, given, memory):
        (slot,) = _of(op, given, "dst")
        return self._writes(op, slot, memory)

    def _ttng_tc_gen5_mma(self, op, given, memory):
        """Products are made in the order in which they are started, and do not meet each other."""
        (pred,) = _of(op, given, "pred")
        if pred == 0:
            return memory
        a, b, d = (_of(op, given, name)[0] for name in ("a", "b", "d"))
        if not all(isinstance(slot, Slot) for slot in (a, b, d)):
            self._problem("a product of tensor memory that is not followed", op)
            return memory
        own = {one for one in memory._told() if one.op == op.name}
        others = _without(memory, own)
        for slot in (a, b):
            self._reads(op, slot, others)
        self._writes(op, d, others)
        barriers, preds = _of(op, given, "barriers"), _of(op, given, "barrier_preds")
        if not barriers and op.attr("is_async") is None:
            return memory
        started = frozenset({*(self._started(op, slot, True) for slot in (a, b)), self._started(op, d)})
        memory = dataclasses.replace(memory, tensor=memory.tensor | started)
        for i, barrier in enumerate(barriers):
            if i >= len(preds) or preds[i]:
                memory = self._tells(op, barrier, memory)
        return memory

    def _ttng_tc_gen5_commit(self, op, given, memory):
        self.accesses.add(op)
        (barrier,), pred = _of(op, given, "barrier"), _of(op, given, "pred")
        return self._tells(op, barrier, memory) if not pred or pred[0] else memory

    def _tells(self, op, barrier, memory: Memory) -> Memory:
        """An mbarrier is told when all products are made that were started."""
        if not isinstance(barrier, Slot) or _of_barrier(memory, barrier)[1]:
            self._problem("an mbarrier that is told before its phase is over", op)
            return memory
        parity, _ = _of_barrier(memory, barrier)
        return _with_barrier(dataclasses.replace(memory, tensor=frozenset()), barrier, parity, memory.tensor)

    def _ttng_async_tma_copy_local_to_global(self, op, given, memory):
        slot = next((one for one in given if isinstance(one, Slot)), None)
        memory = self._reads(op, slot, memory)
        return dataclasses.replace(memory, stores=(*memory.stores, frozenset([self._started(op, slot)])))

    def _ttng_async_tma_store_wait(self, op, given, memory):
        self.accesses.add(op)
        return dataclasses.replace(memory, stores=_last(memory.stores, op.attr("pendings").value))

    def _ttng_init_barrier(self, op, given, memory):
        return _with_barrier(memory, given[0], 0, frozenset()) if isinstance(given[0], Slot) else memory

    def _ttng_barrier_expect(self, op, given, memory):
        if isinstance(given[0], Slot) and _of_barrier(memory, given[0])[1]:
            self._problem("an mbarrier that expects copies before its phase is over", op)
        return memory

    def _ttng_async_tma_copy_global_to_local(self, op, given, memory):
        (barrier,), (slot,) = (_of(op, given, name) for name in ("barrier", "result"))
        if not isinstance(slot, Slot) or not isinstance(barrier, Slot):
            self._problem("a copy of TMA that is not followed", op)
            return memory
        memory = self._writes(op, slot, memory)
        parity, copies = _of_barrier(memory, barrier)
        return _with_barrier(memory, barrier, parity, copies | {self._started(op, slot)})

    def _ttng_wait_barrier(self, op, given, memory):
        self.accesses.add(op)
        barrier, phase = given[:2]
        pred = given[2] if op.group("pred") else 1
        is_one = isinstance(barrier, Slot) and (barrier.index is not None or op.operands[0].type.shape == [1])
        if not is_one:
            self._problem("a wait for an mbarrier that is not followed", op)
            return memory
        if pred is None or not isinstance(phase, int):
            self._problem("a wait whose phase, or whether it waits, is not followed", op)
            return memory
        parity, copies = _of_barrier(memory, barrier)
        if not pred or phase % 2 != parity or not copies:
            return memory
        return _with_barrier(memory, barrier, 1 - parity, frozenset())

    def _problem(self, why: str, op) -> None:
        self.problems.setdefault(why, _place(op))


def _computed(op, given) -> int | None:
    """The number that an op gives; None: it is not known."""
    if op.name == "arith.constant" and op.results[0].type.kind in ("integer", "index"):
        value = op.attr("value").value
        return int(value) if isinstance(value, (int, bool)) else None
    if op.name in _SAME and isinstance(given[0], int):
        return given[0]
    if op.name == "arith.select" and isinstance(given[0], int):
        return given[1] if given[0] else given[2]
    numbers = len(given) == 2 and all(isinstance(one, int) for one in given)
    if not numbers:
        return None
    if op.name in _ARITHMETIC:
        number = _ARITHMETIC[op.name](*given)
        return number & 1 if str(op.results[0].type) == "i1" else number
    if op.name == "arith.cmpi" and op.attr("predicate").value in _COMPARED:
        return int(_COMPARED[op.attr("predicate").value](*given))
    if op.name in ("arith.remsi", "arith.remui") and given[0] >= 0 and given[1] > 0:
        return given[0] % given[1]
    if op.name in ("arith.divsi", "arith.divui") and given[0] >= 0 and given[1] > 0:
        return given[0] // given[1]
    return None


def _group(op, name: str) -> list:
    try:
        return list(op.group(name))
    except KeyError:
        return []


def _of(op, given, name: str) -> list:
    """Returns what is known of a group of operands."""
    operands = list(op.operands)
    return [given[operands.index(value)] for value in _group(op, name)]


def _without(memory: Memory, copies: set) -> Memory:
    barriers = frozenset((slot, parity, own - copies) for slot, parity, own in memory.barriers)
    return dataclasses.replace(memory, barriers=barriers, tensor=memory.tensor - copies)


def _is_empty(op, env: dict) -> bool:
    """Whether a loop has no turn, by what is known of comparisons with the number that its end is made of."""
    root, offset = _sum(op.operands[1], env)
    first = env.get(op.operands[0])
    if root is None or not isinstance(first, int):
        return False
    for value, flag in env.items():
        compared = getattr(value, "op", None)
        if compared is None or compared.name != "arith.cmpi" or flag != 0:
            continue
        other, more = _sum(compared.operands[0], env)
        least = env.get(compared.operands[1])
        is_more = compared.attr("predicate").value == "sgt" and isinstance(least, int)
        if is_more and other == root and least - more + offset <= first:  # root + more <= least
            return True
    return False


def _sum(value, env: dict) -> tuple:
    """(a value, a number) that a value is the sum of."""
    offset = 0
    while value.op is not None and value.op.name in ("arith.addi", "arith.subi"):
        number = env.get(value.op.operands[1])
        if not isinstance(number, int):
            break
        offset += number if value.op.name == "arith.addi" else -number
        value = value.op.operands[0]
    return value, offset


def _of_barrier(memory: Memory, barrier: Slot) -> tuple:
    """(the parity of the phase that is not over, the copies that arrive at it)."""
    return next(((p, copies) for slot, p, copies in memory.barriers if slot == barrier), (0, frozenset()))


def _with_barrier(memory: Memory, barrier: Slot, parity: int, copies: frozenset) -> Memory:
    others = {one for one in memory.barriers if one[0] != barrier}
    return dataclasses.replace(memory, barriers=frozenset(others | {(barrier, parity, copies)}))


def _last(groups: tuple, count: int) -> tuple:
    return groups[len(groups) - count :] if count < len(groups) and count else groups if count else ()


def _bound(names, values, env: dict) -> dict:
    """Gives what is known of values under other names; what nobody knows is taken from the old ones."""
    return {name: env.get(value) for name, value in zip(names, values, strict=True)}


def _small(carried: dict) -> dict:
    large = {name for name, value in carried.items() if isinstance(value, int) and abs(value) > _MOST_NUMBER}
    return {name: None if name in large else value for name, value in carried.items()}


def _key(env: dict) -> frozenset:
    return frozenset((name, value) for name, value in env.items() if value is not None)


def _once(states: list) -> list:
    return list({(_key(env), memory): (env, memory) for env, memory in states}.values())


def _parted(block) -> tuple:
    """(the ops of a block, what ends it; None where nothing does)."""
    ops = list(block.ops)
    return (ops[:-1], ops[-1]) if ops and ops[-1].does("ends") else (ops, None)


def _inside(op):
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner
                yield from _inside(inner)


def _place(op) -> Place:
    location = op.location
    return Place(location.file, location.line) if location is not None else Place("", 0)
