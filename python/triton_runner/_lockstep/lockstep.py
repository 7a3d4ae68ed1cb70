"""The same launch at several levels, or on engine and GPU, value by value: where does it first go wrong?

Every value that has a counterpart (_lockstep_pairs) is recorded in each run, each iteration of each program.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
from types import SimpleNamespace

import numpy

from triton_runner import _settings
from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import KernelTrap, fail
from triton_runner._base.levels import MLIR, ON_CPU
from triton_runner._dump.dumping import dumping
from triton_runner._dump.records import Dump, Values
from triton_runner._launch import gpu_driver
from triton_runner._launch.launchers import unseen
from triton_runner._lockstep import loaded
from triton_runner._lockstep.flow import Flow
from triton_runner._lockstep.pairs import counterparts, takes_part
from triton_runner._memory.arguments import Arguments
from triton_runner._memory.difference import difference
from triton_runner._memory.difference import tolerance as tolerance_of
from triton_runner._memory.files import kind_of


class Divergence:
    """A value that two runs disagree on, at the first element that does: file and line of the Python source,
    the value and op at each of the two levels, program, iteration, element, both numbers, the largest error
    of that record, and how many of its elements differ. copy: where the element is right in the register that
    was read first and wrong in another one that holds it too, the block and thread of that; else None."""

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
    """What lockstep() found. diverged: the first Divergence, or None; differences: the first of each value,
    in the order of execution; outputs: the arguments that the runs leave different; unobserved: where a
    launch that nobody records leaves others than the recorded one, or stops otherwise; traps: what stopped a
    run, by its name; compared: how many values had counterparts, by pair of runs; notes; dumps: each run's
    Dump."""

    def __init__(self, runs, differences, outputs, unobserved, compared, notes):
        self.runs = [run.name for run in runs]
        self.compared = compared
        self.diverged = differences[0] if differences else None
        self.differences = differences
        self.outputs, self.unobserved = outputs, unobserved
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
    - `levels`: levels to run on the CPU, of `"ttir"`, `"ttgir"`, `"llir"`, `"ptx"`, `"cubin"`; by default
      `("ttir", "ttgir")`. An artifact of LLIR or PTX is compared with the TTGIR beside its file.
    - `devices`: `"cpu"`, and a GPU (`"cuda"`), which is compared at TTGIR.
    - `sources`: `{level: path or text}`, replaces the code that Triton compiles for a level.
    - `programs`: as for `dumping()`.
    - `tolerance`: for floats, relative to the largest number in a record. The default depends on the type:
      f32 1e-4, f16 4e-3, bf16 3e-2. Between ttir and ttgir on the CPU it is 0, because both add in the same
      order.
    - `check`, `shuffle`: as for `using()`, for every run.

    Raises DiagnosticError for a launch that cannot be run.
    """
    if loaded.is_loaded(kernel):
        kernel, sources = loaded.Loaded(kernel, dict(sources or {})), None
        levels = kernel.usual_levels() if levels is None else levels
    levels = MLIR if levels is None else levels
    unknown = [level for level in levels if level not in ON_CPU]
    if unknown or not levels:
        raise fail(f"lockstep at level {unknown[0] if unknown else ''!r}", f"levels: {', '.join(ON_CPU)}")
    plan = [(f"{level}", "cpu", level) for level in sorted(levels, key=ON_CPU.index)]
    if "cpu" not in devices:
        plan = []
    plan += [(f"{device}", device, "ttgir") for device in devices if device != "cpu"]
    if len(plan) < 2:
        raise fail(
            "lockstep compares two runs or more", 'levels=["ttir", "ttgir"], or devices=["cpu", "cuda"]'
        )
    runner = _Runner(kernel, args, dict(constexprs or {}), grid, dict(sources or {}))
    # One order of programs in every run: what atomics leave is then the same each time.
    settings = {"check": check, "shuffle": shuffle, "target": _target_of(devices), "threads": 1}
    runner.settings = {name: value for name, value in settings.items() if value is not None}
    notes: list[str] = list(getattr(kernel, "notes", ()))
    runs: list[_Run] = []
    for name, device, level in plan:
        run = runner.recorded(_Run(name, device, level), runs, programs, max_bytes)
        runs.append(run)
        notes += [f"{name}: {note}" for note in [*run.dump.notes, *run.dump.changes][:8]]
    differences, compared = [], {}
    for a, b in itertools.pairwise(runs):
        if b.device != "cpu":  # the same text where that ran here too
            a = next((run for run in runs if run.level == "ttgir" and run.device == "cpu"), a)
        pair_differences, count = _compare(a, b, tolerance)
        compared[f"{a.name} and {b.name}"] = count
        differences += pair_differences
    outputs = [output for run in runs[1:] for output in _outputs(runs[0], run, tolerance)]
    unobserved = []
    for run in runs:
        plain = runner.unobserved(run)
        unobserved += _stopped_otherwise(run, plain)
        unobserved += _outputs(run, plain, tolerance, " from the recorded run", exact=False)
    runner.arguments.put_back()
    return Lockstep(runs, differences, outputs, unobserved, compared, notes)


