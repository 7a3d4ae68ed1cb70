"""Paths through a kernel's TTGIR: which of its ops that matter may follow which, with what they are given.

Numbers are known from constants and from what loops carry, never from memory. A loop ends after
any iteration, and an unknown branch goes both ways. A number that counts turns is known by what is left of
it, if only quotients and remainders are taken of it; such a counter does not pass 2**31. The default region
of a warp-specialised kernel and its partitions are tasks, of which each has paths of its own.
"""

from __future__ import annotations

import dataclasses
import math
import operator

from triton_runner.verbs.prove.facts import Place

MOST_STATES = 20_000
_MOST_NUMBER = 64  # above which a carried number that does not count turns is any
_VIEWS = (
    "ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_reinterpret", "ttg.memdesc_subslice",
    "ttng.tmem_subslice",
)  # fmt: skip
# Copies of TMA are taken to be made whatever their predicate is: without a copy nothing waits for it.
_PREDICATED = ("ttng.wait_barrier", "ttng.tc_gen5_mma", "ttng.tc_gen5_commit", "ttng.arrive_barrier")
_ARITHMETIC = {
    "arith.addi": operator.add, "arith.subi": operator.sub, "arith.muli": operator.mul,
    "arith.xori": operator.xor, "arith.andi": operator.and_, "arith.ori": operator.or_,
}  # fmt: skip
_SAME = ("arith.extui", "arith.extsi", "arith.trunci", "arith.index_cast")
_REST, _QUOTIENT = ("arith.remsi", "arith.remui"), ("arith.divsi", "arith.divui")
_COMPARED = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le, "sgt": operator.gt,
    "sge": operator.ge,
}  # fmt: skip
SPECIALISED, _PARTITIONS = "ttg.warp_specialize", "ttg.warp_specialize.partitions"


@dataclasses.dataclass(frozen=True)
class Slot:
    """A part of an allocation. index: None: nobody knows which."""

    allocation: int
    index: int | None

    def meets(self, other) -> bool:
        same = self.allocation == other.allocation
        return same and (None in (self.index, other.index) or self.index == other.index)


@dataclasses.dataclass(frozen=True)
class Turns:
    """A number of which the rest of a division is known, and the least that it is, which is not negative."""

    rest: int
    of: int
    least: int


class Step:
    """An op of a task that matters. given: what is known of its operands; after: the steps that may follow;
    starts: of a fork, (task, its first step); joins: the tasks whose ends it waits for."""

    def __init__(self, op, given=(), starts=(), joins=()):
        self.op, self.given, self.starts, self.joins = op, given, starts, joins
        self.after: dict = {}


class TooMany(Exception):
    pass


