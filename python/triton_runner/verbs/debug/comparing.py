"""Compares at a stop (`compare`) the values that the program has computed up to here with those of another
level or of another release's compilation. The launch is run again twice, from its first contents, and each
value that has a counterpart is recorded (lockstep)."""

from __future__ import annotations

import dataclasses
import math
import warnings

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import fail
from triton_runner._base.levels import ON_CPU
from triton_runner._core import ir, probe
from triton_runner._kernel.dumps.dumping import LEVELS as DUMPED
from triton_runner._kernel.lockstep.lockstep import Divergence, Side, compared_sides
from triton_runner._memory.arguments import Arguments
from triton_runner._pipeline import versions
from triton_runner.verbs.debug.places import Places, is_in_loop
from triton_runner.verbs.debug.results import Compared, Differing, Frame, Stopped

_LOOPS = ("scf.for", "scf.while")
_PARTITIONS = "ttg.warp_specialize"
_MOST_NOTES = 4


def compared(mine: Side, other: Side, here: Stopped, tolerance: float | None) -> Compared:
    """The result for two sides, of which `mine` is that of the stop."""
    sides = sorted((mine, other), key=lambda side: ON_CPU.index(side.level))
    with warnings.catch_warnings():  # of the launch, which has had them
        warnings.simplefilter("ignore")
        differences, count, runs = compared_sides(sides, programs=[tuple(here.program)], tolerance=tolerance)
    notes = [f"{run.name} stopped: {run.error}" for run in runs if run.error]
    notes += [f"{run.name}: {note}" for run in runs for note in run.dump.notes[:_MOST_NOTES]]
    return Compared(mine.name, other.name, here.program, count, [_differing(d) for d in differences], notes)


def _differing(found: Divergence) -> Differing:
    return Differing(
        found.file, found.line, found.variable, found.value, found.other_value, [*found.iteration],
        [*found.element], *map(_number, found.numbers), _number(found.max_error), found.elements, found.of,
        str(found),
    )  # fmt: skip


def _number(value):
    """A number as JSON has it: NaN and infinities as texts."""
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def sides_of(launch: Relaunch, at: str, level: str, release: str, released) -> tuple[Side, Side]:
    """(the stop's, the other) of a launch that stands at level `at`; released(launch, release): as another
    release compiles it."""
    if level and level not in DUMPED:
        raise fail(f"compare: {level!r} is not a level", f"levels: {', '.join(DUMPED)}; or a release: 3.4.0")
    if not level and not release:
        raise fail("compare: with which level or release?", "as in compare ttgir, compare 3.4.0")
    level = level or at
    if release:
        versions.known(release)
    if level == at and not release:
        raise fail(f"compare {level}: that is the level at which it stands", f"levels: {', '.join(DUMPED)}")
    arguments = launch.arguments
    arguments = Arguments(arguments.copied(first=True).named)
    launch = dataclasses.replace(launch, arguments=arguments, assembled=True)
    other = released(launch, release) if release else launch
    for side, name in ((launch, at), (other, level)):
        if name not in side.levels and name != "llir":
            raise fail(
                f"kernel '{side.name}' for {side.target} has no level {name} here",
                f"its levels: {', '.join(side.levels)}",
            )
    return Side(at, launch, at), Side(f"{level} of Triton {release}" if release else level, other, level)


class Before:
    """until() of a stop at TTIR or TTGIR: which records the program had computed there."""

    def __init__(self, text: str, kernel: str, line: int, iterations: list[int]):
        module = ir.parse(text)
        self._values = dict(probe.values(module, kernel))
        op = next(op for op in module.walk() if op.line == line)
        self._here = _Position(op, iterations)

    def __call__(self, values, record: int, nth: int) -> bool:
        value = self._values.get(values.name)
        if value is None:
            return True
        iterations = values.iterations[record].tolist()
        if value.op is None:  # of a region: there when its block begins
            return _Position(value.block.parent, iterations, (0,), inside=True).is_before(self._here)
        ends = value.op.name.startswith("scf.")  # what a loop or branch gives is there after its regions
        return _Position(value.op, iterations, (math.inf,) if ends else ()).is_before(self._here)


class _Position:
    """The position of an op in the order of execution of its function. key: the lines of the ops around it,
    outermost first, of a loop the iteration, too; partitions: its region of each op whose regions run side by
    side."""

    def __init__(self, op, iterations: list[int], after: tuple = (), inside: bool = False):
        chain, block = [], None
        while op.parent is not None:
            chain.append((op, block))
            block, op = op.block, op.parent
        self.function, turns, key = chain[-1][0].line, iter(iterations), []
        self.partitions: dict[int, int] = {}
        for step, child in reversed(chain[:-1]):
            is_around = child is not None or inside
            key += [step.line, *([next(turns, 0)] if step.name in _LOOPS and is_around else [])]
            if step.name.startswith(_PARTITIONS) and child is not None:
                regions = [[*region.blocks] for region in step.regions]
                self.partitions[step.line] = next(i for i, blocks in enumerate(regions) if child in blocks)
        self.key = (*key, *after)

    def is_before(self, other: _Position) -> bool:
        """False, too, of what nothing orders: another function, another partition."""
        apart = [n for n, region in self.partitions.items() if other.partitions.get(n, region) != region]
        return self.function == other.function and not apart and self.key < other.key


class Counted:
    """until() of a stop at PTX or in machine code: as many records of a value were computed as the program
    had come to the last instruction of its line and column. visits: by (file, line, column)."""

    def __init__(self, visits: dict[tuple, int], frames: list[Frame]):
        self._visits, self._frames = visits, frames

    def __call__(self, values, record: int, nth: int) -> bool:
        if values.op in _LOOPS and is_in_loop(values.file, values.line, self._frames):
            return False  # what a loop gives is there after it
        return nth < self._visits.get((values.file, values.line, values.column), math.inf)


def places_by_line(places: Places) -> dict[tuple, list[int]]:
    """The last place of each (file, line, column) of the program."""
    return {place.lines[0]: [number] for number, place in enumerate(places.all) if place.lines}