def of_launch(launch: Relaunch, levels: tuple, **options) -> Lockstep:
    """lockstep() of a launch that can be run again, at two levels or more, on the CPU."""
    with unseen(), _settings.using(device="cpu", level=levels[0], target=launch.target, threads=1):
        kernel = launch.kernel(levels[0])
        names = [param.name for param in kernel.params]
        args = [value for name, value in launch.arguments.named if name in names]
        sources = {level: launch.texts[level] for level in levels[1:]}
        return lockstep(kernel, args, grid=launch.grid, levels=levels, sources=sources, **options)


def _target_of(devices) -> str | None:
    """The GPU's architecture, which the CPU's runs are compiled for too; None where no GPU is asked for."""
    if not any(device != "cpu" for device in devices):
        return None
    return gpu_driver.current_target()


@dataclasses.dataclass
class _Run:
    """A run of the launch: what was recorded, what it left by argument, and what stopped it. text, flow: of
    TTIR and TTGIR; polled: what loops that wait go through."""

    name: str
    device: str
    level: str
    dump: Dump | None = None
    outputs: dict = dataclasses.field(default_factory=dict)
    error: str | None = None
    text: str = ""
    flow: Flow | None = None
    polled: set = dataclasses.field(default_factory=set)


class _Runner:
    """Runs the launch again and again, each time from what its arguments held at first; settings: of all."""

    def __init__(self, kernel, args, constexprs: dict, grid, sources: dict):
        self.kernel, self.constexprs, self.grid, self.sources = kernel, constexprs, grid, sources
        names = [*getattr(kernel, "arg_names", ()), *(f"#{i}" for i in range(len(args)))]
        self._is_named = isinstance(args, dict)
        pairs = args.items() if self._is_named else zip(names, args, strict=False)
        self.arguments = Arguments(list(pairs))
        self._there: dict[str, Arguments] = {}  # by device
        self.settings: dict = {}

    def recorded(self, run: _Run, before: list[_Run], programs, max_bytes) -> _Run:
        """The run with its values; before: the runs above it."""
        if run.level == "cubin":
            self._launch(run)
            run.dump = Dump(SimpleNamespace(series=[], notes=["only what machine code leaves is compared"]))
            return run
        selectors, ttgir = ("*",), ""
        if run.level in ("llir", "ptx"):
            above = next((r for r in reversed(before) if r.level == "ttgir"), None)
            if above is None:
                raise fail("values of PTX are compared with those of TTGIR", 'levels=["ttgir", "ptx"]')
            selectors = tuple(v.name for v in above.dump if takes_part(v, above.polled))
            ttgir = above.text
        more = {"every_iteration": True, "programs": programs, "max_bytes": max_bytes}
        with dumping(self.kernel, *selectors, **more) as session:
            session.adapt(level=run.level, lenient=True, ttgir=ttgir)
            compiled = self._launch(run)
        if compiled is not None and run.level in MLIR:
            run.text = compiled.asm[run.level]
            run.flow = Flow(run.text, compiled.name)
            run.polled = run.flow.polled()
        nothing = SimpleNamespace(series=[], notes=[])  # of a run at PTX that stopped
        run.dump = session.launches[-1] if session.launches else Dump(nothing)
        return run

    def unobserved(self, run: _Run) -> _Run:
        """The same launch without a probe. Recording may hide a fault, as values are written out then and
        instructions are not fused, so that a recorded run says little about the launch that a user makes."""
        plain = _Run(f"{run.name}, not recorded", run.device, run.level)
        self._launch(plain, dump=False)
        return plain

    def _launch(self, run: _Run, **settings):
        """What the launch returns; None where it stops."""
        if run.device not in self._there:
            is_there = self.arguments.is_on(run.device)
            self._there[run.device] = self.arguments if is_there else self.arguments.copied(run.device)
        there = self._there[run.device]
        there.put_back(self.arguments.first)
        args = [] if self._is_named else [value for _, value in there.named]
        named = dict(there.named) if self._is_named else {}
        level = run.level if run.device == "cpu" else None
        compiled = None
        try:
            with _settings.using(device=run.device, level=level, **settings, **self.settings):
                compiled = self.kernel[self.grid](*args, **named, **self.constexprs, **self._source(run))
        except KernelTrap as error:  # what was recorded until then is compared all the same
            run.error = str(error).splitlines()[0]
        run.outputs = there.arrays()
        return compiled

    def _source(self, run: _Run) -> dict:
        """What is given for a level is what the levels below it are made of, unless they have their own."""
        entry = run.level if run.device == "cpu" else "ttgir"
        sources = self.sources
        if run.device != "cpu" and run.device in sources:
            sources = {"ttgir": sources[run.device]}
        above = reversed(ON_CPU[: ON_CPU.index(entry) + 1])
        level = next((level for level in above if level in sources), None)
        return {f"{level}_src": os.fspath(sources[level])} if level else {}


