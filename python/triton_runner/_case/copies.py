"""Copies of one value that differ: threads which by layout hold the same element of a value of TTGIR, and
lanes of a warp that store to one place of shared memory, with different bits at PTX.

The compiler computes each copy for itself. Where it contracts a product into the first step of a sum
(a * b + q), each lane rounds another product first, and their sums differ in the last bits (triton#7264).
Two experiments tell whether that matters: all copies become the first holder's, then the last holder's.
"""

from __future__ import annotations

import dataclasses

import numpy

from triton_runner import _settings, ir
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._base.errors import DiagnosticError
from triton_runner._case.results import Finding
from triton_runner._core import probe
from triton_runner._dump import registers
from triton_runner._dump.records import numpy_type
from triton_runner._memory.difference import difference

_MOST_TWINS = 8  # that are compiled for the values of one kernel
_MOST_FINDINGS = 4
_BROADCAST = 0.25  # of all neighbours of an array that repeats values: chance makes fewer of them equal
_ENDLESS = 50  # times what the launch takes, and no less than a minute: an experiment does not end
_UNKNOWN = ("atomic", "asm", "call", "poison", "undef")  # whose copies may differ and be right
# Ops that lanes compute from each other's operands. In all others lanes that hold one element compute it by
# one instruction from equal operands.
_EXCHANGES = ("tt.reduce", "tt.scan")


def why_not(launch) -> str:
    """Why the copies of a launch's values cannot be compared; "" where they can."""
    if not launch.target.startswith("cuda"):
        return f"{launch.target} has no PTX"
    if "ptx" not in launch.levels:
        return "the kernel does not run as PTX"
    try:
        return "" if launch.texts["ttgir"] else "there is no TTGIR of this kernel"
    except (KeyError, DiagnosticError):
        return "there is no TTGIR of this kernel"


def findings(launch, say=lambda text: None, is_rounding=lambda name, a, b: False) -> list[Finding]:
    """What differs between copies of one value, as findings of verify(): one for each value (or exchange)
    where it begins, the first four. A fault where it matters which copy is used (_Effect), else a warning.
    is_rounding(name, a, b): whether an output of two runs differs by no more than rounding explains.

    Empty too where why_not() gives a reason, and where the launch stops at PTX. Raises DiagnosticError where
    the kernel cannot be compiled again.
    """
    if why_not(launch):
        return []
    watched = _Watched(launch)
    if not watched.exchanges:
        return []
    say(f"{launch.name}: ptx, copies of each value")
    plain = watched.run("copies")
    begun = [] if plain.trap else watched.begun()
    if not begun:
        return []
    say(f"{launch.name}: ptx, copies with enable_fp_fusion=False")
    without = _Watched(launch.recompiled(enable_fp_fusion=False))
    ended = without.run("copies, enable_fp_fusion=False").trap is None
    remain = {_key(d) for d in without.differing} if ended else None
    # Of what a mask leaves out of a load, and of a store, only contraction is sure to be the cause.
    begun = [d for d in begun if d.is_whole or _cause(d, remain) == "contraction"]
    if not begun:
        return []
    effect = _effect(watched, plain, say, is_rounding)
    return [_finding(d, remain, effect, len(watched.differing)) for d in begun[:_MOST_FINDINGS]]


def explains(launch, trap) -> bool:
    """Whether a race that the check reports at PTX is made by copies that differ: it goes where all copies
    are the first holder's, and comes with none."""
    if getattr(trap, "kind", "") != "data race" or why_not(launch):
        return False
    watched = _Watched(launch)
    if not watched.exchanges:
        return False
    watched.run("copies")
    if not watched.begun():
        return False
    after = watched.run("copies first", "first", checks="race").trap
    return after is None or (after.file, after.line, after.op) != (trap.file, trap.line, trap.op)