class Paths:
    """matters(op): whether it is a step. start: the first step of the kernel, which is not one of its ops;
    problems: what is not followed, with its place; steps: of all ops, by how they are reached."""

    def __init__(self, function, matters):
        self._matters = matters
        self.problems: dict[str, Place] = {}
        self.steps: dict = {}
        self._states = 0
        self._numbers: dict = {}  # of allocations
        self._tasks: dict = {}  # the number of each region that is a task: 0 is the kernel's
        self._starts: dict = {}
        self._left: dict = {}  # the states that leave a loop, by how it is entered
        self._turns, self._largest = _turns(function)
        first = Step(None)
        self._explore(function.regions[0].blocks[0], first)
        self.start = _merged(first, [first, *self._starts.values(), *self.steps.values()])

    def _explore(self, first, start: Step) -> None:
        waiting, seen = [(first, {}, start)], set()
        try:
            while waiting:
                block, env, step = waiting.pop()
                key = (block, _key(env), step)
                if key in seen:
                    continue
                seen.add(key)
                inner, last = _parted(block)
                for after, then in self._ops(inner, env, step):
                    to = self._successors(last, after)
                    waiting += [(block, env, then) for block, env in to]
                    if not to:
                        self._step((None, 0), then, None)
        except TooMany:
            named = next((op for op in first.ops if place(op).line), first.ops[0])
            self.problem(f"more than {MOST_STATES:,} states of shared memory", named)

    def _step(self, key, before: Step, op, *words) -> Step:
        step = self.steps.get(key)
        if step is None:
            step = self.steps[key] = Step(op, *words)
        before.after[step] = True
        return step

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
            pairs = pairs if not isinstance(cond, int) else [pairs[0 if cond else 1]]
        else:
            return []
        return [(to, {**env, **_bound(to.args, given, env)}) for to, given in pairs]

    # ---- ops

    def _ops(self, ops, env: dict, step: Step) -> list:
        """The states after ops: (env, the last step)."""
        states = [(env, step)]
        for op in ops:
            if op.regions:
                states = _once([after for state in states for after in self._region_op(op, *state)])
            else:
                states = [self._op(op, *state) for both in states for state in self._decided(op, *both)]
        return states

    def _decided(self, op, env: dict, step: Step) -> list:
        """The states in which it is known whether a predicated op does something."""
        states = [env]
        names = ("pred", "barrier_preds") if op.name in _PREDICATED else ()
        for value in [value for name in names for value in group(op, name)]:
            states = [
                {**one, value: flag} for one in states
                for flag in ((0, 1) if not isinstance(one.get(value), int) else (one[value],))
            ]  # fmt: skip
        return [(one, step) for one in states]

    def _region_op(self, op, env: dict, step: Step) -> list:
        if op.name == "scf.if":
            cond = env.get(op.operands[0])
            sides = [side for side in (0, 1) if not isinstance(cond, int) or bool(cond) is (side == 0)]
            return [after for side in sides for after in self._side(op, side, env, step)]
        if op.name in ("scf.for", "scf.while"):
            return self._loop(op, env, step)
        if op.name == SPECIALISED:
            return self._specialised(op, env, step)
        if any(self._is_shared(inner) for inner in _inside(op)):
            self.problem(f"{op.name} is not followed", op)
        return [(env, step)]

    def _side(self, op, side: int, env: dict, step: Step) -> list:
        if len(op.regions) <= side or not op.regions[side].blocks:
            return [(env, step)]
        inner, last = _parted(op.regions[side].blocks[0])
        given = last.operands if last is not None else ()
        return [
            ({**env, **_bound(op.results, given, after)}, then) for after, then in self._ops(inner, env, step)
        ]

    def _loop(self, op, env: dict, step: Step) -> list:
        """All states that leave a loop, which may end before each iteration."""
        is_for = op.name == "scf.for"
        first = op.regions[0].blocks[0]
        inits = op.operands[3:] if is_for else op.operands
        arguments = first.args[1:] if is_for else first.args
        counter, first_number = (first.args[0], op.operands[0]) if is_for else (None, None)
        stride = env.get(op.operands[2]) if is_for else None
        counts = (
            isinstance(stride, int) and stride > 0 and self._turns and isinstance(env.get(first_number), int)
        )
        entered = (op, _key(env))
        step = self._step((*entered, "entered"), step, None)
        if entered in self._left:
            return self._left[entered]
        begins = _bound(arguments, inits, env)
        if counts:
            begins[counter] = env[first_number]
        waiting, seen, left = [(begins, step)], set(), []
        while waiting:
            carried, held = waiting.pop()
            here = {**env, **carried}
            held = self._step((op, _key(here), "turn"), held, None)
            if held in seen:
                continue
            seen.add(held)
            self._count_state()
            if is_for:
                left.append(({**env, **_bound(op.results, arguments, here)}, held))
                if _is_empty(op, env):
                    continue
            inner, end = _parted(first)
            for after, then in self._ops(inner, here, held):
                if not is_for:
                    left.append(({**env, **_bound(op.results, end.operands[1:], after)}, then))
                    second = op.regions[1].blocks[0]
                    passed = {**after, **_bound(second.args, end.operands[1:], after)}
                    ops, again = _parted(second)
                    for last, at in self._ops(ops, passed, then):
                        waiting.append((self._small(_bound(arguments, again.operands, last)), at))
                else:
                    more = _bound(arguments, end.operands if end is not None else (), after)
                    if counts:
                        more[counter] = _added(carried[counter], stride)
                    waiting.append((self._small(more), then))
        self._left[entered] = _once(left)
        return self._left[entered]

    def _small(self, carried: dict) -> dict:
        """Gives what a loop carries: a large number is any, or one that counts turns."""

        def small(value):
            if not isinstance(value, int) or abs(value) <= (self._largest if self._turns else _MOST_NUMBER):
                return value
            is_more = self._turns and value > 0
            return Turns(value % self._turns, self._turns, self._largest) if is_more else None

        return {name: small(value) for name, value in carried.items()}

    def _specialised(self, op, env: dict, step: Step) -> list:
        """The default region goes on with the task; partitions begin, and end before what comes after."""
        regions, captures = [], list(op.operands)
        for region in op.regions[1:]:
            holder = region.blocks[0].ops[0] if region.blocks and region.blocks[0].ops else None
            if holder is not None and holder.name == _PARTITIONS:
                captures += holder.operands
                regions += holder.regions
            else:
                regions.append(region)
        starts = []
        for region in regions:
            blocks = region.blocks
            if len(blocks) != 1 or len(blocks[0].args) != len(captures):
                self.problem("a partition that is not followed", op)
                return [(env, step)]
            task = self._tasks.setdefault(region, len(self._tasks) + 1)
            given = _bound(blocks[0].args, captures, env)
            key = (region, _key(given))
            if key not in self._starts:
                start = self._starts[key] = Step(None)
                for _, last in self._ops(_parted(blocks[0])[0], given, start):
                    self._step((region, "end"), last, None)
            starts.append((task, self._starts[key]))
        fork = self._step((op, "fork", _key(env)), step, op, (), tuple(starts))
        tasks = tuple(task for task, _ in starts)
        return [
            (after, self._step((op, "join", _key(after)), last, op, (), (), tasks))
            for after, last in self._side(op, 0, env, fork)
        ]

    def _count_state(self) -> None:
        self._states += 1
        if self._states > MOST_STATES:
            raise TooMany

    def _op(self, op, env: dict, step: Step) -> tuple:
        self._count_state()
        given = [env.get(value) for value in op.operands]
        if any(result in env for result in op.results):  # of the turn before
            env = {name: value for name, value in env.items() if name not in op.results}
        if (number := _computed(op, given)) is not None:
            return {**env, op.results[0]: number}, step
        if op.name in ("ttg.local_alloc", "ttng.tmem_alloc"):
            slot = Slot(self._numbers.setdefault(op, len(self._numbers)), None)
            if op.operands:
                step = self._step((op, _key(env)), step, op, (slot,))
            return {**env, op.results[0]: slot}, step
        if op.name in ("ttg.memdesc_index", "ttg.memdesc_subview"):
            slot = given[0]
            if isinstance(slot, Slot) and slot.index is None:
                index = given[1] if isinstance(given[1], int) else None
                is_whole = op.name == "ttg.memdesc_subview" and len(op.operands[0].type.shape) == len(
                    op.results[0].type.shape
                )
                slot = Slot(slot.allocation, None if is_whole else index)
            return {**env, op.results[0]: slot}, step
        if op.name in _VIEWS:
            return {**env, op.results[0]: given[0]}, step
        if self._matters(op):
            decides = op.name in _PREDICATED
            given = tuple(one if decides or isinstance(one, Slot) else None for one in given)
            return env, self._step((op, _key(env)), step, op, given)
        if self._is_shared(op) and op.name not in ("ttg.local_dealloc", "ttng.inval_barrier"):
            self.problem(f"{op.name} is not followed", op)
        return env, step

    def _is_shared(self, op) -> bool:
        kinds = {value.type.kind for value in (*op.operands, *op.results)}
        return "memdesc" in kinds or op.name.startswith(("ttg.warp_", "ttng.tc", "ttng.tmem", "ttng.arrive"))

    def problem(self, why: str, op) -> None:
        self.problems.setdefault(why, place(op))


