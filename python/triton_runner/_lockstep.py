"""The same launch at several levels, or on engine and GPU, value by value: where does it first go wrong?

Every value that has a counterpart (_lockstep_pairs) is recorded in each run, each iteration of each program.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
from types import SimpleNamespace

import numpy

from triton_runner import _arrays, _gpu, _lockstep_loaded, _settings, _tolerances, _unobserved
from triton_runner._dump.dumping import dumping
from triton_runner._dump.records import Dump, Values
from triton_runner._errors import KernelTrap, fail
from triton_runner._files import kind_of, numpy_named
from triton_runner._flow import Flow
from triton_runner._levels import MLIR, ON_CPU
from triton_runner._lockstep_pairs import counterparts, takes_part


class Difference:
    """The first element at which two runs disagree on a value. It has the file and line of the Python source,
    the value and op at each of the two levels, the program, iteration and element, both numbers, the largest
    error in that record, and how many of its elements differ. `copy` is set where several registers hold the
    element and the one that was read first is right: it names the block and thread whose copy is wrong.
    Otherwise it is None."""

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
    """The result of lockstep().

    - `diverged`: the first Difference, or None; `differences`: the first difference of each value, in
      execution order.
    - `outputs`: the arguments whose contents differ between the runs after the launch.
    - `unobserved`: where a launch without recording leaves other results than the recorded launch, or stops
      differently.
    - `traps`: the fault that stopped a run, by the run's name; `dumps`: the Dump of each run.
    - `compared`: how many values had a counterpart, for each pair of runs; `notes`: remarks.
    """

    def __init__(self, runs, differences, outputs, unobserved, compared, notes):
        self.traps = {run.name: run.error for run in runs if run.error}
        self.runs = [run.name for run in runs]
        self.dumps = {run.name: run.dump for run in runs}
        self.differences = differences
        self.diverged = differences[0] if differences else None
        self.outputs = outputs
        self.unobserved = unobserved
        self.compared = compared
        self.notes = notes

    def to_json(self) -> str:
        """Returns everything except the records as JSON."""
        found = {
            "runs": self.runs,
            "compared": self.compared,
            "diverged": self.diverged and self.diverged.to_json(),
            "differences": [d.to_json() for d in self.differences],
            "outputs": self.outputs,
            "unobserved": self.unobserved,
            "traps": self.traps,
            "notes": self.notes,
        }
        return json.dumps(found, indent=2, default=str)

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
    - `levels`: levels to run on the CPU, of `"ttir"`, `"ttgir"`, `"llir"`, `"ptx"`; by default `("ttir",
      "ttgir")`. An artifact of LLIR or PTX is compared with the TTGIR beside its file.
    - `devices`: `"cpu"`, and a GPU (`"cuda"`), which is compared at TTGIR.
    - `sources`: `{level: path or text}`, replaces the code that Triton compiles for a level.
    - `programs`: as for `dumping()`.
    - `tolerance`: for floats, relative to the largest number in a record. The default depends on the type:
      f32 1e-4, f16 4e-3, bf16 3e-2. Between ttir and ttgir on the CPU it is 0, because both add in the same
      order.
    - `check`, `shuffle`: as for `using()`, for every run.

    Raises DiagnosticError for a launch that cannot be run.
    """
    if _lockstep_loaded.is_loaded(kernel):
        kernel, sources = _lockstep_loaded.Loaded(kernel, dict(sources or {})), None
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
    bound = _Arguments(kernel, args, dict(constexprs or {}))
    given = dict(sources or {})
    target = _target_of(devices)
    notes: list[str] = list(getattr(kernel, "notes", ()))
    runs: list = []
    for name, device, level in plan:
        run = SimpleNamespace(name=name, device=device, level=level, dump=None, outputs=None, error=None)
        run.flow, run.polled = None, set()
        # One order of programs in every run: what atomics leave is then the same each time.
        settings = {"check": check, "shuffle": shuffle, "target": target, "threads": 1}
        _execute(run, runs, kernel, bound, grid, given, programs, max_bytes, settings)
        runs.append(run)
        notes += [f"{name}: {note}" for note in [*run.dump.notes, *run.dump.changes][:8]]
    differences, compared = [], {}
    for a, b in itertools.pairwise(runs):
        if b.device != "cpu":  # the same text where that ran here too
            a = next((run for run in runs if run.level == "ttgir" and run.device == "cpu"), a)
        found, count = _compare(a, b, tolerance)
        compared[f"{a.name} and {b.name}"] = count
        differences += found
    outputs = bound.differences(runs, tolerance)
    unobserved = []
    for run in runs:
        plain = _unobserved.run_again(run, kernel, bound, grid, run.keywords, run.settings)
        unobserved += _unobserved.differences(
            run, plain, bound.names, lambda a, b: _differs(a, b, _allowed(kind_of(a.dtype), tolerance, False))
        )
    bound.restore()
    return Lockstep(runs, differences, outputs, unobserved, compared, notes)


