"""Finds Python's variables at PTX and in machine code: which registers hold them.

This module makes what dumps know of the registers of a value (registers.py, machine_values.py of
_kernel/dumps) into a map of each variable, when somebody first asks for it: a compilation or two of the
kernel, and in machine code a run of the launch at both levels. The core then says at each instruction what is
there (probe/variables.h)."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
import threading

import numpy

from triton_runner._artifact.compiled_kernel import Compiled, compiled_of
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._base.paths import in_a_file
from triton_runner._base.recent import Recent
from triton_runner._core import ir, probe
from triton_runner._kernel.compiling import ledger, passes
from triton_runner._kernel.dumps import registers
from triton_runner._kernel.dumps.records import numpy_type
from triton_runner._memory.arguments import Arguments

_MOST_TWINS = 16  # that are compiled for one variable
_RESERVED = 1024  # bytes of shared memory that machine code from sm_90 on leaves to the system
_LONG = 32768  # characters of PTX that take seconds to compile
_HIGHER = "--level ttgir shows it"


class Source:
    """The assignments of a kernel, their marks in its PTX, and the plans of their registers: the same for all
    its launches."""

    def __init__(self, code: registers.Code, ttir: str):
        self.code = code
        self.assigned = probe.assigned(code.ttgir, code.compiled.label("ttgir"), code.name, ttir)
        self._plans: dict = {}
        self._marks: dict = {}
        self.lost: set[str] = set()  # variables that are assigned nobody knows where

    @functools.cached_property
    def all_marks(self):
        """The Marks of all assignments at once, or None."""
        return self._marked([*range(len(self.assigned.all))])

    def _marked(self, which: list[int]):
        """Returns where some assignments are; None: with marks the kernel is another program."""
        twin = self.code.compile(self.assigned.marked(which), "ttgir")
        try:
            return probe.find_marks(self.assigned, twin, self.code.ptx, self.code.filename)
        except DiagnosticError:
            return None

    def marks(self, name: str):
        """The Marks of a variable's assignments: where its registers are read, else of all assignments at
        once, or of each alone."""
        if name not in self._marks:
            plan = self.plan(name) or probe.merge_plans([])
            own = [i for i, a in enumerate(self.assigned.all) if a.site.variable == name]
            rest = [i for i in own if self.assigned.all[i].site.value not in plan.values]
            marks = probe.marks_of(self.assigned, plan)
            for i in rest:
                found = self.all_marks or self._marked([i])
                if found is None:
                    marks.lose(i)
                    self.lost.add(name)
                else:
                    marks.add(found, i)
            self._marks[name] = marks
        return self._marks[name]

    def plan(self, name: str):
        """The RegisterPlan of a variable's values; None: no register of the PTX has one as it is."""
        if name not in self._plans:
            own = [a for a in self.assigned.all if a.site.variable == name and not a.is_buffer]
            values = [a.site.value for a in own if not a.constant]
            found = None
            if values:
                with contextlib.suppress(DiagnosticError):
                    found = registers.plan_untouched(
                        self.code.ttgir, values, self.code, _MOST_TWINS, clean=self.code.ptx
                    )
            self._plans[name] = found
        return self._plans[name]


_sources = Recent(8)


def _source_of(kernel) -> Source:
    compiled = compiled_of(kernel)
    if compiled.has("amdgcn"):
        raise fail(
            f"kernel '{compiled.name}' runs as AMDGCN: its code has registers, and no variables of Python"
        )
    code = registers.Code(compiled)
    if code.ttgir is None or code.is_given:
        raise fail(
            f"kernel '{code.name}' entered below TTGIR: its code has registers, and no variables of Python"
        )
    ttir = compiled.asm["ttir"] if compiled.has("ttir") else ""
    key = (code.ptx, code.ttgir, ttir)
    return _sources.get(key) or _sources.put(key, Source(code, ttir))


