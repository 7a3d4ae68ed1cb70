"""Runs one launch at several levels, or on an engine and a GPU, and finds the first value that differs.

Every value that has a counterpart (pairs.py) is recorded in each run, in each iteration and program.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy

from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._base.errors import fail
from triton_runner._base.levels import MLIR, ON_CPU, is_above
from triton_runner._code import stores
from triton_runner._code.flow import Flow
from triton_runner._core import ir
from triton_runner._kernel.dumps.dumping import LEVELS as DUMPED
from triton_runner._kernel.dumps.dumping import dumping
from triton_runner._kernel.dumps.records import Dump, Values
from triton_runner._kernel.lockstep.pairs import comparable, counterparts, takes_part
from triton_runner._kernel.lockstep.subject import Subject, subject_of
from triton_runner._launch import gpu_driver
from triton_runner._memory.difference import difference
from triton_runner._memory.difference import tolerance as tolerance_of
from triton_runner._memory.files import kind_of
from triton_runner._worker.spelling import option


class Divergence:
    """A value on which two runs disagree, and the first element that differs: file and line of the Python
    source, the value and op at both levels, program, iteration, element, both numbers, the largest error of
    the record, and how many of its elements differ. copy: the block and thread of a wrong copy of the
    element, if the copy that was read first is right; else None."""

    def __init__(self, first, second, record, error, count, numbers, element, copy=None):
        (self.run, a), (self.other_run, b) = first, second
        self.file, self.line, self.variable = a.file, a.line, a.variable
        self.value, self.op, self.level = a.name, a.op, a.level
        self.other_value, self.other_op, self.other_level = b.name, b.op, b.level
        self.program = tuple(int(i) for i in a.programs[record])
        self.iteration = tuple(int(i) for i in a.iterations[record])
        self.element = tuple(int(i) for i in element)
        self.numbers = numbers
        self.max_error = error
        self.elements = count
        self.of = math.prod(a.shape)
        self.copy = copy

    def to_json(self) -> dict:
        """Returns all fields."""
        return dict(vars(self))

    def __str__(self):
        where = f"{self.file}:{self.line}" if self.file else "a value without a line"
        variable = f" ('{self.variable}')" if self.variable else ""
        loop = f", iteration {', '.join(map(str, self.iteration))}" if self.iteration else ""
        a, b = self.numbers
        count, of = f"{self.elements} of {self.of} elements differ", ""
        if self.copy is not None:
            of = f", in the copy of thread {self.copy['thread']}"
            of += f" of block {self.copy['block']}" if self.copy["block"] else ""
            count = f"{self.elements} copies differ, which other threads or registers hold"
        return "\n".join(
            [
                f"{where}: {self.other_run} differs from {self.run}{variable}",
                f"  {self.run:<12} {self.value} = {self.op}",
                f"  {self.other_run:<12} {self.other_value} = {self.other_op}",
                f"  program {self.program}{loop}, element {list(self.element)}: {a!r} and {b!r}{of}",
                f"  {count}, by at most {self.max_error:.6g}",
            ]
        )

    __repr__ = __str__


class Lockstep:
    """The result of lockstep(). diverged: the first Divergence, or None; differences: the first of each
    value, in order; outputs: arguments that differ after the runs; unobserved: where a launch that is not
    recorded has other outputs or stops otherwise; missing: the first value that a run does not have
    everywhere, where outputs alone differ; traps: what stopped a run; compared: how many values have
    counterparts, by pair of runs; notes; dumps of each run."""

    def __init__(self, runs, differences, outputs, unobserved, missing, compared, notes):
        self.runs = [run.name for run in runs]
        self.compared = compared
        self.diverged = differences[0] if differences else None
        self.differences = differences
        self.outputs, self.unobserved = outputs, unobserved
        self.missing = missing[0] if missing and outputs and not differences else None
        self.traps = {run.name: run.error for run in runs if run.error}
        self.notes = notes
        self.dumps = {run.name: run.dump for run in runs}

    def to_json(self) -> str:
        """Everything but the records, as JSON."""
        fields = {name: value for name, value in vars(self).items() if name != "dumps"}
        return json.dumps(
            fields, indent=2, default=lambda one: vars(one) if type(one) is Divergence else str(one)
        )

    def __str__(self):
        lines = [
            f"{' | '.join(self.runs)}: " + ", ".join(f"{n} values of {p}" for p, n in self.compared.items())
        ]
        if self.diverged is None:
            lines.append("no value differs")
        else:
            lines.append(str(self.diverged))
            rest = len(self.differences) - 1
            lines += [f"{rest} later values differ too"] if rest else []
        lines += [f"{name} stopped: {error}" for name, error in self.traps.items()]
        lines += [f"argument {o['name']!r} of {o['run']}: {o['text']}" for o in self.outputs]
        lines += [self.missing["text"]] if self.missing else []
        for o in self.unobserved:  # a look must not change what is seen: a fault of ours
            lines.append(f"argument {o['name']!r} of {o['run']}: {o['text']}" if o["name"] else o["text"])
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__


def lockstep(
    kernel, args, constexprs=None, *, grid, levels=None, devices=("cpu",), sources=None,
    programs=None, tolerance=None, check=None, shuffle=None, max_bytes=None,
) -> Lockstep:  # fmt: skip
    """Runs one launch several times and finds the first value on which the runs disagree. Every run executes
    the programs in the same order, on one thread. Values that depend on how often a waiting loop iterates are
    not compared.

    - `kernel`: a kernel of `triton_runner.jit` or of `load()`, or the path of a file that `load()` takes.
    - `args`: a list, or a dict by parameter name. Every run starts with the same contents, and the arguments
      are restored afterwards.
    - `constexprs`: keywords of the launch, such as `BLOCK` and `num_warps`.
    - `levels`: levels to run on the CPU, of `"ttir"`, `"ttgir"`, `"llir"`, `"ptx"`, `"cubin"`, `"amdgcn"`; by
      default `("ttir", "ttgir")`. An artifact of LLIR or PTX is compared with the TTGIR beside its file.
    - `devices`: `"cpu"`, and a GPU (`"cuda"`), which is compared at TTGIR.
    - `sources`: `{level: path or text}`, replaces the code that Triton compiles for a level.
    - `programs`: as for `dumping()`.
    - `tolerance`: for floats, relative to the largest number in a record. The default depends on the type:
      f32 1e-4, f16 4e-3, bf16 3e-2. Between ttir and ttgir on the CPU it is 0, because both add in the same
      order.
    - `check`, `shuffle`: as for `using()`, for every run.

    Raises DiagnosticError for a launch that cannot be run.
    """
    on_gpu = [device for device in devices if device != "cpu"]
    # The kernel that the CPU runs is compiled for the GPU that takes part.
    target = gpu_driver.current_target() if on_gpu else None
    subject = subject_of(kernel, args, dict(constexprs or {}), grid, dict(sources or {}), target)
    levels = subject.levels if levels is None else levels
    unknown = [level for level in levels if level not in DUMPED]
    if unknown or not levels:
        raise fail(f"lockstep at level {unknown[0] if unknown else ''!r}", f"levels: {', '.join(DUMPED)}")
    plan = [(level, "cpu", level) for level in sorted(levels, key=ON_CPU.index)] if "cpu" in devices else []
    settings = {"order": shuffle, "checks": check, **subject.settings}
    return _compared(
        subject, [*plan, *((device, device, "ttgir") for device in on_gpu)], settings, tolerance,
        {"programs": programs, "max_bytes": max_bytes},
    )  # fmt: skip


def of_launch(launch: Relaunch, levels: tuple, *, tolerance=None, programs=None, max_bytes=None) -> Lockstep:
    """lockstep() of a Relaunch, at two or more levels on the CPU."""
    plan = [(level, "cpu", level) for level in levels]
    wanted = {"programs": programs, "max_bytes": max_bytes}
    return _compared(Subject(launch), plan, {}, tolerance, wanted)


@dataclasses.dataclass(frozen=True)
class Side:
    """A run of compared_sides(): its name, a launch and a level. until(values, record, nth): whether a value
    whose nth record is the first that differs is among the differences."""

    name: str
    launch: Relaunch
    level: str
    until: Callable | None = None


def compared_sides(sides: list[Side], *, tolerance=None, programs=None, max_bytes=None):
    """Runs two sides on the CPU: ([Divergence], how many values were compared, their runs)."""
    wanted, runs = {"programs": programs, "max_bytes": max_bytes}, []
    for side in sides:
        own = [run for run in runs if run.launch is side.launch]
        plan = [(level, "cpu", level) for level in ("ttgir", side.level)]
        run = _Run(side.name, "cpu", side.level, side.launch, {}, until=side.until)
        if side.level not in MLIR and not any(run.level == "ttgir" for run in own):
            above = _Run(f"{side.name}, its ttgir", "cpu", "ttgir", side.launch, {})
            own.append(_recorded(above, [], plan, wanted))
        runs.append(_recorded(run, own, plan, wanted))
    differences, _, compared = _compare(*runs, tolerance)
    return differences, compared, runs


def _compared(subject: Subject, plan: list, settings: dict, tolerance, wanted: dict) -> Lockstep:
    """plan: (name, device, level) of each run; settings: of Relaunch.run; wanted: of the records."""
    launch = subject.launch
    if len(plan) < 2:
        raise fail(
            "lockstep compares two runs or more",
            "as in " + option("levels", "ttir,ttgir", '["ttir", "ttgir"]'),
        )
    if above := [level for _, device, level in plan if device == "cpu" and is_above(level, launch.entry)]:
        raise fail(
            f"kernel '{launch.name}' enters at {launch.entry}, and nothing is given to run at {above[0]}",
            f"{option('levels')} from {launch.entry} on, or sources={{{above[0]!r}: path or text}}",
        )
    notes: list[str] = list(subject.notes)
    runs: list[_Run] = []
    for name, device, level in plan:
        launched = subject.on_gpu or launch if device != "cpu" else launch
        run = _recorded(_Run(name, device, level, launched, settings), runs, plan, wanted)
        runs.append(run)
        notes += [f"{name}: {note}" for note in [*run.dump.notes, *run.dump.changes][:8]]
    differences, missing, compared = [], [], {}
    for a, b in itertools.pairwise(runs):
        if b.device != "cpu" or b.level in ("cubin", "amdgcn"):  # the same text where that ran here too
            a = next((run for run in runs if run.level == "ttgir" and run.device == "cpu"), a)
        pair_differences, pair_missing, count = _compare(a, b, tolerance)
        compared[f"{a.name} and {b.name}"] = count
        differences += pair_differences
        missing += pair_missing
    text = next((run.text for run in runs if run.text), "")
    code = functools.cache(lambda: ir.parse(text) if text else None)  # where something differs
    outputs = [output for run in runs[1:] for output in _outputs(runs[0], run, code, tolerance)]
    unobserved = []
    for run in runs:
        # Recording can hide a fault, because it materialises values and prevents fusion; a user's launch may
        # behave differently.
        plain = _Run(f"{run.name}, not recorded", run.device, run.level, run.launch, settings)
        plain.launched()
        unobserved += _stopped_otherwise(run, plain)
        unobserved += _outputs(run, plain, code, tolerance, " from the recorded run", exact=False)
    return Lockstep(runs, differences, outputs, unobserved, missing, compared, notes)


@dataclasses.dataclass
class _Run:
    """A run of the launch: its records, its outputs by argument, and its trap. text, flow: for TTIR and
    TTGIR; polled: values inside loops that wait."""

    name: str
    device: str
    level: str
    launch: Relaunch
    settings: dict
    dump: Dump | None = None
    outcome: Outcome | None = None
    error: str | None = None
    text: str = ""
    flow: Flow | None = None
    polled: set = dataclasses.field(default_factory=set)
    until: Callable | None = None  # of a Side

    def launched(self, record=None):
        """The kernel as it ran."""
        outcome = self.launch.run(self.level, self.name, device=self.device, record=record, **self.settings)
        self.error = str(outcome.trap).splitlines()[0] if outcome.trap else None
        self.outcome = outcome
        return outcome.kernel

    def differing(self, other: _Run) -> list[tuple]:
        """(name, its array, the other's) of the arguments in which bits differ after two runs."""
        a, b = self.outcome, other.outcome
        names = a.differing(b) if a is not None and b is not None else ()
        return [(name, a.arrays[name], b.arrays[name]) for name in names]


def _recorded(run: _Run, before: list[_Run], plan: list, wanted: dict) -> _Run:
    """Makes a run and records its values. before: the runs at higher levels."""
    nothing = SimpleNamespace(series=[], notes=[])  # of a run below TTGIR that stopped
    selectors, ttgir = ("*",), ""
    if run.level not in MLIR:
        above = next((other for other in reversed(before) if other.level == "ttgir"), None)
        if above is None and (run.level == "amdgcn" or any(level == "cubin" for *_, level in plan)):
            run.launched()
            nothing.notes = ["only what it leaves in memory is compared"]
            run.dump = Dump(nothing)
            return run
        if above is None:
            raise fail(
                "values of PTX are compared with those of TTGIR",
                "as in " + option("levels", "ttgir,ptx", '["ttgir", "ptx"]'),
            )
        there = [v for v in above.dump if takes_part(v, above.polled)]
        selectors = tuple(v.name for v in there if run.level != "cubin" or comparable(v))
        ttgir = above.text
    session = dumping(run.launch.name, *selectors, every_iteration=True, **wanted)
    session.adapt(level=run.level, lenient=True, ttgir=ttgir)
    with session:
        kernel = run.launched(session.record)
    if run.level in MLIR:
        run.text = kernel.asm[run.level]
        run.flow = Flow(run.text, kernel.name)
        run.polled = run.flow.polled()
    run.dump = session.launches[-1] if session.launches else Dump(nothing)
    return run


def _outputs(want: _Run, got: _Run, code, tolerance, than: str = "", exact: bool | None = None) -> list[dict]:
    """The arguments that differ after two runs: name, run, number of elements, largest difference, and the
    first op of code(), TTIR or TTGIR, that writes to it. exact: both runs add in the same order."""
    exact = _exact(want, got) if exact is None else exact
    pairs = []
    for name, array, other in want.differing(got):
        differs = difference(array, other, _allowed(kind_of(array.dtype), tolerance, exact))
        if differs:
            told = f"{differs}{than}, by at most {differs.max_error:.6g}"
            op = stores.store_to(code(), name) if code() else None
            pairs.append(_output(got, name, told, differs.elements, differs.max_error, op))
    return pairs


def _output(
    run: _Run, name: str, text: str, elements: int = 0, max_error: float = 0.0, op: ir.Op | None = None
) -> dict:
    output = {"name": name, "run": run.name, "elements": elements, "max_error": max_error, "text": text}
    if op is not None and op.location.file:
        output |= {"file": op.location.file, "line": op.location.line, "op": op.name}
        output["text"] += f"; {op.name} at {op.location.file}:{op.location.line} writes to it"
    return output


def _stopped_otherwise(run: _Run, plain: _Run) -> list[dict]:
    """Compares the kind, op and line of the traps: at PTX any of several programs may trap first."""
    a, b = ((run_.error or "").split(", program", 1)[0] for run_ in (run, plain))
    text = f"{plain.name}: {plain.error or 'ran to its end'}; recorded: {run.error or 'ran to its end'}"
    return [] if a == b else [_output(plain, "", text)]


# ---- what differs


def _sequence(group: list[Values]) -> dict:
    """{program: [(order, values, record), ...]} in the order of execution."""
    by_value: dict = {}
    for number, values in enumerate(group):
        order = values.order
        for record, program in enumerate(values.programs.tolist()):
            at = (int(order[record]),) if order is not None else (*values.iterations[record].tolist(), number)
            by_value.setdefault(tuple(program), []).append((at, values, record))
    for records in by_value.values():
        records.sort(key=lambda r: r[0])
    return by_value


def _compare(a, b, tolerance):
    """The values of two runs that differ, each with its first differing record, in the first run's order of
    execution; those that the second run does not have everywhere; and the number of compared values."""
    across = a.device == b.device and a.launch is not b.launch
    by_place = across or "ttir" in (a.level, b.level)
    pairs = counterparts(a, b, across)
    exact = _exact(a, b)
    found, missing = [], []
    for number, (mine, theirs) in enumerate(pairs):
        x, y = _sequence(mine), _sequence(theirs)
        missing += _missing(x, y, number, a, b)
        for program in sorted(set(x) & set(y), key=lambda p: p[::-1]):
            allowed = _allowed(mine[0].type, tolerance, exact)
            p, q = _as_stored(x[program], y[program], b)
            first = _first_record(p, q, allowed)
            if first is None:
                continue
            if by_place and _runs_ahead(p, q, allowed):
                continue
            found.append((program[::-1], first[0], number, first[1:]))
            break
    found.sort(key=lambda f: f[:3])
    if (by_place or b.level in ("cubin", "amdgcn")) and found and a.flow is not None:
        changed = b.error is not None or any(difference(x, y) for _, x, y in a.differing(b))
        found = _that_matter(found, a.flow, {v.name for group, _ in pairs for v in group}, changed)
    differences = [
        Divergence((a.name, va), (b.name, vb), i, *difference)
        for _, _, _, (va, i, vb, j, nth, difference) in found
        if (a.until is None or a.until(va, i, nth)) and (b.until is None or b.until(vb, j, nth))
    ]
    return differences, [told for *_, told in sorted(missing, key=lambda m: m[:3])[:1]], len(pairs)


def _missing(x, y, number: int, a, b) -> list[tuple]:
    """Returns (program, order, the value's number, what is said of it) where the second run has a value less
    often in a program than the first one."""
    for program in sorted(x, key=lambda p: p[::-1]):
        records, there = x[program], y.get(program, ())
        if len(there) < len(records) and not any(v.dropped for _, v, _ in (*records, *there)):
            at, values, _ = records[len(there)]
            where = f"{values.file}:{values.line}" if values.file else "a value without a line"
            told = (
                f"{where}: the first value that {b.name} does not have everywhere is {values.name} = "
                f"{values.op}: of {len(records)} in program {program} {len(there)} are there"
            )
            fields = {"run": b.name, "file": values.file, "line": values.line, "value": values.name}
            return [(program[::-1], at, number, {**fields, "op": values.op, "text": told})]
    return []


def _as_stored(x, y, run):
    """The records of a program that both runs have. On a GPU, each call of a function overwrites the record
    of the previous call."""
    site = y[0][1].site
    if run.device == "cpu" or len(x) == len(y) or site.path.split("/")[0] == site.kernel:
        return x, y
    return ([], []) if site.loops else (x[-1:], y[-1:])


def _first_record(x, y, allowed):
    """(order, values, record, other values, their record, how many records were before, difference) of the
    first records that differ."""
    for nth, ((at, va, i), (_, vb, j)) in enumerate(zip(x, y, strict=False)):
        difference = _first(va, i, vb, j, allowed) or _first_copy(va, i, vb, j, allowed)
        if difference is not None:
            return at, va, i, vb, j, nth, difference
    return None


def _runs_ahead(x, y, allowed) -> bool:
    """Returns whether the second run computes the same values some iterations earlier or later, as pipelined
    loops do with the operands of loads."""
    for shift in (1, 2, 3, -1, -2, -3):
        mine, theirs = x[max(shift, 0) :], y[max(-shift, 0) :]
        overlap = min(len(mine), len(theirs))
        if overlap >= max(1, len(x) - 4) and _first_record(mine, theirs, allowed) is None:
            return True
    return False


def _that_matter(differences, flow: Flow, compared: set, outputs_differ: bool) -> list:
    """The differences that affect a later value or an output. The others come from passes that rightly
    compute something in another way."""
    differing = {first[3][0].name for first in differences}
    read = {name: flow.readers(name, compared) for name in differing}
    matter: set[str] = set()
    more = {n for n, (readers, stored) in read.items() if outputs_differ and (stored or not readers)}
    while more:  # and what goes into one of them
        matter |= more
        more = {n for n, (readers, _) in read.items() if readers & matter} - matter
    return [first for first in differences if first[3][0].name in matter]


def _exact(a, b) -> bool:
    """Returns whether both runs sum in the same order: TTIR and TTGIR on the tile engine."""
    return a.device == b.device == "cpu" and {a.level, b.level} <= {*MLIR}


def _allowed(kind: str, tolerance, exact: bool) -> float:
    """The allowed difference. exact: both runs add in the same order, so that the default is 0."""
    return 0.0 if exact and tolerance is None else tolerance_of(kind, tolerance)


def _first(va: Values, i: int, vb: Values, j: int, allowed: float):
    """(largest error, number of differing elements, both numbers, element) of two records, or None."""
    a, b = va.to_numpy()[i], vb.to_numpy()[j]
    if vb.mask is not None or va.mask is not None:
        there = _there(va, i, vb, j)
        a, b = numpy.where(there, a, a.dtype.type(0)), numpy.where(there, b, b.dtype.type(0))
    if a.tobytes() == b.tobytes():
        return None
    distance = difference(a, b, allowed)
    return _told(distance, distance.element) if distance else None


def _first_copy(va: Values, i: int, vb: Values, j: int, allowed: float):
    """The same for copies in vb's record: elements that are right in the register that was read first, and
    wrong in another register that holds them."""
    elements, blocks, threads, values = vb.copies(j)
    there = _there(va, i, vb, j).reshape(-1)[elements] if len(elements) else numpy.zeros(0, bool)
    if not there.any():
        return None
    elements, blocks, threads, values = elements[there], blocks[there], threads[there], values[there]
    whole = va.to_numpy()[i].reshape(-1)
    distance = difference(whole[elements], values, allowed, whole)
    if not distance:
        return None
    (at,) = distance.element
    element = numpy.unravel_index(int(elements[at]), va.shape) if va.shape else ()
    return *_told(distance, element), {"block": int(blocks[at]), "thread": int(threads[at])}


def _there(va: Values, i: int, vb: Values, j: int) -> numpy.ndarray:
    """The elements of a record that are not masked off in either run."""
    there = numpy.ones(va.shape, bool)
    for values, record in ((va, i), (vb, j)):
        if values.mask is not None:
            there &= values.mask[record]
    return there


def _told(difference, element) -> tuple:
    return difference.max_error, difference.elements, tuple(+n for n in difference.numbers), element