def _target_of(devices) -> str | None:
    """The GPU's architecture, which the CPU's runs are compiled for too; None where no GPU is asked for."""
    if not any(device != "cpu" for device in devices):
        return None
    return _gpu.current_target()


def _execute(run, before, kernel, bound, grid, sources, programs, max_bytes, settings) -> None:
    keywords = dict(bound.keywords)
    entry = run.level if run.device == "cpu" else "ttgir"
    # What is given for a level is what the levels below it are made of, unless they have their own.
    if run.device != "cpu" and run.device in sources:
        sources = {"ttgir": sources[run.device]}
    for level in reversed(ON_CPU[: ON_CPU.index(entry) + 1]):
        if level in sources:
            keywords[f"{level}_src"] = os.fspath(sources[level])
            break
    run.keywords, run.settings = keywords, settings
    selectors, ttgir = ("*",), ""
    if run.level in ("llir", "ptx"):
        above = next((r for r in reversed(before) if r.level == "ttgir"), None)
        if above is None:
            raise fail("values of PTX are compared with those of TTGIR", 'levels=["ttgir", "ptx"]')
        selectors = tuple(v.name for v in above.dump if takes_part(v, above.polled))
        ttgir = above.text
    with dumping(kernel, *selectors, every_iteration=True, programs=programs, max_bytes=max_bytes) as session:
        session.adapt(level=run.level, lenient=True, ttgir=ttgir)
        args, named = bound.on(run.device)
        try:
            with _settings.using(
                device=run.device, level=run.level if run.device == "cpu" else None,
                **{name: value for name, value in settings.items() if value is not None},
            ):  # fmt: skip
                compiled = kernel[grid](*args, **named, **keywords)
            run.text = compiled.asm[run.level] if run.level in MLIR else ""
            if run.text:
                run.flow = Flow(run.text, compiled.name)
                run.polled = run.flow.polled()
        except KernelTrap as error:  # what was recorded until then is compared all the same
            run.error, run.text = str(error).splitlines()[0], ""
    nothing = SimpleNamespace(series=[], notes=[])  # of a run at PTX that stopped
    run.dump = session.launches[-1] if session.launches else Dump(nothing)
    run.outputs = bound.contents(run.device)


