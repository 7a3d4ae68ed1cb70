"""The op table and the table of PTX opcodes as `triton-runner ops` lists them."""

from __future__ import annotations

import click

from triton_runner import _core
from triton_runner._pipeline.versions import RELEASES, parse_version


def table() -> list[dict]:
    """Every op: name, dialect, kind, operands, effects, since, until, status, handler, tested, old_names.

    since, until: first and last release that has it by this name; until None: still there; since None: no
    release has it, but a fork whose texts are read.
    status: "executed"; "structure" (its parent's handler takes it along); "parsed only" (running it is an
    error). handler: the function of the tile engine, or None. tested: a golden case, "folder/name" under
    tests/cases, or None.
    """
    rows = []
    for row in _core.ir.op_table():
        kind, _, handler = row["exec"].rstrip(")").partition("(")
        rows.append(
            {
                "name": row["name"],
                "dialect": row["name"].rpartition(".")[0].partition(".")[0] or "builtin",
                "kind": row["kind"],
                "operands": row["operands"],
                "effects": row["effects"].split(" | "),
                "since": row["since"],
                "until": row["until"],
                "status": {"STRUCTURE": "structure", "UNSUPPORTED": "parsed only"}.get(kind, "executed"),
                "handler": {"LOWER": f"lower_{handler}", "ELEMENTWISE": f"elementwise_{handler}"}.get(kind),
                "tested": row["tested"] or None,
                "old_names": row["old_names"],
            }
        )
    return rows


def listing(
    dialect: str | None, release: str | None, unsupported: bool, names: tuple[str, ...]
) -> list[dict]:
    """The rows that pass every filter that is given; an unknown dialect or release is a usage error."""
    rows = table()
    if dialect is not None:
        known = sorted({row["dialect"] for row in rows})
        if dialect not in known:
            raise click.BadParameter(
                f"no dialect '{dialect}'; there are {', '.join(known)}", param_hint="--dialect"
            )
        rows = [row for row in rows if row["dialect"] == dialect]
    if release is not None:
        wanted = _version(release)
        rows = [row for row in rows if any(_has(name, wanted) for name in (row, *row["old_names"]))]
    if unsupported:
        rows = [row for row in rows if row["status"] == "parsed only"]
    if names:
        rows = [row for row in rows if any(part in name for part in names for name in _all_names(row))]
    return rows


def lines(rows: list[dict]) -> list[str]:
    """A line an op, then the counts."""
    width = max((len(row["name"]) for row in rows), default=0)
    out = []
    for row in rows:
        if row["since"] is None:
            releases = "a fork"
        else:
            releases = f"{row['since']} on" if row["until"] is None else f"{row['since']} to {row['until']}"
        old = "".join(f"; {name['name']} in {name['since']} to {name['until']}" for name in row["old_names"])
        handler, tested = row["handler"] or "-", row["tested"] or "-"
        line = f"{row['name']:<{width}}  {row['status']:<11}  {releases + old:<10}  {handler:<28}  {tested}"
        out.append(line.rstrip())
    counts = [
        sum(row["status"] == status for row in rows) for status in ("executed", "structure", "parsed only")
    ]
    out.append(f"{len(rows)} ops: {counts[0]} executed, {counts[1]} structure, {counts[2]} parsed only")
    return out


def _all_names(row: dict) -> list[str]:
    return [row["name"], *(old["name"] for old in row["old_names"])]


def _has(name: dict, version: tuple) -> bool:
    """Whether the release prints this name."""
    if name["since"] is None:
        return False
    until = name["until"]
    return parse_version(name["since"]) <= version and (until is None or version <= parse_version(until))


def _version(release: str) -> tuple:
    """The version of --release: (3, 2) of "3.2" and "3.2.1"."""
    first, last = min(RELEASES), max(RELEASES)
    try:
        version = parse_version(release)
    except ValueError:
        version = (0, 0)
    if version[0] != first[0]:
        known = f"{first[0]}.{first[1]} to {last[0]}.{last[1]}"
        raise click.BadParameter(f"'{release}' is no Triton release: {known}", param_hint="--release")
    return version


def ptx_listing(unsupported: bool, names: tuple[str, ...]) -> list[dict]:
    """Opcodes of PTX: opcode, forms (the modifiers that it takes), section of the PTX ISA, executed."""
    rows = _core.ptx.opcode_table()
    if unsupported:
        rows = [row for row in rows if not row["executed"]]
    if names:
        rows = [row for row in rows if any(part in row["opcode"] for part in names)]
    return rows


def ptx_lines(rows: list[dict]) -> list[str]:
    """A line an opcode, then the counts."""
    width = max((len(row["opcode"]) for row in rows), default=0)
    out = [
        f"{row['opcode']:<{width}}  {'executed' if row['executed'] else 'parsed only':<11}  "
        f"{row['section']:<14}  {row['forms']}".rstrip()
        for row in rows
    ]
    executed = sum(row["executed"] for row in rows)
    return [*out, f"{len(rows)} opcodes: {executed} executed, {len(rows) - executed} parsed only"]
