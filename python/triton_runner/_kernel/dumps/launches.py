"""How a launch of a kernel of triton_runner.jit is recorded, whoever asks for it: dumping() around it, a
dl.dump statement in the kernel, or the keywords dump_tensor=, dump_value= and dump_grid= of the original.
plain.py brings launches of triton.jit here."""

from __future__ import annotations

import dataclasses
import functools
import math
import re

from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail, warn
from triton_runner._base.levels import MLIR
from triton_runner._code.names import check_single
from triton_runner._core import ir, probe
from triton_runner._kernel.dumps import cuda_gdb, fill, instrument, machine_values, registers, requests
from triton_runner._kernel.dumps.marked import Marker, markers_of
from triton_runner._kernel.dumps.statements import keeping, switched_off, uses_statements
from triton_runner._settings import devices, messages
from triton_runner._settings.keywords import DumpKeywords

_said: set = set()


def say_values(text: str, sites, markers=()) -> None:
    """The line of each value that dump_value= names or a statement dumps, once for it and the code `text`."""
    named = [(site.value, site.op, site.location, fill.elements(site)) for site in sites]
    stated = [(marker.value, marker.op, marker.location, marker.elements) for marker in markers]
    for line in named + stated:
        key = (hash(text), line[0])
        if key not in _said:
            _said.add(key)
            messages.dump_mode(*line)


class DumpLayout:
    """The facts of a dump before it runs: the module's text, the values that dump_value= chose in it and
    where they begin in dump_tensor=, the statements. Errors: what the tensor has no room or no type for."""

    def __init__(self, ask: DumpKeywords, who: str, text: str):
        self.ask, self.who, self.text = ask, who, text
        self.target = fill.Target(ask.tensor) if ask.tensor is not None else None
        self.sites: list = []
        self.starts: dict = {}
        self.markers: list[Marker] = []

    def take_sites(self, sites: list) -> None:
        """The values of dump_value=: in the tensor one lies after the other."""
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
        """Refuses a tensor that nothing is to be written to."""
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
        """Refuses, once the launch's grid is known, programs outside of it and a tensor too small for it."""
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


def checked_grid(grid, plan: DumpLayout):
    """The launch's grid, which is checked as soon as it is known; and where it is then kept."""
    names = []

    def check(value):
        axes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        names[:] = [(*axes, 1, 1)[:3]]
        plan.check_grid(names[0])
        return value

    return (lambda meta: check(grid(meta))) if callable(grid) else check(grid), names


def wanted(function, ask: DumpKeywords | None) -> bool:
    """Whether a launch of this kernel is recorded: by its keywords, by dumping(), by its own statements."""
    return ask is not None or requests.for_launch(function.__name__) is not None or uses_statements(function)


def launch(function, ask: DumpKeywords | None, entry, args, kwargs, grid, warmup: bool):
    """A launch of a kernel of triton_runner.jit that is recorded. Returns what the launch returns."""
    if switched_off():
        # Neither statements nor keywords; dumping() around the launch still records.
        ask, function = None, function.without_dumps if uses_statements(function) else function
        if requests.for_launch(function.__name__) is None:
            return function.launch(entry, args, kwargs, grid, warmup)
    with keeping(True), messages.saved_last():
        # Compiled first: what is wrong with the names, the types or the tensor is said before anything runs.
        kernel = function.launch(entry, args, kwargs, grid, True)
        if warmup:
            return kernel
        return _recorded(function, ask or DumpKeywords(), kernel, entry, args, kwargs, grid)


