"""The original's way to dump: dump_tensor=, dump_value= and dump_grid= at a launch (debug_tensor= and
debug_value= in its older releases), and dl.dump statements in kernels of triton_runner.jit; and how a launch
is recorded that asks for it in any way."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import re
import types
import warnings

from triton.runtime.jit import JITFunction as TritonJITFunction

from triton_runner import _driver, _messages, language
from triton_runner._core import ir, probe
from triton_runner._dump import fill, session
from triton_runner._errors import KernelTrap, fail

_STATEMENTS = tuple(getattr(language, name) for name in language.__all__)


@dataclasses.dataclass(frozen=True)
class Ask:
    """What a launch's keywords ask for: selectors of values, the tensor to fill, the program to record."""

    values: tuple = ()
    tensor: object = None
    grid: tuple | None = None

    @property
    def programs(self) -> list:
        """As recorders take them: one program where a tensor is to be filled or one is named, else all."""
        if self.grid is None and self.tensor is None:
            return []
        return [self.grid or (0, 0, 0)]

    def keywords(self) -> dict:
        """The keywords that say the same."""
        given = {"dump_value": list(self.values) or None, "dump_tensor": self.tensor, "dump_grid": self.grid}
        return {name: value for name, value in given.items() if value is not None}


def parse(taken: dict) -> Ask:
    """The keywords of a launch, which are taken out of it."""
    for ours, theirs in (("dump_value", "debug_value"), ("dump_tensor", "debug_tensor")):
        if theirs in taken:
            if ours in taken:
                raise fail(f"{ours}= and {theirs}= are both given: they are one keyword", "keep one of them")
            taken[ours] = taken.pop(theirs)
    values = taken.pop("dump_value", ())
    values = tuple(values) if isinstance(values, (list, tuple)) else (values,)
    odd = [value for value in values if not isinstance(value, str) or not value]
    if odd:
        raise fail(f'dump_value={odd[0]!r}: expected the name of a value, such as "%13", or a list of them')
    ask = Ask(values, taken.pop("dump_tensor", None), _grid(taken.pop("dump_grid", None)))
    if ask.grid is not None and not ask.values:
        raise fail(
            "dump_grid= says in which program dump_value= is recorded, and no value is named",
            'as in dump_value="%13", dump_grid=(0, 1); a dl.dump statement names its program itself',
        )
    return ask


def _grid(given) -> tuple | None:
    if given is None:
        return None
    axes = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    whole = all(hasattr(axis, "__index__") and not isinstance(axis, bool) and axis >= 0 for axis in axes)
    if not 1 <= len(axes) <= 3 or not whole:
        raise fail(
            f"dump_grid={given!r}: expected a program, as a number or a tuple of one to three",
            "as in dump_grid=(0, 1): 0 along x, 1 along y",
        )
    return (*map(operator.index, axes), 0, 0)[:3]


def uses_statements(function) -> bool:
    """Whether a kernel, or a function of Triton that it calls, has a dl.dump statement. Found once a kernel,
    in what its code names."""
    found = function.__dict__.get("_runner_dumps")
    if found is None:
        found = function.__dict__["_runner_dumps"] = _search(function, set())
    return found


def _search(function, seen: set) -> bool:
    if id(function) in seen:
        return False
    seen.add(id(function))
    body = function.fn
    cells = zip(body.__code__.co_freevars, body.__closure__ or (), strict=True)
    free = {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}
    names = _names(body.__code__)
    values = [free.get(name, body.__globals__.get(name)) for name in names]
    for module in [value for value in values if isinstance(value, types.ModuleType)]:
        values += [module.__dict__.get(name) for name in names]
    return any(
        value in _STATEMENTS if isinstance(value, types.FunctionType) else _search(value, seen)
        for value in values
        if isinstance(value, (types.FunctionType, TritonJITFunction))
    )


def _names(code) -> set:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names) | set(code.co_freevars) | set().union(*inner)


_said: set = set()


def say_values(text: str, sites, markers=()) -> None:
    """The line of each value that dump_value= names or a statement dumps, once for it and the code `text`."""
    named = [(site.value, site.op, site.location, fill.elements(site)) for site in sites]
    stated = [(marker.value, marker.op, marker.location, marker.elements) for marker in markers]
    for line in named + stated:
        key = (hash(text), line[0])
        if key not in _said:
            _said.add(key)
            _messages.dump_mode(*line)