class _Arguments:
    """The arguments of all runs: their contents are put back before each, and a run on another device than
    theirs has copies there (of whole storages: a view stays a view)."""

    def __init__(self, kernel, args, constexprs):
        self.keywords = constexprs
        given = dict(args) if isinstance(args, dict) else list(args)
        names = [*getattr(kernel, "arg_names", ()), *(f"#{i}" for i in range(len(given)))]
        pairs = given.items() if isinstance(args, dict) else zip(names, given, strict=False)
        self.named = isinstance(args, dict)
        self.values = list(pairs)
        for name, value in self.values:
            if hasattr(value, "data_ptr") and not hasattr(value, "detach"):
                raise fail(
                    f"argument '{name}' is {type(value).__name__}, and its contents cannot be restored",
                    "give lockstep the tensor or the array that it stands for",
                )
        self.saved = {name: _copy(value) for name, value in self.values if _is_array(value)}
        self.names = list(self.saved)
        self.copies: dict = {}  # of each device, by name

    def on(self, device: str):
        """(args, keywords) of a launch there."""
        here = self.copies.get(device)
        if here is None:
            here = self.copies[device] = {
                name: _moved(value, device) if name in self.saved else value for name, value in self.values
            }
        for name, saved in self.saved.items():
            _put(here[name], saved)
        return ([], here) if self.named else (list(here.values()), {})

    def restore(self) -> None:
        for name, value in self.values:
            if name in self.saved:
                _put(value, self.saved[name])

    def contents(self, device: str) -> list:
        return [_numpy(self.copies[device][name]).copy() for name in self.names]

    def differences(self, runs, tolerance) -> list[dict]:
        """Of the arguments that a run leaves otherwise than the first did: name, run, how many elements, by
        how much at most."""
        found = []
        for run in runs[1:]:
            for name, a, b in zip(self.names, runs[0].outputs, run.outputs, strict=True):
                differs = _differs(a, b, _allowed(kind_of(a.dtype), tolerance, _exact(runs[0], run)))
                if differs.any():
                    with numpy.errstate(invalid="ignore"):
                        error = numpy.abs(a.astype("float64") - b.astype("float64"))[differs]
                    worst = float("nan") if numpy.isnan(error).any() else float(error.max())
                    text = f"{int(differs.sum())} of {differs.size} elements differ, by at most {worst:.6g}"
                    found.append(
                        {"name": name, "run": run.name, "elements": int(differs.sum()), "max_error": worst,
                         "text": text}
                    )  # fmt: skip
        return found


def _is_array(value) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and len(value.shape) > 0


def _put(value, contents) -> None:
    if hasattr(value, "copy_"):
        import torch

        value.copy_(torch.as_tensor(contents))
    else:
        value[...] = contents


def _moved(value, device: str):
    """A tensor, with all of its storage, on a device; itself where it is there."""
    if not hasattr(value, "untyped_storage"):
        if device == "cpu":
            return value
        import torch

        return torch.from_numpy(value).to("cuda")
    where = "cpu" if device == "cpu" else "cuda"  # as torch calls AMD's devices too
    if value.device.type == where:
        return value
    whole = _arrays.bytes_of(value.untyped_storage()).to(where)
    return _arrays.same_view(value, whole.untyped_storage())


def _copy(value):
    return value.detach().clone() if hasattr(value, "detach") else value.copy()


def _numpy(value):
    if not hasattr(value, "detach"):
        return value
    flat = value.detach().cpu().contiguous()
    name = str(value.dtype).removeprefix("torch.")
    with contextlib.suppress(TypeError):
        return flat.numpy()
    import torch

    bits = {1: torch.uint8, 2: torch.int16}[value.element_size()]
    return flat.view(bits).numpy().view(numpy_named(name))


# ---- what differs