def _merged(first: Step, steps: list) -> Step:
    """The first step of the same paths, in which steps that are followed by the same are one, and only ops,
    forks, joins and ends are steps."""

    def following(step: Step) -> set:
        found, waiting, seen = set(), [*step.after], set()
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if one.op is None and one.after:
                waiting += one.after
            else:
                found.add(one)
        return found

    after = {step: following(step) for step in steps}
    kind: dict = dict.fromkeys(steps, 0)
    while True:
        words = {
            step: (kind[step], step.op, step.given, tuple((task, kind[one]) for task, one in step.starts),
                   step.joins, frozenset(kind[one] for one in after[step]))
            for step in steps
        }  # fmt: skip
        numbers = {word: number for number, word in enumerate(dict.fromkeys(words.values()))}
        if len(numbers) == len({*kind.values()}):
            break
        kind = {step: numbers[words[step]] for step in steps}
    stands = {kind[step]: Step(step.op, step.given, (), step.joins) for step in steps}
    for step in steps:
        one = stands[kind[step]]
        one.after = {stands[kind[other]]: True for other in after[step]}
        one.starts = tuple((task, stands[kind[start]]) for task, start in step.starts)
    return stands[kind[first]]


def _computed(op, given):
    """The number that an op gives; None: it is not known."""
    if op.name == "arith.constant" and op.results[0].type.kind in ("integer", "index"):
        value = op.attr("value").value
        return int(value) if isinstance(value, (int, bool)) else None
    if op.name in _SAME and isinstance(given[0], (int, Turns)):
        return given[0]
    if op.name == "arith.select" and isinstance(given[0], int):
        return given[1] if given[0] else given[2]
    if len(given) == 2 and isinstance(given[0], Turns) and isinstance(given[1], int):
        return _of_turns(op, *given)
    numbers = len(given) == 2 and all(isinstance(one, int) for one in given)
    if not numbers:
        return None
    if op.name in _ARITHMETIC:
        number = _ARITHMETIC[op.name](*given)
        return number & 1 if str(op.results[0].type) == "i1" else number
    if op.name == "arith.cmpi" and op.attr("predicate").value in _COMPARED:
        return int(_COMPARED[op.attr("predicate").value](*given))
    if op.name in _REST and given[0] >= 0 and given[1] > 0:
        return given[0] % given[1]
    if op.name in _QUOTIENT and given[0] >= 0 and given[1] > 0:
        return given[0] // given[1]
    return None


