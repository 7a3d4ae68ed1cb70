"""Finds copies of one value that differ at PTX: threads whose layout gives them the same element of a TTGIR
value, or lanes of a warp that store to one place of shared memory, have different bits.

The compiler computes each copy separately. If it contracts a product into the first step of a sum (a * b +
q), each lane rounds another product first, and the sums differ in their last bits (triton#7264). Two
experiments decide whether that matters: all copies take the first holder's value, then the last holder's."""

from __future__ import annotations

import dataclasses

import numpy

from triton_runner import _core, _settings, ir
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._base.errors import DiagnosticError
from triton_runner._core import probe
from triton_runner._kernel.cases.results import Finding
from triton_runner._kernel.dumps import registers
from triton_runner._kernel.dumps.records import numpy_type
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
    """The reason why the copies of a launch's values cannot be compared; "" if they can."""
    if not launch.target.startswith("cuda"):
        return f"{launch.target} has no PTX"
    if "ptx" not in launch.levels:
        return "the kernel does not run as PTX"
    try:
        return "" if launch.texts["ttgir"] else "there is no TTGIR of this kernel"
    except (KeyError, DiagnosticError):
        return "there is no TTGIR of this kernel"


def findings(
    launch, say=lambda text: None, is_rounding=lambda name, pair: False, ran=lambda run: None
) -> list[Finding]:
    """Findings of verify() about copies that differ: one for each value (or exchange) in which a difference
    begins, at most four. A finding is a fault if it matters which copy is used (_Effect), else a warning.
    is_rounding(name, pair): whether rounding explains the difference of an output between two runs; ran(run):
    is told of each run.

    Returns none if why_not() gives a reason or the launch stops at PTX. Raises DiagnosticError if the kernel
    cannot be compiled again.
    """
    if why_not(launch):
        return []
    watched = _Watched(launch, ran)
    if not watched.exchanges:
        return []
    say(f"{launch.name}: ptx, copies of each value")
    plain = watched.run("copies")
    begun = [] if plain.trap else watched.begun()
    if not begun:
        return []
    say(f"{launch.name}: ptx, copies with enable_fp_fusion=False")
    without = _Watched(launch.recompiled(enable_fp_fusion=False), ran)
    ended = without.run("copies, enable_fp_fusion=False").trap is None
    remain = {_key(d) for d in without.differing} if ended else None
    # For what a mask leaves out of a load, and of a store, only contraction is sure to be the cause.
    begun = [d for d in begun if d.is_whole or _cause(d, remain) == "contraction"]
    if not begun:
        return []
    effect = _effect(watched, plain, say, is_rounding)
    return [_finding(d, remain, effect, len(watched.differing)) for d in begun[:_MOST_FINDINGS]]


def explains(launch, trap, ran=lambda run: None) -> bool:
    """Returns whether copies that differ cause a race that the check reports at PTX: it disappears if all
    copies are the first holder's."""
    if getattr(trap, "kind", "") != "data race" or why_not(launch):
        return False
    watched = _Watched(launch, ran)
    if not watched.exchanges:
        return False
    watched.run("copies")
    if not watched.begun():
        return False
    after = watched.run("copies first", "first", checks="race").trap
    return after is None or (after.file, after.line, after.op) != (trap.file, trap.line, trap.op)


@dataclasses.dataclass(frozen=True, eq=False)
class _Apart:
    """A value, or a store of the lanes of a warp, whose copies of one element have different bits. threads,
    registers, bits: those of the first two copies that differ; copies: how many differ; is_whole: whether all
    inputs of the value are defined; exchange: the op to which a store belongs."""

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
    """A launch at PTX whose copies are compared. differing: the differences of the last run."""

    def __init__(self, launch, ran=lambda run: None):
        self.launch, self._ran = launch, ran
        self.ttgir = launch.texts["ttgir"]
        self.differing: list[_Apart] = []
        with _settings.using(device="cpu", level="ptx", target=launch.target):
            self.code = registers.Code(compiled_of(launch.kernel("ptx")))
            self.module = ir.parse(self.ttgir, f"{launch.name}.ttgir")
            self.exchanges = [op for op in self.module.walk() if op.name in _EXCHANGES and _rounds(op)]
            names = list(dict.fromkeys(self._exchanged()))
            plan = registers.plan_untouched(self.ttgir, names, self.code, _MOST_TWINS) if names else None
        self.plan = plan if plan is not None else probe.merge_plans([])
        self.told = set(self.plan.values)

    def _exchanged(self) -> list[str]:
        """The floating-point results of ops that exchange data between lanes and of which threads hold
        copies."""
        results = {value.name for op in self.exchanges for value in op.results}
        names = [
            site.value
            for site, _ in probe.select(self.module, self.code.name, [("*", [])])
            if results
            if site.type[0] in "fb" and site.value in results
        ]
        if not names:
            return []
        label = f"{self.code.name}.ttgir"
        return probe.tap(self.ttgir, label, self.code.name, list(dict.fromkeys(names))).copied

    def run(self, how: str, unify: str = "", **settings):
        """A run with the copies unchanged, or all set to those of the "first" or "last" holder."""
        watch = probe.CopyWatch(self.plan, self.code.ptx, self.code.filename, self.code.name, unify)
        run = self.launch.run("ptx", how, recorder=watch, **settings)
        self._ran(run)
        self.differing = [_Apart(**fields) for fields in watch.take()]
        return run

    def begun(self) -> list[_Apart]:
        """The differences that no earlier difference explains."""
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
        """The reduction or scan of the TTGIR to which a store of the PTX belongs, by its line."""
        for op in self.exchanges:
            if op.location is None:
                continue
            file = op.location.file.rpartition("/")[2]
            if f"{file}:{op.location.line}" in _places(site.stack):
                return op
        return None