def _sequence(group: list[Values]) -> dict:
    """{program: [(order, values, record), ...]} in the order of execution."""
    found: dict = {}
    for number, values in enumerate(group):
        order = values.order
        for record, program in enumerate(values.programs.tolist()):
            at = (int(order[record]),) if order is not None else (*values.iterations[record].tolist(), number)
            found.setdefault(tuple(program), []).append((at, values, record))
    for records in found.values():
        records.sort(key=lambda r: r[0])
    return found


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
        changed = b.error is not None or any(
            _differs(p, q, 0.0).any() for p, q in zip(a.outputs, b.outputs, strict=True)
        )
        found = _that_matter(found, a.flow, {v.name for group, _ in pairs for v in group}, changed)
    differences = [
        Difference((a.name, va), (b.name, vb), i, *difference) for _, _, _, (va, i, vb, difference) in found
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


def _that_matter(found, flow: Flow, compared: set, outputs_differ: bool) -> list:
    """The differences that a later value or an output shows: others are of what a pass computes otherwise,
    and rightly so."""
    differing = {first[3][0].name for first in found}
    known: dict[str, bool] = {}

    def matters(name: str) -> bool:
        if name not in known:
            known[name] = False  # while it is looked at: a loop does not show itself
            readers, stored = flow.readers(name, compared)
            known[name] = (outputs_differ and (stored or not readers)) or any(
                matters(reader) for reader in readers if reader in differing
            )
        return known[name]

    return [first for first in found if matters(first[3][0].name)]


def _exact(a, b) -> bool:
    """Whether both runs sum in the same order: TTIR and TTGIR on the tile engine."""
    return a.device == b.device == "cpu" and {a.level, b.level} <= {*MLIR}


def _allowed(kind: str, tolerance, exact: bool) -> float:
    if kind[0] in "iu" or kind == "ptr":
        return 0.0
    if tolerance is not None:
        return float(tolerance)
    return 0.0 if exact else _tolerances.tolerance(kind)


def _differs(a, b, allowed: float, among=None):
    """Which elements differ; allowed: of the largest number of a, or of the record that a is taken from."""
    if a.dtype == bool or (a.dtype.kind in "iu" and b.dtype.kind in "iu"):
        return a != b
    x, y = a.astype("float64"), b.astype("float64")
    same = (x == y) | (numpy.isnan(x) & numpy.isnan(y))
    if allowed:
        whole = x if among is None else among.astype("float64")
        finite = numpy.abs(whole[numpy.isfinite(whole)])
        room = allowed * (float(finite.max()) if finite.size else 0.0)
        with numpy.errstate(invalid="ignore"):
            same |= numpy.abs(x - y) <= room
    return ~same


def _first(va: Values, i: int, vb: Values, j: int, allowed: float):
    """(largest error, how many differ, both numbers, element) of two records; None where they agree."""
    a, b = va.to_numpy()[i], vb.to_numpy()[j]
    if vb.mask is not None or va.mask is not None:
        there = numpy.ones(a.shape, bool)
        for values, record in ((va, i), (vb, j)):
            if values.mask is not None:
                there &= values.mask[record]
        a, b = numpy.where(there, a, a.dtype.type(0)), numpy.where(there, b, b.dtype.type(0))
    if a.tobytes() == b.tobytes():
        return None
    differs = _differs(a, b, allowed)
    if not differs.any():
        return None
    element = tuple(numpy.argwhere(differs)[0]) if a.shape else ()
    with numpy.errstate(invalid="ignore"):
        error = numpy.abs(a.astype("float64") - b.astype("float64"))[differs]
    worst = float("nan") if numpy.isnan(error).any() else float(error.max())
    cast = int if a.dtype.kind in "biu" else float
    return worst, int(differs.sum()), (cast(a[element]), cast(b[element])), element


def _first_copy(va: Values, i: int, vb: Values, j: int, allowed: float):
    """The same of copies in vb's record: elements that are right where they were read first, and wrong in
    other registers that hold them."""
    elements, blocks, threads, values = vb.copies(j)
    if not len(elements):
        return None
    whole = va.to_numpy()[i].reshape(-1)
    there = numpy.ones(len(elements), bool)
    for values_of, record in ((va, i), (vb, j)):
        if values_of.mask is not None:
            there &= values_of.mask[record].reshape(-1)[elements]
    wanted = whole[elements]
    differs = _differs(wanted, values, allowed, whole) & there
    if not differs.any():
        return None
    at = int(numpy.flatnonzero(differs)[0])
    with numpy.errstate(invalid="ignore"):
        error = numpy.abs(wanted.astype("float64") - values.astype("float64"))[differs]
    worst = float("nan") if numpy.isnan(error).any() else float(error.max())
    cast = int if whole.dtype.kind in "biu" else float
    element = numpy.unravel_index(int(elements[at]), va.shape) if va.shape else ()
    copy = {"block": int(blocks[at]), "thread": int(threads[at])}
    return worst, int(differs.sum()), (cast(wanted[at]), cast(values[at])), element, copy
