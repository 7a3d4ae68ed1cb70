"""passes --time: the table of what a compilation spends its time on."""

from __future__ import annotations

import click

from triton_runner._compiler import passes_time

_LEAST = 0.01  # parts below this share of the whole are added up


def show(times: passes_time.Times) -> None:
    click.echo(f"{'stage, and what it does':<62} {'runs':>4} {'seconds':>9}   share {'plain':>9}")
    for stage in times.stages:
        _row(0, stage.name, None, stage.seconds, stage.share, stage.plain_seconds)
        _rows(1, stage.groups, stage, times.seconds)
    click.echo(
        f"{times.kernel} for {times.target} by Triton {times.release}: {times.seconds:.3f} s; without timers "
        f"{times.plain_seconds:.3f} s; the timing itself took {times.own_seconds:.3f} s more"
    )
    name, seconds = times.slowest
    click.echo(f"slowest: {name}: {seconds:.3f} s, {seconds / times.seconds:.1%}")
    for note in times.notes:
        click.echo(note)


def _rows(depth: int, rows, of, whole: float) -> None:
    """The rows of a stage or a group; the small ones together, and the rest that no row accounts for."""
    if not rows:
        return
    shown = [row for row in rows if row.share >= _LEAST]
    if len(rows) == len(shown) + 1:
        shown = rows
    for row in shown:
        _row(depth, row.name, getattr(row, "runs", None), row.seconds, row.share)
        _rows(depth + 1, getattr(row, "parts", ()), row, whole)
    small = [row.seconds for row in rows[len(shown) :]]
    if small:
        _row(depth, f"({len(small)} below {_LEAST:.0%} each)", None, sum(small), sum(small) / whole)
    rest = of.seconds - sum(row.seconds for row in rows)
    if rest >= _LEAST * whole:
        _row(depth, "(the rest)", None, rest, rest / whole)


def _row(depth: int, name: str, runs: int | None, seconds: float, share: float, plain=None) -> None:
    label = "  " * depth + name
    without = "" if plain is None else f" {plain:>9.4f}"
    click.echo(f"{label:<62} {runs or '':>4} {seconds:>9.4f} {share:>7.1%}{without}")