def _outputs(want: _Run, got: _Run, tolerance, than: str = "", exact: bool | None = None) -> list[dict]:
    """Of the arguments that a run leaves otherwise than another did: name, run, how many elements, by how
    much at most. exact: both add in the same order."""
    exact = _exact(want, got) if exact is None else exact
    pairs = []
    for name, array in want.outputs.items():
        differs = difference(array, got.outputs[name], _allowed(kind_of(array.dtype), tolerance, exact))
        if differs:
            text = f"{differs}{than}, by at most {differs.max_error:.6g}"
            pairs.append(_output(got, name, text, differs.elements, differs.max_error))
    return pairs


def _output(run: _Run, name: str, text: str, elements: int = 0, max_error: float = 0.0) -> dict:
    return {"name": name, "run": run.name, "elements": elements, "max_error": max_error, "text": text}


def _stopped_otherwise(run: _Run, plain: _Run) -> list[dict]:
    """By kind, op and line of the trap: at PTX any of several programs may be the first."""
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
    """The differing values of two runs, each by its first record that differs, in the order of execution of
    the first run; and how many values were compared."""
    pairs = counterparts(a, b)
    exact = _exact(a, b)
    found = []
    for number, (mine, theirs) in enumerate(pairs):
        x, y = _sequence(mine), _sequence(theirs)
        for program in sorted(set(x) & set(y), key=lambda p: p[::-1]):
            allowed = _allowed(mine[0].type, tolerance, exact)
            p, q = _as_stored(x[program], y[program], b)
            first = _first_record(p, q, allowed)
            if first is None:
                continue
            if a.level == "ttir" and _runs_ahead(p, q, allowed):
                continue
            found.append((program[::-1], first[0], number, first[1:]))
            break
    found.sort(key=lambda f: f[:3])
    if a.level == "ttir" and found and a.flow is not None:
        changed = b.error is not None or any(difference(x, b.outputs[n]) for n, x in a.outputs.items())
        found = _that_matter(found, a.flow, {v.name for group, _ in pairs for v in group}, changed)
    differences = [
        Divergence((a.name, va), (b.name, vb), i, *difference) for _, _, _, (va, i, vb, difference) in found
    ]
    return differences, len(pairs)


