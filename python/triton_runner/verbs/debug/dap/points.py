"""Keeps the breakpoints that an editor has set, of all kinds, and what they are in the session.

An editor replaces all breakpoints of a file or of a kind at once. Those that stay the same keep their number
and their hits. They may be set before there is a session, and while a launch runs."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import threading

import numpy

from triton_runner._base.errors import DiagnosticError
from triton_runner.verbs.debug.dap import variables

_HIT = re.compile(r"\s*(>=|>|==|=|%|)\s*(\d{1,12})\s*")
_REASONS = {
    "function": "function breakpoint",
    "data": "data breakpoint",
    "instruction": "instruction breakpoint",
}


@dataclasses.dataclass
class Point:
    """A breakpoint. where: as break_at() takes it, of a data breakpoint the value that is watched."""

    kind: str
    where: str
    condition: str = ""
    hit: str = ""  # the hit condition as the editor has it
    message: str = ""  # of a log point: it is written, and nothing stops
    source: dict | None = None
    line: int = 0
    id: int = 0
    number: int = 0  # in the session; 0: not there yet
    skip: int = 0
    every: int = 0
    is_once: bool = False
    why: str = ""  # it cannot be set
    sent: tuple = ()

    @property
    def key(self) -> tuple:
        return self.kind, self.where, self.condition, self.hit, self.message

    @property
    def reason(self) -> str:
        return _REASONS.get(self.kind, "breakpoint")


class Points:
    """All of them, by what the editor sets at once: a source, or a kind."""

    def __init__(self, write):
        self._write = write  # takes the line of a log point, and the point
        self._sets: dict[tuple, list[Point]] = {}
        self._gone: list[int] = []
        self._ids = itertools.count(1)
        self._lock = threading.RLock()  # set on the thread of requests, taken on that of the session

    def __iter__(self):
        return (point for points in self._sets.values() for point in points)

    def replace(self, name: tuple, points: list[Point]) -> list[Point]:
        """Sets those of a source or a kind; what was there with the same words stays."""
        with self._lock:
            before = list(self._sets.get(name, []))
            kept: list[Point] = []
            for point in points:
                same = next((old for old in before if old.key == point.key), None)
                if same is not None:
                    before.remove(same)
                    kept.append(same)
                    continue
                point.id = next(self._ids)
                _read_hit(point)
                kept.append(point)
            self._gone += [old.number for old in before if old.number]
            self._sets[name] = kept
            return kept

    def clear(self) -> None:
        """Takes all away."""
        for name in [*self._sets]:
            self.replace(name, [])

    def apply(self, session) -> None:
        """Has the session set those that it has not yet, and delete those that are gone."""
        with self._lock:
            gone, self._gone = self._gone, []
            for number in gone:
                if number in session.breakpoints:
                    session.delete(number)
            for point in list(self):
                if point.number or point.why:
                    continue
                how = {"skip": point.skip, "temporary": point.is_once}
                if point.every or point.message:
                    how["stops"] = functools.partial(self._stops, point)
                add = session.watch if point.kind == "data" else session.break_at
                try:
                    point.number = add(point.where, point.condition, **how).number
                except DiagnosticError as error:
                    point.why = error.sentence

    def _stops(self, point: Point, state, hits: int) -> bool:
        """Returns whether a hit stops, asked on the thread of the launch. A log point writes its line."""
        if point.every and hits % point.every:
            return False
        if point.message:
            self._write(interpolated(point.message, state.evaluate), point)
        return not point.message

    def of_number(self, number: int) -> Point | None:
        """The one that has a number in the session."""
        return next((point for point in self if point.number == number), None)

    # ---- as the editor sees them

    def described(self, point: Point, session, line) -> dict:
        """A breakpoint of the protocol. line: the editor's number of a line of ours."""
        verified, at, why = self._state(point, session)
        point.sent = (verified, at)
        out: dict = {"id": point.id, "verified": verified}
        if why:
            out["message"] = why
        if point.source is not None:
            out["source"] = point.source
        if at:
            out["line"] = line(at)
        return out

    def changed(self, session, line) -> list[dict]:
        """Returns the breakpoints that have a place now, or another one, since the editor last heard of
        them."""
        return [
            self.described(point, session, line)
            for point in self
            if point.id and self._state(point, session)[:2] != point.sent
        ]

    @staticmethod
    def _state(point: Point, session) -> tuple[bool, int, str]:
        """(whether it has a place, its line, what to say)."""
        if point.why:
            return False, point.line, point.why
        if session is None or point.number not in session.breakpoints:
            return point.number > 0, point.line, "" if point.number else "waits for the program"
        own = session.breakpoints[point.number]
        if point.kind == "data":
            return True, 0, ""
        if not own.info().places:
            had = bool(point.sent and point.sent[0])  # in an earlier launch
            return had, point.line, "" if had else "waits for a launch of a kernel with this place"
        moved = own.moved_to.rpartition(":")[2] if own.moved_to else ""
        return True, int(moved) if moved and point.line else point.line, ""


def _read_hit(point: Point) -> None:
    """ "5" and ">= 5": from the fifth time on; "> 5"; "== 5": then alone; "% 5": every fifth."""
    if not point.hit.strip():
        return
    match = _HIT.fullmatch(point.hit)
    count = int(match[2]) if match else 0
    if match is None or count < 1:
        point.why = f"the hit count {point.hit!r} is not of the form 5, >= 5, > 5, == 5, % 5"
    elif match[1] == "%":
        point.every = count
    else:
        point.skip = count if match[1] == ">" else count - 1
        point.is_once = match[1] in ("=", "==")


def interpolated(message: str, evaluate) -> str:
    """The message of a log point: what stands in braces is evaluated."""

    def value(match) -> str:
        try:
            with numpy.errstate(all="ignore"):
                return variables.text_of(evaluate(match[1]))
        except DiagnosticError as error:
            return f"{{{error.message}}}"

    return re.sub(r"\{([^{}]+)\}", value, message)