def _rounds(op) -> bool:
    """Returns whether lanes may give their copies other bits: what does not round (a maximum) gives all the
    same."""
    return any(inner.does("rounds") or inner.name == "tt.call" for inner in op.walk())


def _places(stack: str) -> list:
    """The "file.py:line" of a stack of places."""
    return [place.rpartition(":")[0] for place in stack.split(" < ")]


class _Origins:
    """Finds the values that differ although none of their operands does. told: the compared values."""

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
        """Returns whether no direct or indirect operand differs."""
        return not any(value.name in self.differing for value in self._before(name))

    def is_whole(self, name: str) -> bool:
        """Returns whether all inputs of a value that are not compared themselves are defined."""
        return all(value.name in self.told or self._is_whole(value) for value in self._before(name))

    def _before(self, name: str):
        """The direct and indirect operands of a value within one iteration of a loop."""
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
        """Returns whether all elements are defined: masked-off elements of a load are not."""
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
    """The result of the experiments. outputs: {argument: {elements, of, max_error}} of those that differ;
    stopped: the trap of an experiment, if the launch itself has none; why: how an output depends on the
    choice of the copy by more than rounding explains, or ""."""

    outputs: dict
    stopped: str = ""
    why: str = ""

    @property
    def matters(self) -> bool:
        return bool(self.why or self.stopped)


def _effect(watched: _Watched, plain, say, is_rounding) -> _Effect:
    """Runs the launch with all copies set to the first holder's and to the last holder's."""
    launch, limit = watched.launch, max(60.0, _ENDLESS * plain.seconds)
    runs = [plain]
    for which in ("first", "last"):
        say(f"{launch.name}: ptx, every copy as the {which} holder has it")
        run = watched.run(f"copies {which}", which, timeout=limit)
        if run.trap:
            return _Effect({}, f"with the {which} holder's copies the launch stops: {run.trap}")
        runs.append(run)
    outputs: dict = {}
    reasons = []
    for name in dict.fromkeys(name for run in runs[1:] for name in plain.differing(run)):
        own, first, last = (run.arrays[name] for run in runs)
        pairs = [difference(a, b) for a, b in ((own, first), (own, last), (first, last))]
        differs = pairs[0].where | pairs[1].where | pairs[2].where
        if not differs.any():
            continue
        error = max(float(numpy.nanmax(pair.error, initial=0.0)) for pair in pairs)
        outputs[name] = {"elements": int(differs.sum()), "of": int(differs.size), "max_error": error}
        if split := _split(first, own):
            reasons.append(f"'{name}' holds one value several times, and not alike: {split}")
        elif not all(is_rounding(name, plain.pairs(run)[name]) for run in runs[1:]):
            reasons.append(f"'{name}' differs by more than rounding explains")
    return _Effect(outputs, why=" and ".join(reasons))


def _split(unified, plain) -> str:
    """For an array of mostly repeated values (broadcast sums): the first neighbours that are equal with
    unified copies, but not in the plain run; "" if there are none."""
    a, b = unified.reshape(-1), plain.reshape(-1)
    same = ~difference(a[1:], a[:-1]).where
    split = numpy.flatnonzero(same & difference(b[1:], b[:-1]).where)
    if not split.size or same.mean() < _BROADCAST:
        return ""
    at = int(split[0])
    return f"elements {at} and {at + 1} are {b[at].item()!r} and {b[at + 1].item()!r}"


def _key(d: _Apart) -> tuple:
    """A key that finds the same value or store in another compilation of the TTGIR."""
    return d.site.value, d.site.stack, d.is_store


def _cause(d: _Apart, remain: set | None) -> str:
    """remain: the differences with enable_fp_fusion=False; None if that run was not made."""
    same_warp = d.threads[0] // 32 == d.threads[1] // 32
    is_gone = remain is not None and _key(d) not in remain
    return "contraction" if is_gone and (same_warp or d.is_whole) else "unknown"


def _number(bits: int, kind: str):
    """The number that some bits of an element type represent."""
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
        advice=_core.advice_on("data race", "copies"),
    )  # fmt: skip


def _holder(holder: dict) -> str:
    block = f" of block {holder['block']}" if holder["block"] else ""
    register = f", register {holder['register']}" if holder["register"] else ""
    return f"thread {holder['thread']}{block}{register}"