@dataclasses.dataclass(frozen=True)
class Marker:
    """A dl.dump statement in a module, as far as it is known before it runs: who it is, the type and number
    of its elements, its offset and program (None: computed by the kernel; EVERY: all programs); and name, op
    and location of the value, as the IR writes them."""

    who: str
    type: str
    elements: int
    offset: int | None
    grid: tuple
    value: str = ""
    op: str = ""
    location: str = ""

    @property
    def program(self) -> str:
        return f"({', '.join('?' if axis is None else str(axis) for axis in self.grid)})"

    @property
    def all_programs(self) -> bool:
        return self.grid == (language.EVERY,) * 3


# Ops whose regions are run on pairs of elements: there is no tensor to dump.
_COMBINING = ("tt.reduce", "tt.scan", "tt.map_elementwise")


def markers_of(module) -> list[Marker]:
    """The dl.dump statements of a module of TTIR or TTGIR, in the order of its text."""
    found = []
    for op in module.walk():
        prefix = op.attr("prefix") if op.name == "tt.print" else None
        if prefix is None or not prefix.value.startswith(language.MARKER):
            continue
        value, *numbers = op.operands
        place = op.location
        who = fill.statement(prefix.value, place.file or "", place.line) if place else "dl.dump"
        shape = value.type.shape or []
        offset, *grid = [_constant(number) for number in numbers]
        kind = str(value.type.element or value.type)
        kind = "ptr" if kind.startswith("!tt.ptr") else kind
        if op.parent.name in _COMBINING:
            raise fail(
                f"{who} stands in a function that {op.parent.name} combines with",
                "dump what it combines, or what comes of it",
            )
        maker = value.op or value.block.parent  # of an argument what it belongs to: a loop, the function
        found.append(
            Marker(
                who,
                kind,
                math.prod(shape),
                offset,
                tuple(grid),
                value.name,
                maker.name,
                _location(value.location if value.op is None else maker.location),
            )
        )
    return found


def _location(place) -> str:
    if place is None:
        return ""
    return f"loc({place.alias})" if place.alias else str(place)


def _constant(value):
    """The number of an arith.constant, or None."""
    op = value.op
    if op is None or op.name != "arith.constant":
        return None
    number = op.attr("value").value
    return number if isinstance(number, int) else None


class Plan:
    """What is known of a dump before it runs: the module's text, the values that dump_value= chose in it and
    where they begin in dump_tensor=, the statements. Errors: what the tensor has no room or no type for."""

    def __init__(self, ask: Ask, who: str, text: str):
        self.ask, self.who, self.text = ask, who, text
        self.target = fill.Target(ask.tensor) if ask.tensor is not None else None
        self.sites: list = []
        self.starts: dict = {}
        self.markers: list[Marker] = []

    def take_sites(self, sites: list) -> None:
        """The values of dump_value=: in the tensor one lies behind the other."""
        at = 0
        for site in sites:
            self.starts[fill.place(site)] = at
            at += fill.elements(site)
        self.sites = sites
        if self.target is None:
            return
        for site in sites:
            fill.check_type(site.type, self.target.dtype, site.value)
        if sites:
            self._check_room(0, at, " and ".join(site.value for site in sites))

    def take_markers(self, markers: list[Marker]) -> None:
        """The statements of the kernel."""
        self.markers = markers
        for marker in markers if self.target is not None else []:
            fill.check_type(marker.type, self.target.dtype, marker.who)
            if marker.offset is not None and not marker.all_programs:
                self._check_room(marker.offset, marker.elements, marker.who)

    def check_something(self) -> None:
        """Is there anything that the tensor is to be filled with?"""
        if self.target is not None and not self.ask.values and not self.markers:
            raise fail(
                f"{self.who}: dump_tensor= is given, and nothing is dumped",
                'name a value, as in dump_value="%13", or put dl.dump(value) into the kernel',
            )

    @property
    def every_iteration(self) -> bool:
        """Whether a loop may write to several places of the tensor."""
        return self.target is not None and any(marker.offset is None for marker in self.markers)

    def check_grid(self, grid: tuple) -> None:
        """Once the launch's grid is known: are the programs in it, and does the tensor hold all of them?"""
        programs = [(self.ask.grid, f"dump_grid={self.ask.grid}")] if self.ask.grid else []
        programs += [(marker.grid, f"{marker.who}: program {marker.program}") for marker in self.markers]
        for program, who in programs:
            if any(axis is not None and axis >= extent for axis, extent in zip(program, grid, strict=True)):
                raise fail(f"{who} is not in the grid {grid}", "programs count from 0 on each axis")
        for marker in self.markers:
            if self.target is not None and marker.all_programs:
                self._check_room(marker.offset or 0, marker.elements * math.prod(grid), marker.who)

    def _check_room(self, offset: int, count: int, who: str) -> None:
        if offset < 0 or offset + count > self.target.size:
            raise fail(
                f"{who} takes the elements {offset} to {offset + count - 1} of dump_tensor, which has "
                f"{self.target.size}",
                f"make dump_tensor of {max(offset, 0) + count} elements or more",
            )


