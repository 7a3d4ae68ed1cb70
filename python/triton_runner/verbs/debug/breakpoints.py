"""Keeps the breakpoints of a session: what a person asked for, and what the core makes of it for a launch.
Conditions are read in conditions.py, places found in places.py."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from triton_runner._base.errors import fail
from triton_runner._core import probe
from triton_runner._kernel.dumps.axes import program_of
from triton_runner.verbs.debug import conditions, parts
from triton_runner.verbs.debug.machine import Memory
from triton_runner.verbs.debug.places import Places, check_where, line_of
from triton_runner.verbs.debug.results import BreakpointInfo


@dataclasses.dataclass
class Breakpoint:
    """The place and condition at which a launch stops. number: negative where nobody asked for it by name."""

    number: int
    where: str
    condition: str = ""
    program: list[int] | None = None
    task: int = -1
    iteration: int = -1
    skip: int = 0
    temporary: bool = False
    enabled: bool = True
    watch: str = ""
    memory: Memory | None = None  # which the watchpoint is of
    places: list[int] | None = None  # of an inner one
    hits: int = 0
    seen: int = 0  # hits of this launch, where Python counts them
    moved_to: str = ""  # the line that has code, where its own has none
    note: str = ""  # what its source says of the place, before a launch does
    found: int = 0  # places in the launch
    was_found: bool = False  # whether a launch had places
    stops: Callable | None = None  # asked at a hit, with the state and the count of hits; False: it goes on

    def info(self) -> BreakpointInfo:
        return BreakpointInfo(
            self.number, f"watch {self.watch}" if self.watch else self.where, self.condition, self.program,
            self.skip, self.temporary, self.enabled, self.hits, self.found,
        )  # fmt: skip


class Breakpoints:
    """The breakpoints of a session, by number."""

    def __init__(self):
        self._all: dict[int, Breakpoint] = {}
        self._next, self._inner = 1, -1
        self._expressions: dict[int, str] = {}  # what Python has to look at

    def __contains__(self, number: int) -> bool:
        return number in self._all

    def __iter__(self):
        return iter([b for b in self._all.values() if b.number > 0])

    def __getitem__(self, number: int) -> Breakpoint:
        if number not in self._all:
            there = ", ".join(str(b.number) for b in self) or "none"
            raise fail(f"there is no breakpoint {number}", f"breakpoints: {there}")
        return self._all[number]

    def add(self, where: str, condition: str = "", *, program=None, watch: str = "", **how) -> Breakpoint:
        program = None if program is None else [*program_of(program)]
        if watch:
            if how.get("memory") is None:
                parts.element(watch)
        else:
            where = check_where(where)
        if condition:
            conditions.parsed(condition)
        made = Breakpoint(self._next, where, condition, program, watch=watch, **how)
        self._all[made.number] = made
        self._next += 1
        return made

    def add_inner(self, places: list[int], program=None, task: int = -1) -> int:
        """One for a command alone; its number."""
        number, self._inner = self._inner, self._inner - 1
        self._all[number] = Breakpoint(number, "", program=program, task=task, places=places)
        return number

    def delete(self, number: int | None = None) -> None:
        if number is None:
            self._all.clear()
        else:
            del self._all[self[number].number]

    def begin(self) -> None:
        """A launch begins, or begins again."""
        for b in self._all.values():
            b.seen = 0

    def of_core(self, places: Places, hits: dict | None = None) -> list:
        """The breakpoints of the core for a launch with these places. hits: how often it has counted each
        already."""
        self._expressions.clear()
        those = [
            self._of_core(b, places, (hits or {}).get(b.number, 0)) for b in self._all.values() if b.enabled
        ]
        return [breakpoint_ for breakpoint_ in those if breakpoint_ is not None]

    def of_places(self) -> list:
        """Returns the breakpoints of a line or a value, which no other kernel is meant by."""
        return [b for b in self if b.enabled and re.match(r"[%@]|\d+$|.+:\d+$", b.where)]

    def check_names(self, those: list, places: Places, missing) -> None:
        """Raises DiagnosticError where one with a place in this launch has a condition of what its kernel
        does not have. missing(name): notes, or None: it has that."""
        for b in those:
            if not b.condition or not self._places(b, places):
                continue
            b.was_found = True
            for name in conditions.names(b.condition):
                if (notes := missing(name)) is not None:
                    kernel = places.all[0].function
                    raise fail(
                        f"the condition of breakpoint {b.number}, {b.condition}, can never hold: kernel "
                        f"'{kernel}' has no {name!r}{', ' * (len(notes) > 1)}{notes[0] * (len(notes) > 1)}",
                        notes[-1],
                    )

    def check_there(self, places: Places, variables: list[str], find) -> None:
        """Raises DiagnosticError where one has a condition of a variable of Python that no register holds at
        any of its places. find(name, place): (status, number)."""
        for b in self.of_places():
            asked = [n for n in conditions.names(b.condition) if n in variables] if b.condition else []
            where = self._places(b, places) if asked and b.enabled and not b.watch else []
            for name in asked:
                if where and all(find(name, place)[0] != "there" for place in where):
                    raise fail(
                        f"the condition of breakpoint {b.number}, {b.condition}, can never hold: no register "
                        f"holds {name} there",
                        "--level ttgir has it, or another line: `print` says why",
                    )

    def names(self) -> list[str]:
        """Returns the names that conditions and watchpoints use."""
        out: dict = {}
        for b in self._all.values():
            if b.condition and b.enabled:
                out |= dict.fromkeys(conditions.names(b.condition))
            if b.watch and b.memory is None and b.enabled:
                out[parts.element(b.watch).name] = None
        return [*out]

    def are_conditions(self) -> bool:
        """Returns whether the core decides on all of them by values that it compares at their places. After
        of_core()."""
        there = [b for b in self._all.values() if b.enabled and (b.found or b.watch)]
        asked = [
            b for b in there
            if b.watch or b.stops is not None or b.iteration >= 0 or b.number in self._expressions
        ]  # fmt: skip
        return not asked and all(b.condition for b in there)

    def _of_core(self, b: Breakpoint, places: Places, hits: int):
        tests, expression = conditions.parsed(b.condition) if b.condition else ([], "")
        if expression:
            self._expressions[b.number] = expression
        watched = parts.element(b.watch) if b.watch and b.memory is None else parts.Part("")
        memory = {}
        if at := b.memory:
            space = getattr(probe.Space, at.space.upper())
            memory = {"memory": probe.WatchedMemory(space, at.at, at.bytes)}
        where = b.places if b.places is not None else [] if b.watch else self._places(b, places)
        b.found = len(where)
        b.was_found |= bool(where)
        if not where and not b.watch:
            return None
        return probe.Breakpoint(
            b.number, where, program=b.program or [-1, -1, -1], task=b.task, iteration=b.iteration,
            conditions=tests, watch=watched.name, element=[*watched.index], skip=0 if expression else b.skip,
            hits=hits, **memory,
        )  # fmt: skip

    def _places(self, b: Breakpoint, places: Places) -> list[int]:
        where = places.named(b.where)
        if not where and (line := places.nearest_line(b.where)):
            b.moved_to = line
            where = places.named(line)
        return where

    def at(self, place: int, places: Places) -> list[int]:
        """The numbers of those that stop at a place."""
        return [b.number for b in self if b.enabled and not b.watch and place in self._places(b, places)]

    def watching(self, what: str):
        """A watchpoint of the core that nobody asked for by name."""
        part = parts.element(what)
        return probe.Breakpoint(-(1 << 20), [], watch=part.name, element=[*part.index], first=True)

    def holding(self, hits: list, state) -> list:
        """Returns the hits whose expressions hold too."""
        left = []
        for number in hits:
            b = self._all.get(number)
            expression = self._expressions.get(number)
            if b is not None and expression:
                if not state.holds(expression):
                    continue
                b.seen += 1
                if b.seen <= b.skip:
                    continue
            if b is not None:
                b.hits += 1
                if b.stops is not None and not b.stops(state, b.hits):
                    continue
            left.append(number)
        return left

    def depth(self, hits: list, places: Places, place: int) -> int:
        """How deep in calls the line of a breakpoint is that was hit; 0: it is the innermost, or no
        line's."""
        for number in hits:
            b = self._all.get(number)
            if line := line_of((b.moved_to or b.where) if b else ""):
                return places.depth_of(place, *line)
        return 0

    def stopped(self, hits: list) -> bool:
        """A launch stands at these: temporary ones go. Returns whether there were any."""
        gone = [number for number in hits if number in self._all and self._all[number].temporary]
        for number in gone:
            del self._all[number]
        return bool(gone)


def statements(places: Places) -> list:
    """Breakpoints of the core where dl.breakpoint stops a launch, which a search back does not."""
    return [
        probe.Breakpoint(
            -(2 << 20) - place, [place],
            conditions=[probe.Condition(value, probe.Of.ANY, [], probe.Compare.UNEQUAL, 0.0)],
        )
        for place, value in places.statements()
    ]  # fmt: skip
