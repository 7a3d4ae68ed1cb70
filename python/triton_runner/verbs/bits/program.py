"""Runs a program as it is, while each launch is compared with itself in other configurations."""

from __future__ import annotations

import dataclasses
import time

from triton_runner._base.errors import fail
from triton_runner._programs import intercept
from triton_runner._programs.intercept import InterceptedLaunch
from triton_runner.verbs.bits import compare, static, variants
from triton_runner.verbs.bits.results import SCHEMA, Bits, Launch
from triton_runner.verbs.bits.variants import Axes


class WatchedBits(intercept.Interceptor):
    """level: whose bits are compared, "" for the lowest that the CPU executes."""

    def __init__(self, axes: Axes, names=(), most: int = 4, level: str = "", say=lambda text: None):
        super().__init__(names, most)
        self._axes, self._level, self._say = axes, level, say
        self._launches: list[Launch] = []

    def result(self, status: int) -> Bits:
        return Bits(SCHEMA, self._launches, self.selection.left_out, status)

    def chosen(self, launch: InterceptedLaunch) -> tuple | None:
        """The first configuration that runs, with which a program goes on that tunes; None: its own."""
        self._say(launch.name)
        started = time.perf_counter()
        made = variants.of(launch, self._axes)
        found = of_variants(launch.name, len(self._launches), made, self._level, self._say)
        seconds = round(time.perf_counter() - started, 3)  # with its compilations
        self._launches.append(dataclasses.replace(found, seconds=seconds))
        ran = next((i for i, one in enumerate(made) if one.outcome is not None), None)
        if not launch.is_tuned or ran is None:
            return None
        own = launch.configs[0] if self._axes.configs else launch.configs[min(ran, len(launch.configs) - 1)]
        return own


def of_variants(name: str, place: int, made: list, level: str, say=lambda text: None) -> Launch:
    """Runs the variants of a launch and puts them into classes."""
    started = time.perf_counter()
    if level == "hsaco":  # a level that runs where somebody names it
        for one in made:
            one.launch = one.launch and dataclasses.replace(one.launch, assembled=True)
    launches = [one.launch for one in made if one.launch is not None]
    level = level_of(launches[0], level) if launches else level
    by_class = compare.classes(made, level, lambda text: say(f"{name}: {text}"))
    letters = {id(one): letter for letter, members in by_class.items() for one in members}
    known = static.keys([(one.launch if level == "ptx" else None, one.settings) for one in made])
    rows = [one.row(letters.get(id(one)), number) for one, number in zip(made, known, strict=True)]
    partings = compare.partings(by_class, level, say)
    grid, target = (list(launches[0].grid), launches[0].target) if launches else ([], "")
    seconds = round(time.perf_counter() - started, 3)
    return Launch(name, place, grid, target, level, rows, partings, static.contradictions(rows), seconds)


def level_of(launch, level: str) -> str:
    """The level whose bits are compared. Raises DiagnosticError for one that the launch has not."""
    if not level:
        return launch.levels[-1]
    if level not in launch.levels:
        raise fail(
            f"kernel '{launch.name}' does not run at level {level!r}", f"levels: {', '.join(launch.levels)}"
        )
    return level