def checked_grid(grid, plan: Plan):
    """The launch's grid, which is checked as soon as it is known; and where it is then kept."""
    known = []

    def check(value):
        axes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        known[:] = [(*axes, 1, 1)[:3]]
        plan.check_grid(known[0])
        return value

    return (lambda meta: check(grid(meta))) if callable(grid) else check(grid), known


def wanted(function, ask: Ask | None) -> bool:
    """Whether a launch of this kernel is recorded: by its keywords, by dumping(), by its own statements."""
    return ask is not None or session.for_launch(function.__name__) is not None or uses_statements(function)


def launch(function, ask: Ask | None, entry, args, kwargs, grid, warmup: bool):
    """A launch of a kernel of triton_runner.jit that is recorded. Returns what the launch returns."""
    if language.switched_off():
        # Neither statements nor keywords; dumping() around the launch still records.
        ask, function = None, function.without_dumps if uses_statements(function) else function
        if session.for_launch(function.__name__) is None:
            return function.launch(entry, args, kwargs, grid, warmup)
    with language.keeping(True):
        # Compiled first: what is wrong with the names, the types or the tensor is said before anything runs.
        kernel = function.launch(entry, args, kwargs, grid, True)
        return kernel if warmup else _recorded(function, ask or Ask(), kernel, entry, args, kwargs, grid)


def _recorded(function, ask: Ask, kernel, entry, args, kwargs, grid):
    around = session.for_launch(function.__name__)
    at_cubin = around is not None and around.request.level == "cubin"
    if at_cubin and uses_statements(function):  # registers of the code as it is
        function = function.without_dumps
        kernel = function.launch(entry, args, kwargs, grid, True)
    on_engine = not at_cubin and _driver.resolved_device() == "cpu" and _executed(kernel) in _IR
    plan = _plan(function, ask, kernel, entry, on_engine)
    grid, known = checked_grid(grid, plan)
    say_values(plan.text, plan.sites, plan.markers)
    request = _request(ask, plan, around, function)
    if on_engine:
        dumps: list = []
        try:
            with session.recording(request, kernel.name) as dumps:
                kernel = function.launch(entry, args, kwargs, grid, False)
        except KernelTrap:  # what it computed until then is there to be looked at
            for dump in dumps:
                around.add(dump) if around is not None else session.keep(dump)
            raise
    else:
        run = _way(request, plan)
        with (
            session.suspended(),
            session.kept_of_traps(request, around.add if around is not None else session.keep),
        ):
            kernel, recording, changes = run(request, function, entry, args, kwargs, grid)
        dumps = [request.dump(recording, changes)]
    for dump in dumps:
        if not plan.sites:
            found = [(text, [v.site for v in dump.all(text) if not v.site.marker]) for text in ask.values]
            plan.take_sites([s for text, of in found for s in _meant(text, of, [s.loops for s in of])])
            say_values(plan.text, plan.sites)
        if plan.target is not None:
            fill.fill(plan.target, dump, plan.starts, ask.grid or (0, 0, 0), known[0])
            # Nobody sees this Dump: what is missing in it, and outputs that are not the plain kernel's, are
            # said here.
            said = [*dump.notes, *(change for change in dump.changes if "differ" in change)]
            if said:
                warnings.warn(f"the dump of {plan.who}: {'; '.join(said)}", RuntimeWarning, stacklevel=6)
        elif around is None:
            session.keep(dump)
        if around is not None:
            around.add(dump)
    return kernel