def _as_stored(x, y, run):
    """The records that both have of a program. A function that a kernel on a GPU calls stores each call's
    value in the place of the one before it."""
    site = y[0][1].site
    if run.device == "cpu" or len(x) == len(y) or site.path.split("/")[0] == site.kernel:
        return x, y
    return ([], []) if site.loops else (x[-1:], y[-1:])


def _first_record(x, y, allowed):
    """(order, values, record, other values, what differs) of the first records that do."""
    for (at, va, i), (_, vb, j) in zip(x, y, strict=False):
        difference = _first(va, i, vb, j, allowed) or _first_copy(va, i, vb, j, allowed)
        if difference is not None:
            return at, va, i, vb, difference
    return None


def _runs_ahead(x, y, allowed) -> bool:
    """Whether the second run computes the same some iterations earlier or later, as pipelined loops do with
    what loads need."""
    for shift in (1, 2, 3, -1, -2, -3):
        mine, theirs = x[max(shift, 0) :], y[max(-shift, 0) :]
        overlap = min(len(mine), len(theirs))
        if overlap >= max(1, len(x) - 4) and _first_record(mine, theirs, allowed) is None:
            return True
    return False


def _that_matter(differences, flow: Flow, compared: set, outputs_differ: bool) -> list:
    """The differences that a later value or an output shows: others are of what a pass computes otherwise,
    and rightly so."""
    differing = {first[3][0].name for first in differences}
    reaches: dict[str, bool] = {}

    def matters(name: str) -> bool:
        if name not in reaches:
            reaches[name] = False  # while it is looked at: a loop does not show itself
            readers, stored = flow.readers(name, compared)
            reaches[name] = (outputs_differ and (stored or not readers)) or any(
                matters(reader) for reader in readers if reader in differing
            )
        return reaches[name]

    return [first for first in differences if matters(first[3][0].name)]


def _exact(a, b) -> bool:
    """Whether both runs sum in the same order: TTIR and TTGIR on the tile engine."""
    return a.device == b.device == "cpu" and {a.level, b.level} <= {*MLIR}


def _allowed(kind: str, tolerance, exact: bool) -> float:
    """exact: both runs add in the same order, so that nothing is allowed where nobody says otherwise."""
    return 0.0 if exact and tolerance is None else tolerance_of(kind, tolerance)


def _first(va: Values, i: int, vb: Values, j: int, allowed: float):
    """(largest error, how many differ, both numbers, element) of two records; None where they agree."""
    a, b = va.to_numpy()[i], vb.to_numpy()[j]
    if vb.mask is not None or va.mask is not None:
        there = _there(va, i, vb, j)
        a, b = numpy.where(there, a, a.dtype.type(0)), numpy.where(there, b, b.dtype.type(0))
    if a.tobytes() == b.tobytes():
        return None
    distance = difference(a, b, allowed)
    return _told(distance, distance.element) if distance else None


def _first_copy(va: Values, i: int, vb: Values, j: int, allowed: float):
    """The same of copies in vb's record: elements that are right where they were read first, and wrong in
    other registers that hold them."""
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
    """Which elements of a record no mask leaves out."""
    there = numpy.ones(va.shape, bool)
    for values, record in ((va, i), (vb, j)):
        if values.mask is not None:
            there &= values.mask[record]
    return there


def _told(difference, element) -> tuple:
    return difference.max_error, difference.elements, tuple(+n for n in difference.numbers), element