@dataclasses.dataclass(frozen=True, eq=False)
class _Apart:
    """What holds several copies of one element with other bits: a value, or a store of the lanes of a warp.
    threads, registers, bits: of the first two that differ; copies: how many do; is_whole: whether all that
    the value is computed from is defined; exchange: the op that a store belongs to."""

    site: object
    is_store: bool
    program: list
    block: int
    iterations: list
    element: int
    threads: tuple
    registers: tuple
    bits: tuple
    order: int
    copies: int
    is_whole: bool = False
    exchange: object = None


class _Watched:
    """A launch at PTX whose copies are watched. differing: what the last run found."""

    def __init__(self, launch):
        self.launch = launch
        self.ttgir = launch.texts["ttgir"]
        self.differing: list[_Apart] = []
        with _settings.using(device="cpu", level="ptx", target=launch.target):
            self.code = registers.Code(compiled_of(launch.kernel("ptx")))
            self.module = ir.parse(self.ttgir, f"{launch.name}.ttgir")
            self.exchanges = [op for op in self.module.walk() if op.name in _EXCHANGES]
            names = list(dict.fromkeys(self._exchanged()))
            plan = registers.plan_untouched(self.ttgir, names, self.code, _MOST_TWINS) if names else None
        self.plan = plan if plan is not None else probe.merge_plans([])
        self.told = set(self.plan.values)

    def _exchanged(self) -> list[str]:
        """Floating-point results of the ops that exchange between lanes, where several threads hold one."""
        names = [
            site.value
            for site, _ in probe.select(self.module, self.code.name, [("*", [])])
            if site.type[0] in "fb" and site.op in _EXCHANGES
        ]
        if not names:
            return []
        label = f"{self.code.name}.ttgir"
        return probe.tap(self.ttgir, label, self.code.name, list(dict.fromkeys(names))).copied

    def run(self, how: str, unify: str = "", **settings):
        """A run with the copies as they are, or all as the "first" or "last" holder has them."""
        watch = probe.CopyWatch(self.plan, self.code.ptx, self.code.filename, self.code.name, unify)
        run = self.launch.run("ptx", how, recorder=watch, **settings)
        self.differing = [_Apart(**fields) for fields in watch.take()]
        return run

    def begun(self) -> list[_Apart]:
        """Of what differs, what no earlier difference explains."""
        values = [d for d in self.differing if not d.is_store]
        flow = _Origins(self.module, {d.site.value for d in values}, self.told)
        if values:
            begun = [d for d in values if flow.begins(d.site.value)]
            return [dataclasses.replace(d, is_whole=flow.is_whole(d.site.value)) for d in begun]
        # A store of values that differ follows from them: these begin within what one op becomes.
        stores = []
        for d in self.differing:
            op = self._exchange_at(d.site)
            if op is not None and not any(op == other.exchange for other in stores):
                stores.append(dataclasses.replace(d, exchange=op))
        return stores

    def _exchange_at(self, site):
        """The reduction or scan of the TTGIR that a store of the PTX belongs to, by its line."""
        for op in self.exchanges:
            if op.location is None:
                continue
            file = op.location.file.rpartition("/")[2]
            if f"{file}:{op.location.line}" in _places(site.stack):
                return op
        return None


def _places(stack: str) -> list:
    """The "file.py:line" of a stack of places."""
    return [place.rpartition(":")[0] for place in stack.split(" < ")]