def _way(request, plan: Plan):
    """What records a launch that the tile engine does not execute. Statements become stores, which values of
    the IR and registers can be too; on the CPU the engine reads registers."""
    from triton_runner._dump import cuda_gdb, instrument, registers

    if request.level == "cubin":
        return cuda_gdb.run
    on_cpu = _driver.resolved_device() == "cpu"
    if not request.selectors or not plan.markers:
        return registers.run if request.selectors and on_cpu else instrument.run
    named = [text for text, _ in request.selectors if _REGISTER.fullmatch(text)]
    if named and (on_cpu or request.level in ("llir", "ptx")):
        raise fail(
            f"{named[0]} is a register, and the kernel has dl.dump statements: one launch cannot record both",
            "triton_runner.using(dump=False) leaves the statements out",
        )
    return instrument.run


_IR = ("ttir", "ttgir")
_REGISTER = re.compile(r"%(?:r|rd|rs|rl|rq|f|fd|h|hh|b|p)\d+")


def _executed(kernel) -> str | None:
    return getattr(kernel, "runner_level", None) or getattr(kernel, "level", None)


def _plan(function, ask: Ask, kernel, entry, on_engine: bool) -> Plan:
    """What the IR tells of the dump: that of the level that the engine executes, elsewhere the one that the
    names belong to."""
    level = _executed(kernel) if on_engine else entry.level if entry is not None else "ttir"
    if level == "ttir" and "ttir" not in kernel.asm:  # Gluon has none
        level = "ttgir"
    text = kernel.asm.get(level) if level in _IR else None
    plan = Plan(ask, f"kernel '{kernel.name}'", text or "")
    if text is None:
        return plan
    module = _module(text, f"{kernel.name}.{level}")
    plan.take_markers(_markers(text, module.filename))
    if on_engine:
        selectors = [(text, list(lines)) for text, lines in session.request(ask.values, function).selectors]
        found = probe.select(module, kernel.name, selectors)
        depths = _depths(module)
        chosen = []
        for number, text in enumerate(ask.values):
            sites = [site for site, of in found if of == number]
            chosen += _meant(text, sites, [depths.get(site.value, 0) for site in sites])
        plan.take_sites(chosen)
    plan.check_something()
    return plan


def _depths(module) -> dict:
    """How many loops stand around each value, by its name."""
    depths = {}
    for op in module.walk():
        parent = op.parent
        inside = depths.get(parent, 0) + (parent is not None and parent.name in ("scf.for", "scf.while"))
        depths[op] = inside
        depths |= {value.name: inside for value in op.results}
    return depths


def _meant(text: str, sites: list, depths: list) -> list:
    """The values that a name of dump_value= fills the tensor with: of a variable's the last one in the
    deepest loop, as in a Dump; else all."""
    if not text.isidentifier() or not sites:
        return sites
    return [[site for site, depth in zip(sites, depths, strict=True) if depth == max(depths)][-1]]


def _request(ask: Ask, plan: Plan, around, function) -> session.Request:
    """What the recorder is asked for: the launch's own wishes, and those of dumping() around it."""
    own = session.request(
        ask.values, function, plan.every_iteration, ask.programs, markers=bool(plan.markers) or not plan.text
    )
    if around is None:
        return own
    theirs = around.request
    if not own.selectors:
        return dataclasses.replace(theirs, markers=True)
    return dataclasses.replace(
        theirs,
        selectors=tuple(dict.fromkeys([*theirs.selectors, *own.selectors])),
        every_iteration=theirs.every_iteration or own.every_iteration,
        programs=theirs.programs + own.programs if theirs.programs and own.programs else (),
        markers=True,
    )


@functools.lru_cache(maxsize=64)
def _module(text: str, name: str):
    return ir.parse(text, name)


@functools.lru_cache(maxsize=64)
def _markers(text: str, name: str) -> list[Marker]:
    return markers_of(_module(text, name))