def _recorded(function, ask: DumpKeywords, kernel, entry, args, kwargs, grid):
    around = requests.for_launch(function.__name__)
    at_cubin = around is not None and around.request.level == "cubin"
    if at_cubin and uses_statements(function):  # registers of the code as it is
        function = function.without_dumps
        kernel = function.launch(entry, args, kwargs, grid, True)
    on_engine = not at_cubin and devices.resolved_device() == "cpu" and compiled_of(kernel).level in MLIR
    plan = _plan(function, ask, kernel, entry, on_engine)
    grid, axes = checked_grid(grid, plan)
    say_values(plan.text, plan.sites, plan.markers)
    request = _request(ask, plan, around, function)
    if on_engine:
        dumps: list = []
        try:
            with requests.recording(request, kernel.name) as dumps:
                kernel = function.launch(entry, args, kwargs, grid, False)
        except KernelTrap:  # what it computed until then is there to be looked at
            for dump in dumps:
                around.add(dump) if around is not None else requests.keep(dump)
            raise
    else:
        run = _way(request, plan)
        with (
            requests.suspended(),
            requests.kept_of_traps(request, around.add if around is not None else requests.keep),
        ):
            kernel, recording, changes = run(request, function, entry, args, kwargs, grid)
        dumps = [request.dump(recording, changes)]
    for dump in dumps:
        if not plan.sites:
            sites = [(text, [v.site for v in dump.all(text) if not v.site.marker]) for text in ask.values]
            plan.take_sites([site for text, of in sites for site in _meant(text, of)])
            say_values(plan.text, plan.sites)
        if plan.target is not None:
            fill.fill(plan.target, dump, plan.starts, ask.grid or (0, 0, 0), axes[0])
            # Nobody sees this Dump: what is missing in it, and outputs that are not the plain kernel's, are
            # said here.
            notes = [*dump.notes, *(change for change in dump.changes if "differ" in change)]
            if notes:
                warn(f"the dump of {plan.who}: {'; '.join(notes)}")
        elif around is None:
            requests.keep(dump)
        if around is not None:
            around.add(dump)
    return kernel


def _way(request, plan: DumpLayout):
    """Returns what records a launch that the tile engine does not execute. Statements become stores, which
    values of the IR and registers can be too; on the CPU the engine reads registers."""
    on_cpu = devices.resolved_device() == "cpu"
    if request.level == "cubin":
        return machine_values.run if on_cpu else cuda_gdb.run
    if not request.selectors or not plan.markers:
        return registers.run if request.selectors and on_cpu else instrument.run
    named = [text for text, _ in request.selectors if _REGISTER.fullmatch(text)]
    if named and (on_cpu or request.level in ("llir", "ptx")):
        raise fail(
            f"{named[0]} is a register, and the kernel has dl.dump statements: one launch cannot record both",
            "triton_runner.using(dump=False) leaves the statements out",
        )
    return instrument.run


_REGISTER = re.compile(r"%(?:r|rd|rs|rl|rq|f|fd|h|hh|b|p)\d+")


def _plan(function, ask: DumpKeywords, kernel, entry, on_engine: bool) -> DumpLayout:
    """Returns what the IR tells of the dump: that of the level that the engine executes, elsewhere the one
    that the names belong to."""
    level = compiled_of(kernel).level if on_engine else entry.level if entry is not None else "ttir"
    if level == "ttir" and "ttir" not in kernel.asm:  # Gluon has none
        level = "ttgir"
    elif level == "ttgir" and compiled_of(kernel).entry == "ttir" and not compiled_of(kernel).has("ttgir"):
        level = "ttir"  # one with layouts, as TLX has it: the engine calls it by what it holds
    text = kernel.asm.get(level) if level in MLIR else None
    plan = DumpLayout(ask, f"kernel '{kernel.name}'", text or "")
    if text is None:
        return plan
    module = _module(text, f"{kernel.name}.{level}")
    plan.take_markers(_markers(text, module.filename))
    if on_engine:
        selectors = [(text, list(lines)) for text, lines in requests.request(ask.values, function).selectors]
        selection = probe.select(module, kernel.name, selectors)
        chosen = []
        for number, text in enumerate(ask.values):
            chosen += _meant(text, [site for site, of in selection if of == number])
        plan.take_sites(chosen)
    else:
        _check_names(ask, kernel, "ttgir" if devices.resolved_device() == "cpu" else level)
    plan.check_something()
    return plan


def _check_names(ask: DumpKeywords, kernel, level: str) -> None:
    """Refuses names of dump_value= that several values of the IR have, where it is not the IR that executes;
    level: whose values are meant."""
    text = kernel.asm.get(level) if any(name.startswith("%") for name in ask.values) else None
    for name in ask.values if text is not None else ():
        try:
            selection = probe.select(_module(text, f"{kernel.name}.{level}"), kernel.name, [name])
        except DiagnosticError:  # a register, or said when it is looked for
            continue
        check_single(name, [site for site, _ in selection])


def _meant(text: str, sites: list) -> list:
    """The values that a name of dump_value= fills the tensor with: of a variable's the last one in the
    deepest loop, as in a Dump; of an SSA name's the only definition; else all."""
    check_single(text, sites)
    if not text.isidentifier() or not sites:
        return sites
    deepest = max(site.loops for site in sites)
    return [[site for site in sites if site.loops == deepest][-1]]


def _request(ask: DumpKeywords, plan: DumpLayout, around, function) -> requests.Request:
    """Returns what the recorder is asked for: the launch's own wishes, and those of dumping() around it."""
    own = requests.request(
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
