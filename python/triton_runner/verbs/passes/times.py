"""Divides the time before the first result: a compilation into its stages, and within them into MLIR's
passes, LLVM's passes, ptxas. The package's own part comes after: it loads and launches each level's code.

_worker/times_job.py measures, in a process of its own, as every trace of passes is made; a finer division of
a stage starts there. Here the parts of one name are added up and put under what they are parts of.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import time

from triton_runner import _core, _settings
from triton_runner._base import expression, tools
from triton_runner._base.levels import LEVELS
from triton_runner._base.metadata import jsonable
from triton_runner._kernel.compiling import compile as compiler
from triton_runner._kernel.compiling import passes_select
from triton_runner._launch import launchers

# The parts of a kind are within these: the function of Triton's bindings, or the program.
_WITHIN = {"optimise": "llvm.optimize_module", "generate": "llvm.translate_to_asm"}
_MLIR = "MLIR's passes"


@dataclasses.dataclass(frozen=True)
class Part:
    """A pass (all of its runs in a stage), or a function that ptxas compiled."""

    name: str
    runs: int
    seconds: float
    share: float  # of the whole compilation


@dataclasses.dataclass(frozen=True)
class Group:
    """MLIR's passes, a function of Triton's bindings ("llvm.optimize_module") or a program ("ptxas")."""

    name: str
    seconds: float
    share: float
    parts: tuple[Part, ...]


@dataclasses.dataclass(frozen=True)
class Stage:
    """A stage of Triton, with what it spends its time on; the rest of it is Python and the text of the IR."""

    name: str
    level: str
    seconds: float
    share: float
    plain_seconds: float | None  # of the compilation without timers
    groups: tuple[Group, ...]


@dataclasses.dataclass(frozen=True)
class Load:
    """This package reads and lowers a level's text before the first result on the CPU, and launches the
    kernel. The text of a cubin is nvdisasm's, which takes `nvdisasm_seconds` (little where it is kept from
    before); 0 at other levels. launch_seconds: None without arguments. share: the package's own part of the
    time from Python to that result, Triton's stages included."""

    level: str
    seconds: float
    nvdisasm_seconds: float
    launch_seconds: float | None
    share: float


@dataclasses.dataclass(frozen=True)
class Times:
    """A compilation's times. `seconds` is the sum of the stages; `own_seconds` is what the timing itself took
    (LLVM prints its IR meanwhile) and is not in it; `plain_seconds` is the time of a compilation without
    timers. `loads` come after the compilation, each by itself."""

    kernel: str
    target: str
    release: str
    seconds: float
    plain_seconds: float
    own_seconds: float
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]
    loads: tuple[Load, ...]

    @property
    def slowest(self) -> tuple[str, float]:
        """The part that takes the most, of all that is not divided further, and its seconds."""
        leaves = [(stage.name, stage.seconds) for stage in self.stages if not stage.groups]
        for stage in self.stages:
            for group in stage.groups:
                at = f"{group.name} in {stage.name}"
                leaves += [(f"{part.name}, {at}", part.seconds) for part in group.parts]
                rest = group.seconds - sum(part.seconds for part in group.parts)
                leaves.append((f"the rest of {at}" if group.parts else at, rest))
        return max(leaves, key=lambda leaf: leaf[1])


def times(
    kernel, signature=None, constexprs=None, *, target=None, options=None, triton=None, to=None, args=(),
    grid=None,
) -> Times:  # fmt: skip
    """Compiles a kernel twice, without timers and with them. The arguments are those of passes(); args, grid
    (a text, as --grid takes it): of a launch, which is timed at each level that the CPU executes."""
    request = compiler.request_of(kernel, signature, constexprs, target, None, to, options, None, None)
    plain, timed = (
        compiler.run("times_job", {**request, "parts": parts}, triton, None, isolate=True)
        for parts in (False, True)
    )
    whole = sum(seconds for _, _, seconds in timed["stages"])
    without = {level: seconds for level, _, seconds in plain["stages"]}
    stages = tuple(
        Stage(
            name, level, seconds, seconds / whole, without.get(level), _groups(timed["parts"], level, whole)
        )
        for level, name, seconds in timed["stages"]
    )
    return Times(
        timed["name"], request["target"], timed["release"], whole, sum(without.values()), timed["own"],
        stages, tuple(_missing(stages)), tuple(_loads(plain, request["target"], args, grid, constexprs)),
    )  # fmt: skip


