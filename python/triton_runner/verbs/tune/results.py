"""Defines the results of `tune`: the configurations of a launch by their estimated time on a chip, and how
much slower than the best the choice is expected to be.

The JSON of these is a format of its own (SCHEMA)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy

from triton_runner._launch.launchers import what_else
from triton_runner._programs.intercept import words

SCHEMA = "triton-runner.tune/1"
UNMEASURED = 0.25  # what is taken for the error of an estimate that was not measured
_SAMPLES = 20_000
_MEAN_OF_NORMAL = 0.7979  # the mean absolute value of a normal variable of deviation 1


@dataclasses.dataclass(frozen=True)
class Row:
    """A configuration of a launch.

    - `state`: "estimated"; "pruned" (its bound is above the time of another one, with the error of that);
      "compiler error", "out of shared memory", "trap" or "unknown" (`text` says why).
    - `least`: the bound in microseconds; `microseconds`, `cycles`, `bound_by`, `kind`, `error`: the estimate.
    - `milliseconds`: the time on a GPU, of the first ones.
    """

    options: dict
    state: str
    text: str = ""
    least: float | None = None
    microseconds: float | None = None
    cycles: float | None = None
    bound_by: str = ""
    kind: str = ""
    error: float | None = None
    milliseconds: float | None = None

    @property
    def likely_error(self) -> float:
        return UNMEASURED if self.error is None else self.error


@dataclasses.dataclass(frozen=True)
class Ranking:
    """The configurations of one launch: the fastest first, then those that were pruned, then those that do
    not run. regret: by how much the chosen one is expected to be slower than the best, 0.05 for 5 %."""

    kernel: str
    launch: int
    chip: str
    grid: list[int]
    rows: list[Row]
    regret: float

    @property
    def chosen(self) -> Row | None:
        """The configuration to take: the fastest on the GPU, else by its estimate."""
        return next((row for row in self.rows if row.state == "estimated"), None)


@dataclasses.dataclass(frozen=True)
class Tuning:
    """All launches that were ranked. left_out: launches beyond the limit; status: of the program."""

    schema: str
    rankings: list[Ranking]
    left_out: int
    status: int

    @property
    def exit_status(self) -> int:
        """The program's; 125 if no launch could be ranked, 1 if one has no configuration that runs."""
        if self.status:
            return self.status
        return 1 if any(one.chosen is None for one in self.rankings) else 0 if self.rankings else 125


def ordered(rows: list[Row]) -> list[Row]:
    """The rows of a ranking in its order."""
    states = ("estimated", "pruned")

    def key(row: Row) -> tuple:
        place = states.index(row.state) if row.state in states else len(states)
        known = row.milliseconds is not None
        return place, not known, row.milliseconds if known else row.microseconds or row.least or 0.0

    return sorted(rows, key=key)


def regret_of(rows: list[Row], top: int) -> float:
    """Returns how much slower than the best the choice is on average, where each estimate is off by its own
    error, independently of the others. top: of so many of the first a GPU will find the fastest."""
    rows = [row for row in rows if row.state == "estimated"]
    if len(rows) <= max(1, top):
        return 0.0
    deviations = numpy.array([row.likely_error for row in rows]) / _MEAN_OF_NORMAL
    errors = numpy.random.default_rng(0).standard_normal((_SAMPLES, len(rows))) * deviations
    times = numpy.array([row.microseconds for row in rows]) * numpy.exp(errors)
    chosen = times[:, : max(1, top)].min(1)
    return round(float((chosen / times.min(1)).mean() - 1), 4)


def text_of(result: Tuning) -> str:
    lines = [line for one in result.rankings for line in _ranking(one)]
    if not result.rankings:
        lines.append(
            "nothing to rank: no launch of an autotuned kernel (--num-warps, --num-stages: of any kernel)"
        )
    lines += what_else("ranked", result.left_out, result.status, " (--launches)")
    return "\n".join(lines)


def _ranking(one: Ranking) -> Iterator[str]:
    timed = any(row.milliseconds is not None for row in one.rows)
    heads = ["least", "estimate", *(["GPU"] if timed else []), "bound by"]
    texts = [_row(row, timed) for row in one.rows]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]

    def line(cells: list[str], configuration: str) -> str:
        numbers = [cell.rjust(width) for cell, width in zip(cells[:-1], widths, strict=False)]
        return "  ".join(["", *numbers, cells[-1].ljust(widths[-1]), configuration])

    yield f"{one.kernel}, launch {one.launch}, on {one.chip}:"
    yield line(heads, "configuration")
    for row, cells in zip(one.rows, texts, strict=True):
        yield line(cells, words(row.options))
        if row.text:
            yield f"  {row.text}"
    if (chosen := one.chosen) is None:
        yield "no configuration runs"
        return
    yield f"chosen: {words(chosen.options)}"
    yield f"expected regret {one.regret:.1%}: {_errors(one)}"


def _row(row: Row, timed: bool) -> list[str]:
    def us(value: float | None) -> str:
        return f"{value:,.2f} us" if value else "-"

    is_estimated = row.state == "estimated"
    on_gpu = [us(row.milliseconds and 1e3 * row.milliseconds)] if timed else []
    return [us(row.least), us(row.microseconds), *on_gpu, row.bound_by if is_estimated else row.state]


def _errors(one: Ranking) -> str:
    """Returns which error the regret takes for the estimates."""
    kinds = {row.kind: row.error for row in one.rows if row.state == "estimated"}
    measured = [f"{kind} {error:.0%}" for kind, error in kinds.items() if error is not None]
    unknown = [kind for kind, error in kinds.items() if error is None]
    if unknown:
        measured.append(f"{' and '.join(unknown)} not measured, {UNMEASURED:.0%} is taken")
    return f"errors of estimates on {one.chip}, independent of each other: {', '.join(measured)}"