def _added(value, number: int):
    if isinstance(value, Turns):
        return dataclasses.replace(value, rest=(value.rest + number) % value.of)
    return value + number if isinstance(value, int) else None


def _of_turns(op, turns: Turns, number: int):
    if op.name == "arith.cmpi" and number < turns.least:
        return {"eq": 0, "ne": 1, "slt": 0, "sle": 0, "sgt": 1, "sge": 1}.get(op.attr("predicate").value)
    if op.name == "arith.addi" and number >= 0:
        return _added(turns, number)
    if op.name == "arith.subi" and 0 <= number <= turns.least:
        return Turns((turns.rest - number) % turns.of, turns.of, turns.least - number)
    if (
        op.name == "arith.andi"
        and number >= 0
        and turns.of % (number + 1) == 0
        and (number + 1) & number == 0
    ):
        return turns.rest & number
    divides = number > 0 and turns.of % number == 0
    if op.name in _REST and divides:
        return turns.rest % number
    if op.name in _QUOTIENT and divides:
        return Turns(turns.rest // number, turns.of // number, turns.least // number)
    return None


def _turns(function) -> tuple[int, int]:
    """(the number of turns after which all quotients and remainders by constants are as before, at most
    _MOST_NUMBER, or 0; the largest number that is compared with, or divided by)."""
    turns, largest, found = 1, 1, False
    for op in function.walk():
        if len(op.operands) != 2:
            continue
        number = _constant(op.operands[1])
        if op.name == "arith.cmpi" and number is not None and number <= _MOST_NUMBER:
            largest = max(largest, number)
        if (period := _period(op)) and math.lcm(turns, period) <= _MOST_NUMBER:
            found, turns = True, math.lcm(turns, period)
    return (turns if found else 0), max(largest, turns)


def _period(op) -> int:
    """After how many turns what is made of a counter by an op is as before; 0: it is made otherwise."""
    number = _constant(op.operands[1]) if len(op.operands) == 2 else None
    if number is None or not 0 < number <= _MOST_NUMBER:
        return 0
    if op.name in _REST:
        return number
    if op.name == "arith.andi" and number & (number + 1) == 0:
        return number + 1
    if op.name in _QUOTIENT:
        return number * max((_period(user) for user, _ in op.results[0].uses), default=0)
    return 0


def _constant(value) -> int | None:
    if value.op is None or value.op.name != "arith.constant":
        return None
    number = value.op.attr("value").value
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def group(op, name: str) -> list:
    try:
        return list(op.group(name))
    except KeyError:
        return []


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


def _bound(names, values, env: dict) -> dict:
    """Gives what is known of values under other names; what nobody knows is taken from the old ones."""
    return {name: env.get(value) for name, value in zip(names, values, strict=True)}


def _key(env: dict) -> frozenset:
    return frozenset((name, value) for name, value in env.items() if value is not None)


def _once(states: list) -> list:
    return list({(_key(env), step): (env, step) for env, step in states}.values())


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


def place(op) -> Place:
    location = op.location
    return Place(location.file, location.line) if location is not None else Place("", 0)
