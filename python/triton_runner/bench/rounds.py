"""Times the rows of a benchmark in rounds, in each of which every row is timed once, beside the others.

A row says what it launches, checks its result before it is timed, and gives one sample when asked for. The
rows of a round come in another order each time: none always follows the same one. What cannot run here is a
row too, with the reason."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable

from triton_runner.bench import clocks

CLOCK_READINGS = 8  # over the rounds


@dataclasses.dataclass
class Row:
    """One way to do what the benchmark measures.

    - `name`: what the table calls it; `launches`: what runs when it is called: code, level, target.
    - `sample()`: seconds of one launch (of a burst: on average).
    - `check()`: raises WrongResult where the row computes something else than it should.
    - `skipped`: why it cannot run here; then it has neither sample nor check.
    """

    name: str
    launches: str = ""
    sample: Callable[[], float] | None = None
    check: Callable[[], None] | None = None
    skipped: str = ""
    wrong: str = ""
    samples: list[float] = dataclasses.field(default_factory=list)

    @property
    def is_timed(self) -> bool:
        return not self.skipped and not self.wrong


class WrongResult(Exception):
    """The result of a row differs from what it should be."""


@dataclasses.dataclass
class Section:
    """Rows that are compared with each other, each with the row named `baseline`."""

    title: str
    rows: list[Row]
    baseline: str
    unit: float = 1e-6  # seconds
    work: float = 0.0  # multiplications and additions of one launch
    clocks: list[dict] = dataclasses.field(default_factory=list)

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows if row.name == name), None)


def check(section: Section) -> bool:
    """Checks every row that can run; a wrong one is not timed."""
    for row in section.rows:
        if row.skipped or row.check is None:
            continue
        try:
            row.check()
        except WrongResult as error:
            row.wrong = str(error)
    return not any(row.wrong for row in section.rows)


def measure(section: Section, rounds: int, seconds: float = 60.0, progress=None) -> None:
    """Times the rows in rounds, as many as fit into the seconds but at least three."""
    rows = [row for row in section.rows if row.is_timed]
    for row in rows:
        row.sample()  # what is done once only
    end = time.perf_counter() + seconds
    enabled = gc.isenabled()
    gc.disable()
    try:
        for number in range(rounds):
            if number >= 3 and time.perf_counter() > end:
                break
            if number % max(1, rounds // CLOCK_READINGS) == 0:
                section.clocks.append(clocks.read())
            first = number % len(rows) if rows else 0
            for row in rows[first:] + rows[:first]:
                row.samples.append(row.sample())
            if progress:
                progress(number + 1, rounds)
    finally:
        if enabled:
            gc.enable()