class Variables:
    """The variables of one launch.

    - `names`: all that the kernel assigns; [] where they cannot be told, and `why`.
    - `launch`: the Relaunch, by which values are looked for in machine code; `first(address, bytes)`: its
      memory as it was at first.
    """

    def __init__(self, kernel, level: str, launch, first):
        self._kernel, self.level, self._launch, self._first = kernel, level, launch, first
        self._source: Source | None = None
        self._located: dict = {}  # by name
        self._programs: list = []  # in which values of machine code were looked for
        self._machine = None  # a trace of its registers
        self._unlocated = None  # of those that nobody has asked for
        self.why = ""
        self.notes: list[str] = []  # what machine code does not keep, and why

    @property
    def source(self) -> Source | None:
        if self._source is None and not self.why:
            try:
                self._source = _source_of(self._kernel)
            except DiagnosticError as error:
                self.why = error.message
        return self._source

    @property
    def names(self) -> list[str]:
        source = self.source
        return [*dict.fromkeys(a.site.variable for a in source.assigned.all)] if source else []

    def locate(self, names, program=None) -> dict:
        """Finds out where some variables are, as far as that is new, and gives all that are known, by name.
        program: in machine code, one in which they are looked for."""
        if self.level == "cubin" and program is not None and [*program] not in self._programs:
            self._programs, self._machine = [*self._programs, [*program]], None
            names = [*dict.fromkeys([*names, *self._located])]
            self._located = {}
        for name in names:
            if name not in self._located and name in self.names:
                plan, marks = self.source.plan(name), self.source.marks(name)
                placed = self._placed(plan) if self.level == "cubin" else plan
                self._located[name] = self._of_code(placed, marks)
        return self._located

    def takes_long(self, name: str) -> bool:
        return name not in self._located and len(self.source.code.ptx) > _LONG

    def site(self, debugger, name: str, place: int):
        """The Site of the value that a variable has at a place, or None, without looking for its registers.
        Where that would take long, of one that it has anywhere."""
        source = self.source
        if name not in self._located:
            if source.all_marks is not None and self._unlocated is None:
                self._unlocated = self._of_code(None, source.all_marks)
            if source.all_marks is None or not self._tells(debugger, place):
                return next(a.site for a in source.assigned.all if a.site.variable == name)
        debugger.set_variables({name: self._unlocated, **self._located})
        status, number = debugger.find_variable(name, place)
        return None if status == "none" else source.assigned.all[number].site

    def _tells(self, debugger, place: int) -> bool:
        """Returns whether the marks of all assignments at once say what has a value at a place."""
        names = self.names
        debugger.set_variables(dict.fromkeys(names, self._unlocated))
        return any(debugger.find_variable(name, place)[0] != "none" for name in names)

    def _of_code(self, plan, marks):
        """Returns where a plan says that values are; None: no register has one."""
        source, code = self.source, self.source.code
        of = source.assigned, code.ptx, code.filename, code.name, marks
        if self.level == "cubin":
            return probe.variables_of_machine(*of, self._listing, plan)
        return probe.variables_of_ptx(*of, plan or probe.merge_plans([]))

    @functools.cached_property
    def allocations(self) -> list[Allocated]:
        """The buffers in shared memory, by their addresses."""
        compiled = compiled_of(self._kernel)
        capability = int(compiled.target.rpartition(":")[2]) if compiled.target.startswith("cuda:") else 0
        first = _RESERVED if self.level == "cubin" and capability >= 90 else 0
        return [dataclasses.replace(a, offset=a.offset + first) for a in allocations_of(compiled)]

    @functools.cached_property
    def _listing(self) -> str:
        return tools.listing(self.source.code.compiled.asm["cubin"])

    def _placed(self, plan):
        """The SassPlan of a plan for the PTX, from a run at both levels; None: machine code keeps nothing."""
        code, placed = self.source.code, None
        if self._machine is None:
            self._machine = self._traced(
                "cubin", lambda: probe.trace_machine(self._listing, code.name, self._programs, heads=True)
            )
        if plan is not None:
            of_ptx = self._traced(
                "ptx", lambda: probe.trace_plan(plan, code.ptx, code.filename, self._programs)
            )
            try:
                placed = probe.place_by_running(
                    plan, code.ptx, code.filename, code.name, of_ptx, self._listing, self._machine
                )
                self.notes += placed.notes
            except DiagnosticError as error:
                self.notes += [error.message, *error.notes]
        return placed

    def _traced(self, level: str, make):
        """A recorder that make() gives, after a run aside: of the programs that it records, or of all if one
        of these waits for another program."""
        for programs in ([{"program": ",".join(map(str, p))} for p in self._programs], [{}]):
            recorder = make()
            traps = [self._run(level, recorder, **settings) for settings in programs]
            if not any(trap and trap.kind in ("deadlock", "timeout") for trap in traps):
                break
        return recorder

    def _run(self, level: str, recorder, **settings) -> KernelTrap | None:
        """Runs the launch aside, from its first contents. On a thread of its own: the debugger of this one
        would stop it."""
        arguments = self._launch.arguments
        arguments.keep(self._first)
        copies = Arguments(arguments.copied(first=True).named)
        aside = dataclasses.replace(self._launch, arguments=copies, assembled=True)
        ended: list = []

        def run() -> None:
            try:
                ended.append(aside.run(level, recorder=recorder, **settings).trap)
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if ended[0] is not None and not isinstance(ended[0], KernelTrap):
            raise ended[0]
        return ended[0]


