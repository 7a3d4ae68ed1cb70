"""A ranking in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from triton_runner._case.asked import words
from triton_runner._launch.launchers import what_else
from triton_runner._tune.results import UNMEASURED, Ranking, Row, Tuning


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
    """Which error the regret takes for the estimates."""
    kinds = {row.kind: row.error for row in one.rows if row.state == "estimated"}
    measured = [f"{kind} {error:.0%}" for kind, error in kinds.items() if error is not None]
    unknown = [kind for kind, error in kinds.items() if error is None]
    if unknown:
        measured.append(f"{' and '.join(unknown)} not measured, {UNMEASURED:.0%} is taken")
    return f"errors of estimates on {one.chip}, independent of each other: {', '.join(measured)}"