class _Origins:
    """Which of the values that differ do so without an operand that does. told: values that are watched."""

    def __init__(self, module, differing: set, marked: set):
        self.differing, self.told, self.values = differing, marked, {}
        for op in module.walk():
            values = [*op.results]
            for region in op.regions:
                for block in region.blocks:
                    values += block.args
            for value in values:
                self.values.setdefault(value.name, value)

    def begins(self, name: str) -> bool:
        """Whether no operand differs, however far back."""
        return not any(value.name in self.differing for value in self._before(name))

    def is_whole(self, name: str) -> bool:
        """Whether all that it is computed from is defined, as far as that is not watched."""
        return all(value.name in self.told or self._is_whole(value) for value in self._before(name))

    def _before(self, name: str):
        """What a value is computed from, however far back, before a loop comes round again."""
        seen, waiting = {name}, [*self._operands(self.values[name])]
        while waiting:
            operand = waiting.pop()
            if operand.name in seen:
                continue
            seen.add(operand.name)
            yield operand
            waiting += self._operands(operand)

    @staticmethod
    def _is_whole(value) -> bool:
        """Whether all elements are defined: not those of a load that a mask leaves out."""
        op = value.op
        if op is None:
            return True
        if op.name == "tt.load":
            return len(op.operands) != 2
        return not any(part in op.name for part in _UNKNOWN)

    @staticmethod
    def _operands(value):
        op = value.op
        if op is not None:
            found = [*op.operands]
            for region in op.regions if op.name in ("scf.if", "scf.for", "scf.while") else ():
                for block in region.blocks:
                    found += [o for inner in block.ops if inner.name == "scf.yield" for o in inner.operands]
            return found
        parent = value.block.parent if value.block is not None else None
        if parent is None or parent.name not in ("scf.for", "scf.while"):
            return []
        return [*parent.operands]


# ---- whether it matters, and what a person reads


@dataclasses.dataclass
class _Effect:
    """What the experiments show. outputs: {argument: {elements, of, max_error}} of those that differ;
    stopped: what an experiment ended with where the launch does not; why: how an output depends on which copy
    is used, by more than rounding, "" where none does."""

    outputs: dict
    stopped: str = ""
    why: str = ""

    @property
    def matters(self) -> bool:
        return bool(self.why or self.stopped)


def _effect(watched: _Watched, plain, say, is_rounding) -> _Effect:
    """What the launch leaves with all copies as the first and as the last holder has them."""
    launch, limit = watched.launch, max(60.0, _ENDLESS * plain.seconds)
    arrays = [plain.arrays]
    for which in ("first", "last"):
        say(f"{launch.name}: ptx, every copy as the {which} holder has it")
        run = watched.run(f"copies {which}", which, timeout=limit)
        if run.trap:
            return _Effect({}, f"with the {which} holder's copies the launch stops: {run.trap}")
        arrays.append(run.arrays)
    outputs: dict = {}
    reasons = []
    for name, own in arrays[0].items():
        first, last = arrays[1][name], arrays[2][name]
        pairs = [difference(a, b) for a, b in ((own, first), (own, last), (first, last))]
        differs = pairs[0].where | pairs[1].where | pairs[2].where
        if not differs.any():
            continue
        error = max(float(numpy.nanmax(pair.error, initial=0.0)) for pair in pairs)
        outputs[name] = {"elements": int(differs.sum()), "of": int(differs.size), "max_error": error}
        if split := _split(first, own):
            reasons.append(f"'{name}' holds one value several times, and not alike: {split}")
        elif not all(is_rounding(name, own, other) for other in (first, last)):
            reasons.append(f"'{name}' differs by more than rounding explains")
    return _Effect(outputs, why=" and ".join(reasons))


def _split(unified, plain) -> str:
    """The first neighbours of an array that is mostly made of repeated values (sums that are broadcast) that
    are equal where all copies are, and not in the plain run; "" where there are none."""
    a, b = unified.reshape(-1), plain.reshape(-1)
    same = ~difference(a[1:], a[:-1]).where
    split = numpy.flatnonzero(same & difference(b[1:], b[:-1]).where)
    if not split.size or same.mean() < _BROADCAST:
        return ""
    at = int(split[0])
    return f"elements {at} and {at + 1} are {b[at].item()!r} and {b[at + 1].item()!r}"


def _key(d: _Apart) -> tuple:
    """What a value or store is in another compilation of the same TTGIR."""
    return d.site.value, d.site.stack, d.is_store