def _constant(assignment):
    """The array that a constant of the TTGIR is; None: it is not an array, or its text is not read."""
    match = re.fullmatch(r"(?:dense<)?([-+\w.]+)>?(?: : .*)?", assignment.constant)
    site = assignment.site
    if not match:
        return None
    kind = numpy_type(site.type)
    if match[1] in ("true", "false"):
        return numpy.full(site.shape, match[1] == "true", kind)
    try:
        if match[1].startswith("0x") and kind.kind == "f":
            bits = numpy.array(int(match[1], 16), f"u{kind.itemsize}").view(kind)
            return numpy.full(site.shape, bits, kind)
        return numpy.full(site.shape, float(match[1]) if kind.kind == "f" else int(match[1]), kind)
    except (ValueError, OverflowError):
        return None


class Python:
    """A part of State: values of Python's variables where registers stand. It has _debugger, _variables (or
    None), _place (where it stands), and _arguments: those of the launch, by name."""

    @property
    def python_names(self) -> list[str]:
        """The variables of the kernel, where registers stand."""
        return [] if self._variables is None or self.has_values else self._variables.names

    def is_python(self, name) -> bool:
        return name in self.python_names

    def _locate(self, name: str) -> tuple[str, object]:
        """(whether and where a variable is, its assignment or None)."""
        program = [*self._debugger.program]
        located = self._variables.locate([name], program)
        self._debugger.set_variables(located)
        status, number = self._debugger.find_variable(name, self._place)
        return status, None if status == "none" else self._variables.source.assigned.all[number]

    def takes_long(self, number) -> bool:
        """Returns whether it takes seconds to find where a variable is, for the first time."""
        return isinstance(number, str) and self._variables.takes_long(number)

    def python_site(self, name: str):
        """The Site of the value that a variable has here, or None."""
        return self._variables.site(self._debugger, name, self._place)

    def read_python(self, name: str):
        """(array, mask or None) of a variable; masked: elements that other threads hold. Raises
        DiagnosticError where no register holds it."""
        status, assignment = self._locate(name)
        if status == "there":
            kind, shape, data, there = self._debugger.read_variable(name, self._place)
            array = numpy.frombuffer(data, numpy_type(kind)).reshape(shape)
            mask = numpy.frombuffer(there, numpy.int8).reshape(shape) != 0
            if not mask.any():
                raise fail(f"{name} is in threads that are elsewhere", "info paths lists them")
            return array, None if mask.all() else mask
        if assignment is not None and status == "nowhere":
            known = self._known(assignment)
            if known is not None:
                return known, None
        raise self._missing(name, status, assignment)

    def _known(self, assignment):
        """Returns a value that needs no register: a constant, an argument of the launch."""
        if assignment.constant:
            return _constant(assignment)
        value = self._arguments.get(assignment.site.variable)
        is_parameter = assignment.site.value == f"%{assignment.site.variable}"
        if not is_parameter or assignment.site.op not in ("tt.func", "") or value is None:
            return None
        value = value.data_ptr() if hasattr(value, "data_ptr") else value
        if not isinstance(value, (bool, int, float)):
            return None
        return numpy.array(value).astype(numpy_type(assignment.site.type))

    def _missing(self, name: str, status: str, assignment) -> Exception:
        """Why a variable cannot be shown here, and what to do."""
        own = [a for a in self._variables.source.assigned.all if a.site.variable == name]
        lines = ", ".join(map(str, dict.fromkeys(a.line for a in own)))
        if name in self._variables.source.lost:
            return fail(
                f"where {name} is assigned in this code cannot be told: a mark makes it another program",
                _HIGHER,
            )
        if assignment is None:
            return fail(
                f"{name} has no value here, or which one depends on the way here",
                f"it is assigned at line {lines}: go on to a line after that",
                _HIGHER,
            )
        value, level = assignment.site.value, self._variables.level
        line = ("the loop of " if assignment.site.op.startswith("scf.") else "") + f"line {assignment.line}"
        if status == "buffer":
            return fail(
                f"{name} is in shared memory here, and in no register", "`info shared` lists the buffers"
            )
        if assignment.is_in_flight:
            return fail(
                f"{name} is being computed by the tensor cores here: {line} has issued its product",
                "go on to the wait that completes it: break wgmma.wait_group",
                _HIGHER,
            )
        if status == "not yet":
            return fail(f"{name} has not been computed yet: {line} gives it", "go on: `op`, `next`", _HIGHER)
        if status == "partly":
            return fail(
                f"the registers of {name} are not all there: {line} is computing it, or they hold something "
                "else by now",
                "go on to where it is whole: `op`, `next`",
                _HIGHER,
            )
        notes = [note for note in self._variables.notes if value in re.findall(r"[%\w.@#]+", note)]
        return fail(f"{name} ({value}) is in no register at {level} as it is", *notes[:2], _HIGHER)

    def set_python(self, name: str, index, value) -> list[tuple[int, bytes]]:
        """Gives a variable, or elements of it, another value: (register, what its threads then have)."""
        status, assignment = self._locate(name)
        if status != "there":
            raise self._missing(name, status, assignment)
        changed = self.read_python(name)[0].copy()
        changed[index] = value
        return self._debugger.variable_writes(name, self._place, changed.tobytes())


