"""Values in the registers of PTX on the CPU: a value of TTGIR or LLIR put together from the threads that hold
it, registers by name, what a line or an opcode writes.

The compiler says where a value is: it compiles the IR a second time with taps after the value, comments that
name the registers. Without them the two programs are the same, and the launch runs its own PTX untouched;
where they are not, what runs is the program with taps, and the dump says so.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re

from triton_runner import _core, _settings
from triton_runner._artifact.compiled_kernel import Compiled, compiled_of
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._base.markers import without_markers
from triton_runner._base.recent import Recent
from triton_runner._base.releases import installed
from triton_runner._code import llvm_ir, llvm_values
from triton_runner._core import probe
from triton_runner._kernel.dumps import amd_registers
from triton_runner._kernel.dumps.requests import names_value
from triton_runner._worker.spelling import option


def run(request, function, entry, args, kwargs, grid):
    """A launch of a triton_runner.jit function whose registers are recorded: (kernel, Recording, changes).
    changes: sentences about what the dump changed in the program; none where it runs untouched. Errors:
    selectors that name nothing, values that are in no register. A KernelTrap has what was recorded until
    then: .recorded, (Recording, changes)."""
    kernel = function.launch(entry, args, kwargs, grid, True)
    return run_kernel(request, kernel, lambda: function.launch(entry, args, kwargs, grid, False))


def run_kernel(request, kernel, launch):
    """The same for a compiled kernel (Triton's, or an ArtifactKernel) and what launches it."""
    compiled = compiled_of(kernel)
    if compiled.entry == "hsaco" or compiled.has("amdgcn"):
        texts = compiled.asm["amdgcn"], compiled.asm["ttgir"] if compiled.has("ttgir") else None
        make = functools.partial(amd_registers.plan, request, compiled)
    else:
        code = Code(compiled)
        texts = code.ptx, code.ttgir, code.size
        make = functools.partial(_plan, request, code)
    key = (*texts, request.selectors, request.level, request.lenient, request.ttgir)
    plan, text, changes = _plans.get(key) or _plans.put(key, make())
    recorder = probe.RegisterRecorder(
        plan, request.every_iteration, [list(p) for p in request.programs], request.max_bytes
    )
    try:
        running = compiled.running(text) if text is not None else contextlib.nullcontext()
        with _settings.using(recorder=recorder), running:
            launched = launch()
    except KernelTrap as trap:  # what it computed until then is there to be looked at
        trap.recorded = recorder.take(), list(changes)
        raise
    return launched, recorder.take(), list(changes)


_plans = Recent(32)  # launches in a loop ask for the same again


class Code:
    """The texts of a compiled kernel whose PTX is there."""

    def __init__(self, compiled: Compiled):
        self.compiled = compiled
        self.name = compiled.name
        if not compiled.has("ptx"):
            raise fail(
                f"kernel '{self.name}' does not run as PTX here", f"launch it with {option('level', 'ptx')}"
            )
        self.ptx = compiled.asm["ptx"]
        self.ttgir = compiled.asm["ttgir"] if compiled.has("ttgir") else None
        self.llir = compiled.asm["llir"] if compiled.has("llir") else None
        self.filename = compiled.label("ptx")
        self._twins: dict = {}  # the PTX of other texts, by level and text

    @property
    def is_given(self) -> bool:
        """Whether the PTX came as a text of its own, and not from the compiler."""
        return self.compiled.entry == "ptx"

    def compile(self, text: str, level: str) -> str:
        """The PTX of another text of the kernel's TTGIR or LLIR."""
        text = without_markers(text, level, f"{self.name}.{level}")  # as the launch's own PTX is compiled
        if (level, text) not in self._twins:
            self._twins[level, text] = self.compiled.recompile(text, level, "ptx")
        return self._twins[level, text]

    @functools.cached_property
    def size(self) -> tuple:
        """Threads of a block, and blocks of a cluster."""
        entry = _core.ptx.parse(self.ptx, self.filename).function(self.name)
        warps = self.compiled.metadata_value("num_warps")
        block = entry.reqntid or self.compiled.block or (warps and (warps * 32,))
        if block is None:
            raise fail(
                f"kernel '{self.name}' does not say how many threads a block has", f"give {option('block')}"
            )
        cluster = entry.cluster or (self.compiled.metadata_value("num_ctas") or 1,)
        return math.prod(block), math.prod(cluster)


_REGISTER = re.compile(r"\{|%[a-z]{1,2}\d+$|[a-z0-9]+\.[a-z]")


def chosen(request, code: Code):
    """Returns what selectors name: ("llir", names), ("ttgir", (name, lines) of each) or ("ptx", names)."""
    if request.level == "llir" and not request.lenient and code.llir is not None:
        in_llir = llvm_ir.values(code.llir, code.name)
        in_text = [text for text, _ in request.selectors if text in in_llir]
        if in_text and len(in_text) == len(request.selectors):
            return "llir", in_text
        if in_text:
            other = next(text for text, _ in request.selectors if text not in in_llir)
            raise _mixed(f"{in_text[0]} is a value of the LLIR, and {other} is not")
    ttgir = request.ttgir or code.ttgir
    values, names = [], []
    for text, lines in request.selectors:
        if names_value(ttgir, code.name, text, lines):
            values.append((text, list(lines)))
        else:
            names.append(text)
    if names == ["*"]:  # what every opcode writes that writes registers
        names = _writing(code)
    for text in names if ttgir is not None else ():
        known = probe.names_registers(code.ptx, code.filename, code.name, text)
        if not known and not _REGISTER.match(text):  # what is wrong with it as a value
            if probe.names_registers(code.ptx, code.filename, code.name, f"%{text}"):
                raise fail(f"'{text}' names no value of kernel '{code.name}'", f"did you mean '%{text}'?")
            probe.select(_core.ir.parse(ttgir, f"{code.name}.ttgir"), code.name, [text])
    if values and names:
        raise _mixed(f"{values[0][0]} is a value of the TTGIR, and {names[0]} a register of the PTX")
    return ("ttgir", values) if values else ("ptx", names)


def _writing(code: Code) -> list[str]:
    """The opcodes of a kernel that write registers."""
    instructions = _core.ptx.parse(code.ptx, code.filename).function(code.name).instructions
    opcodes = dict.fromkeys(instruction.opcode for instruction in instructions)
    return [opcode for opcode in opcodes if probe.names_registers(code.ptx, code.filename, code.name, opcode)]


def _plan(request, code: Code):
    """(plan, the PTX to run or None for the kernel's own, what that changes)."""
    level, names = chosen(request, code)
    if level != "ttgir":
        return plan_of_threads(level, names, code)
    ttgir = request.ttgir or code.ttgir
    if ttgir != code.ttgir or code.is_given:
        clean = code.compile(ttgir, "ttgir")
        if clean != code.ptx:
            return _edited_plan(ttgir, clean, names, code), None, []
    tap = functools.partial(probe.tap, ttgir, f"{code.name}.ttgir", code.name)
    return _through_twin(tap(names), code, "ttgir", tap)


def plan_of_threads(level: str, names: list, code: Code):
    """The plan of values that each thread has by itself: of the LLIR, or registers of the PTX."""
    if level == "llir":
        plan, twin, changes = _llvm_plan(names, code)
        text, plan, waits = probe.complete_reads(twin or code.ptx, code.filename, code.name, plan)
        if not waits:
            return plan, twin, changes
        change = f"{_places(waits)}, for what wgmma or tcgen05.ld was still writing"
        return plan, text, [*changes, change]
    text = probe.add_waits(code.ptx, code.filename, code.name, names)
    plan = probe.plan_named_registers(text, code.filename, code.name, names, *code.size)
    if text == code.ptx:
        return plan, None, []
    added = text.count("wgmma.wait_group") - code.ptx.count("wgmma.wait_group")
    change = f"{_places(added)}: the kernel jumps before it waits for the products that were asked for"
    return plan, text, [change]


def _places(count: int) -> str:
    return f"what ran waits at {count} more place{'s' if count > 1 else ''}"


def _mixed(what: str):
    return fail(f"{what}: they cannot be recorded in one dump", "use a dump of its own for each")


_MOST_ALONE = 16  # values that are looked for one by one


def plan_of(tapped, twin: str, ptx: str | None, filename: str, partial: bool = False):
    """The plan of taps whose twin Triton has compiled."""
    return probe.plan_registers(tapped, twin, ptx, filename, partial, not installed().copies_merged)


def _through_twin(tapped, code: Code, level: str, tap):
    """The plan of taps: for the program as it is where it can be told, else for its twin. tap: makes the
    taps of some of the values only."""
    twin = code.compile(tapped.text, level)
    try:
        return plan_of(tapped, twin, code.ptx, code.filename), None, []
    except DiagnosticError as error:
        if 1 < len(tapped.values) <= _MOST_ALONE:
            plans = _alone(tapped.values, code, level, tap)
            if plans:
                return probe.merge_plans(plans), None, []
        where = f" ({error.file}:{error.line})" if error.file else ""
        change = (
            f"what ran is the program compiled with taps after {_listed(tapped.values)}, as the registers "
            f"of the unchanged one were not found: {error.message}{where}"
        )
    return plan_of(tapped, twin, None, code.filename), twin, [change]


def _alone(values: list, code: Code, level: str, tap) -> list:
    """A plan for each value, from a twin of its own; [] where one has none."""
    plans = []
    for value in dict.fromkeys(values):  # somebody may name one twice
        tapped = tap([value])
        try:
            plans.append(plan_of(tapped, code.compile(tapped.text, level), code.ptx, code.filename))
        except DiagnosticError:
            return []
    return plans


def _listed(names: list) -> str:
    return ", ".join(names) if len(names) < 6 else f"{', '.join(names[:4])} and {len(names) - 4} more"


def _llvm_plan(names: list, code: Code):
    """Values of LLIR by name."""

    def tap(chosen):
        return llvm_values.tap(code.llir, f"{code.name}.llir", code.name, chosen, *code.size)

    return _through_twin(tap(names), code, "llir", tap)


MOST_TWINS = 64  # that are compiled for one dump


def _edited_plan(ttgir: str, clean: str, values: list, code: Code):
    """The plan for PTX that somebody edited: found for what the TTGIR compiles to, and moved."""
    label = f"{code.name}.ttgir"
    sites = [site for site, _ in probe.select(_core.ir.parse(ttgir, label), code.name, values)]
    floats = list(dict.fromkeys(site.value for site in sites if site.type[0] in "fb" and site.shape))
    others = list(dict.fromkeys(site.value for site in sites if site.value not in set(floats)))
    plans, lost = _plans_in_groups(ttgir, clean, [floats, others], code, MOST_TWINS)
    if not plans:
        raise fail(f"no register of {code.filename} was found to hold {_listed(lost)}")
    plan = probe.move_plan(probe.merge_plans(plans), clean, code.ptx, code.filename)
    if lost:
        plan.add_note(f"left out, as tapping them makes another program: {_listed(lost)}")
    return plan


_groups = Recent(8)  # edits of one PTX ask for the same again, which takes up to `most` compilations


def _plans_in_groups(ttgir: str, clean: str, groups: list, code: Code, most: int):
    """(plans, values left out) for the program as it is: values whose taps make another program of it are
    left out; they are looked for in ever smaller groups, with `most` twins in all."""
    options = repr(sorted(code.compiled.options().items(), key=lambda option: option[0]))
    key = (code.name, code.compiled.target, options, ttgir, clean, repr(groups), most)
    if (known := _groups.get(key)) is None:
        known = _found_in_groups(ttgir, clean, groups, code, most)
        _groups.put(key, known)
    return known[0], [*known[1]]


def _found_in_groups(ttgir: str, clean: str, groups: list, code: Code, most: int):
    waiting, plans, lost, twins = [group for group in groups if group], [], [], 0
    while waiting:
        group = waiting.pop(0)
        if twins == most:
            lost += group
            continue
        try:
            tapped = probe.tap(ttgir, f"{code.name}.ttgir", code.name, group)
            twins += 1
            plans.append(plan_of(tapped, code.compile(tapped.text, "ttgir"), clean, code.filename, True))
        except DiagnosticError:
            half = len(group) // 2
            waiting += [group[:half], group[half:]] if half else []
            lost += [] if half else group
    return plans, lost


def plan_untouched(ttgir: str, names: list, code: Code, most: int, together: int = 1 << 30, clean: str = ""):
    """The plan of values of a TTGIR for the PTX of a kernel, which runs as it is: of those that can be told
    with `most` twins, of `together` values each at first. None where none can. clean: the PTX of the TTGIR,
    where it is known."""
    groups = [names[first : first + together] for first in range(0, len(names), together)]
    if not clean:  # nearly always the PTX that runs
        plans, lost = _plans_in_groups(ttgir, code.ptx, groups, code, min(len(groups), most))
        if plans and not lost:
            return probe.merge_plans(plans)
    clean = clean or code.compile(ttgir, "ttgir")
    plans, lost = _plans_in_groups(ttgir, clean, groups, code, most)
    if not plans:
        return None
    plan = probe.merge_plans(plans)
    if lost:
        plan.add_note(f"which registers of the untouched program hold {_listed(lost)} is not known")
    return plan if clean == code.ptx else probe.move_plan(plan, clean, code.ptx, code.filename)