def _cause(d: _Apart, remain: set | None) -> str:
    """remain: what differs with enable_fp_fusion=False too; None where that was not to be run."""
    same_warp = d.threads[0] // 32 == d.threads[1] // 32
    is_gone = remain is not None and _key(d) not in remain
    return "contraction" if is_gone and (same_warp or d.is_whole) else "unknown"


def _number(bits: int, kind: str):
    """The number of the bits of an element type."""
    dtype = numpy_type(kind)
    number = numpy.frombuffer(int(bits).to_bytes(8, "little")[: dtype.itemsize], dtype)[0]
    return float(number) if kind[0] in "fb" else int(number)


def _finding(d: _Apart, remain: set | None, effect: _Effect, total: int) -> Finding:
    site = d.site
    cause = _cause(d, remain)
    if d.is_store:
        exchange = d.exchange
        value, op, variable = exchange.results[0].name, exchange.name, ""
        kind = str(exchange.results[0].type)
        kind = kind.rpartition("x")[2].partition(",")[0] if "tensor" in kind else kind
        element, what = [], "the lanes of a warp store different copies of one partial result"
    else:
        value, op, variable, kind = site.value, site.op, site.variable, site.type
        shape = tuple(site.shape)
        element = [int(i) for i in numpy.unravel_index(d.element, shape)] if shape else []
        what = "copies of one value differ"
    a, b = (_number(bits, kind) for bits in d.bits)
    named = f" ('{variable}')" if variable else ""
    if effect.stopped:
        message = f"{what}{named}; {effect.stopped.splitlines()[0]}"
    elif effect.outputs:
        which = " and ".join(f"'{name}'" for name in effect.outputs)
        how = effect.why or "by no more than rounding explains"
        message = f"{what}{named}: an output depends on which copy is used: {which}; {how}"
    else:
        message = f"{what}{named}: harmless for these inputs"
    holders = [
        {"block": d.block, "thread": thread, "register": register, "number": number}
        for thread, register, number in zip(d.threads, d.registers, (a, b), strict=True)
    ]
    notes = []
    if cause == "contraction":
        notes.append(
            "LLVM contracts a product into the sum (fma), so that each lane rounds another product: "
            "enable_fp_fusion=False ends it"
        )
    else:
        notes.append("the cause is unknown: enable_fp_fusion=False does not end it")
    for name, out in effect.outputs.items():
        notes.append(
            f"with the first and with the last holder's copies {out['elements']} of {out['of']} elements of "
            f"'{name}' differ, by at most {out['max_error']:.3g}"
        )
    where = f"element {element}, " if element else ""
    loop = f", iteration {', '.join(map(str, d.iterations))}" if d.iterations else ""
    lines = [
        message,
        f"{site.file}:{site.line}: {value} = {op}" if site.file else f"{value} = {op}",
        f"program {tuple(d.program)}{loop}, {where}"
        + ", ".join(f"{_holder(holder)}: {holder['number']!r}" for holder in holders),
    ]
    lines += [f"stored by {' '.join(site.op.split())}"] if d.is_store else []
    lines += notes
    rest = total - 1
    lines += [f"{rest} other values or stores have copies that differ too"] if rest else []
    return Finding(
        "copies", "fault" if effect.matters else "warning", ["ptx"], "copies differ", message, site.file,
        site.line, next(iter(effect.outputs), ""), "\n".join(lines), site.column, op, value,
        list(d.program), element, list(d.iterations), "", notes, cause=cause, copies=holders,
        evidence={"copies": d.copies, "outputs": effect.outputs, "stopped": effect.stopped},
    )  # fmt: skip


def _holder(holder: dict) -> str:
    block = f" of block {holder['block']}" if holder["block"] else ""
    register = f", register {holder['register']}" if holder["register"] else ""
    return f"thread {holder['thread']}{block}{register}"
