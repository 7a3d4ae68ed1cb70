"""Makes the listings of the op table and of the table of PTX opcodes, for `triton-runner ops`. tools/next.py
uses listing(); doc/internals/tables.md shows its output."""

from __future__ import annotations

import click

from triton_runner import _core
from triton_runner._base.levels import MLIR
from triton_runner._base.paths import read_text
from triton_runner._base.releases import RELEASES, distribution_of, parse_version

_FILES = (".ttir", ".ttgir", ".glir", ".ptx", ".trcase")
OLD_DIALECTS = {"triton_gpu.": "ttg.", "triton_nvidia_gpu.": "ttng.", "amdgpu.": "amdg."}


def table() -> list[dict]:
    """Every op: name, dialect, kind, operands, effects, since, until, status, handler, tested, old_names.

    since, until: first and last release that has it by this name; until None: still there; since None: no
    release has it, but a fork whose texts are read.
    status: "executed"; "structure" (its parent's handler takes it along); "parsed only" (running it is an
    error); "no row" (an op of a distribution that this project does not know). handler: the function of the
    tile engine, or None. tested: a golden case, "folder/name" under tests/cases, or None.
    """
    rows = []
    for row in _core.ir.op_table():
        kind, _, handler = row["exec"].partition(" ")[0].rstrip(")").partition("(")
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
        dialects = sorted({row["dialect"] for row in rows})
        if dialect not in dialects:
            raise click.BadParameter(
                f"no dialect '{dialect}'; there are {', '.join(dialects)}", param_hint="--dialect"
            )
        rows = [row for row in rows if row["dialect"] == dialect]
    if release is not None:
        rows = _of_release(rows, release)
    if unsupported:
        rows = [row for row in rows if row["status"] in ("parsed only", "no row")]
    if names:
        chosen = _Names(names, is_ptx=False)
        rows = [
            row
            for row in rows
            if any(map(chosen.has, [row["name"], *(old["name"] for old in row["old_names"])]))
        ]
    return rows


def _of_release(rows: list[dict], release: str) -> list[dict]:
    """The rows of a release, or of a distribution, whose ops without a row have one that says so."""
    if (other := distribution_of(release)) is None:
        version = _version(release)
        return [row for row in rows if any(_has(name, version) for name in (row, *row["old_names"]))]
    patch = release.removeprefix(f"{other.name}-")
    if patch != release and not any(f"{known}.".startswith(f"{patch}.") for known in other.patches):
        raise click.BadParameter(
            f"'{release}' is not one of {', '.join(f'{other.name}-{patch}' for patch in other.patches)}",
            param_hint="--release",
        )
    added = {name for name in other.ops if not name.startswith("-")}
    dropped = {name[1:] for name in other.ops if name.startswith("-")}
    kept = [
        row
        for row in rows
        if row["name"] in added
        or (
            row["name"] not in dropped and any(_has(name, other.version) for name in (row, *row["old_names"]))
        )
    ]
    return kept + [_without_row(name) for name in sorted(added - {row["name"] for row in rows})]


def _without_row(name: str) -> dict:
    empty = dict.fromkeys(("kind", "operands", "since", "until", "handler", "tested"))
    return {
        **empty,
        "name": name,
        "dialect": name.partition(".")[0],
        "effects": [],
        "status": "no row",
        "old_names": [],
    }


def is_file(name: str) -> bool:
    """Returns whether a name on the command line is a file of a kernel, and not a part of an op's name."""
    return name.endswith(_FILES)


class _Names:
    """The names on the command line: parts of names, and files, whose ops have their whole names."""

    def __init__(self, names: tuple[str, ...], is_ptx: bool):
        self._parts = [name for name in names if not is_file(name)]
        texts = [(text, name) for name in names if is_file(name) for text in _texts(name, is_ptx)]
        self._whole = {op for text, file in texts for op in _ops_in(text, file, is_ptx)}

    def has(self, name: str) -> bool:
        return name in self._whole or any(part in name for part in self._parts)


def _texts(file: str, is_ptx: bool) -> list[str]:
    """The texts of a file: of a case those of TTIR and TTGIR, or of PTX."""
    if not file.endswith(".trcase"):
        return [read_text(file)]
    # It needs Triton, which the list of ops does not.
    from triton_runner._kernel.cases.case import open_case

    case = open_case(file)
    there = [text for level, text in case.subject.texts.items() if level in (("ptx",) if is_ptx else MLIR)]
    if not there:
        raise case.archive.bad(f"it has no {'PTX' if is_ptx else 'TTIR or TTGIR'}")
    return there


def _ops_in(text: str, file: str, is_ptx: bool) -> set[str]:
    if is_ptx:
        functions = _core.ptx.parse(text, file).functions
        return {instruction.base for function in functions for instruction in function.instructions}
    names_used = {op.name for op in _core.ir.parse(text, file).walk()}
    renamed = {
        new + name.removeprefix(old)
        for name in names_used
        for old, new in OLD_DIALECTS.items()
        if name.startswith(old)
    }
    return names_used | renamed


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
        f"{sum(row['status'] == status for row in rows)} {status}"
        for status in ("executed", "structure", "parsed only", "no row")
        if status != "no row" or any(row["status"] == status for row in rows)
    ]
    out.append(f"{len(rows)} ops: {', '.join(counts)}")
    return out


def _has(name: dict, version: tuple) -> bool:
    """Returns whether the release prints this name."""
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
        span = f"{first[0]}.{first[1]} to {last[0]}.{last[1]}"
        raise click.BadParameter(f"'{release}' is not a Triton release: {span}", param_hint="--release")
    return version


def ptx_listing(unsupported: bool, names: tuple[str, ...]) -> list[dict]:
    """Opcodes of PTX: opcode, forms (the modifiers that it takes), section of the PTX ISA, executed."""
    rows = _core.ptx.opcode_table()
    if unsupported:
        rows = [row for row in rows if not row["executed"]]
    if names:
        chosen = _Names(names, is_ptx=True)
        rows = [row for row in rows if chosen.has(row["opcode"])]
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