def _loads(compiled: dict, target: str, args, grid, constexprs):
    """Loads each level that the CPU executes, launches it if there is a grid, and yields what that took."""
    name, until, triton = compiled["name"], 0.0, {}
    for level, _, seconds in compiled["stages"]:
        until = triton[level] = until + seconds
    for level, source in compiled["asm"].items():
        if level not in LEVELS or LEVELS[level].lowered:
            continue
        disassembling = 0.0
        if level == "cubin":
            _, disassembling = _timed(tools.listing, source)
        if LEVELS[level].engine == "simt":
            from triton_runner._launch import simt  # what launches, which times of TTIR do not need

            load = functools.partial(simt.load_compiled, source, name, [], compiled["metadata"])
        else:
            load = functools.partial(_core.load_tile, source, f"{name}.{level}", name)
        _, loading = _timed(load)
        launching = None
        if grid is not None:
            with _settings.using(device="cpu", level=level, target=target):
                launching = _launched(level, source, compiled, args, grid, constexprs)
        ours = loading + (launching or 0.0)
        yield Load(
            level, loading, disassembling, launching, ours / (triton.get(level, 0.0) + disassembling + ours)
        )


def _launched(level: str, source, compiled: dict, args, grid: str, constexprs) -> float:
    """The seconds of the first launch of a level's code, which is loaded by then."""
    from triton_runner._artifact import executable, reading  # with what launches

    metadata = json.dumps(compiled["metadata"], default=jsonable)
    kernel = executable.executable(reading.describe(level, source, "", compiled["name"], metadata))
    named = kernel.name_values(list(args), {})
    numbers = dict(constexprs) if isinstance(constexprs, dict) else {}
    numbers |= {name: value for name, value in named if isinstance(value, (int, float))}
    if hasattr(kernel.function, "code_for"):
        kernel.function.code_for(named)
    return _timed(kernel.launch, launchers.axes_of(expression.grid(grid, numbers)), named)[1]


def _timed(function, *args):
    begin = time.perf_counter()
    return function(*args), time.perf_counter() - begin


def _groups(parts: list[dict], level: str, whole: float) -> tuple[Group, ...]:
    """The groups of a stage, the longest first."""
    spent: dict[str, float] = {}
    inside: dict[str, dict[str, list[float]]] = {}
    program = ""
    for part in (part for part in parts if part["level"] == level):
        kind, name, seconds = part["kind"], part["name"], part["seconds"]
        if kind in ("call", "process"):
            spent[name] = spent.get(name, 0.0) + seconds
            program = name if kind == "process" else program
            continue
        group = _WITHIN.get(kind, program)
        if kind == "pass":
            group, name = _MLIR, passes_select.name_of(name)[0]
            spent[group] = spent.get(group, 0.0) + seconds
        inside.setdefault(group, {}).setdefault(name, []).append(seconds)
    made = (
        Group(name, seconds, seconds / whole, _parts(inside.get(name, {}), whole))
        for name, seconds in spent.items()
    )
    return tuple(sorted(made, key=lambda group: -group.seconds))


def _parts(runs: dict[str, list[float]], whole: float) -> tuple[Part, ...]:
    made = (Part(name, len(each), sum(each), sum(each) / whole) for name, each in runs.items())
    return tuple(sorted(made, key=lambda part: -part.seconds))


def _missing(stages: tuple[Stage, ...]):
    """Yields what could not be divided further."""
    for stage in stages:
        for group in stage.groups:
            if group.name in _WITHIN.values() and not group.parts:
                yield f"the passes within {group.name} are not known: LLVM printed none"
        if stage.level == "amdgcn" and _WITHIN["generate"] not in [group.name for group in stage.groups]:
            yield (
                "the passes that generate AMDGCN are not known: this release generates it in a library "
                "of its own, which has no timers"
            )