@dataclasses.dataclass(frozen=True)
class Allocated:
    """A buffer: the variable that it is of, or its value's name; where it begins in shared memory."""

    name: str
    value: str
    offset: int
    bytes: int


_allocations = Recent(8)


def allocations_of(compiled: Compiled) -> list[Allocated]:
    """The buffers of a kernel; [] where nobody says where they lie."""
    if not compiled.has("ttgir") or compiled.entry not in ("python", "ttir", "ttgir"):
        return []
    key = (compiled.asm["ttgir"], compiled.target)
    found = _allocations.get(key)
    return _allocations.put(key, _allocated(compiled)) if found is None else found


def _allocated(compiled: Compiled) -> list[Allocated]:
    try:
        with in_a_file(compiled.asm["ttgir"], f"{compiled.name}.ttgir") as path:
            trace = passes.passes(path, target=compiled.target, to="llir", check=False)
            texts = [(step.name, step.after) for step in trace if step.after is not None]
            told = ledger.read(texts, trace.name, trace.target, trace.release, None, None)
    except DiagnosticError:
        return []
    module = ir.parse(told.text)
    out = []
    for a in told.allocations:
        size = a.room if a.bytes is None else a.bytes
        if size <= 0 or a.op == "tt.func":  # scratch of all warps: the rest of the block's memory
            continue
        out.append(Allocated(_variable(module, compiled.name, a.value) or a.op, a.value, a.offset, size))
    return out


def _variable(module, kernel: str, value: str) -> str:
    """The variable of a value, or its name; "" of what has none."""
    try:
        sites = probe.select(module, kernel, [value]) if value else []
    except DiagnosticError:
        sites = []
    return sites[0][0].variable or value if sites else value
