"""`triton-runner map` shows which lines of one level belong to a line of another."""

from __future__ import annotations

import json
import linecache
import os
import sys

import click

from triton_runner._base.errors import fail
from triton_runner._base.levels import level_of_name
from triton_runner._programs.options import json_option, verbs

_WIDTH = 100  # of the text of a line that is shown
_MOST = 12  # lines that are shown of a level


@verbs.command("map", group="look", place=2)
@click.argument("artifact", type=click.Path(exists=True))
@click.option("--line", type=int, help="A line of ARTIFACT; for SASS, the number that this command shows.")
@click.option("--source", metavar="[FILE:]LINE", help="A line of the Python source.")
@click.option("--level", help="The level of --line, if ARTIFACT has several: ttgir, sass, ...")
@click.option("--kernel", "name", default="", help="Which kernel, where a folder holds several.")
@click.option("--all", "is_all", is_flag=True, help="Show every line, not the first of each level.")
@json_option
def map_command(artifact, line, source, level, name, is_all, as_json):
    """Say which lines of each level belong to a line of one: Python, TTIR, TTGIR, LLIR, PTX, SASS, AMDGCN.

    ARTIFACT is a folder of a kernel's levels, one of their files (its neighbours are read too), or a case
    (*.trcase). Without --line and --source it says what each level has.
    """
    from triton_runner._kernel.cases.case import is_case, open_case
    from triton_runner._kernel.source_map import source_map

    lines_map = source_map(open_case(artifact).material() if is_case(artifact) else artifact, name=name)
    if line is not None:
        level = level or {"cubin": "sass", "hsaco": "amdgcn"}.get(_level_of(artifact), _level_of(artifact))
        if not level:
            raise click.UsageError(f"{artifact} has several texts: --level says which of them --line counts")
        report = {"level": level, "line": line, **_of_line(lines_map, level, line)}
    elif source:
        file, _, number = source.rpartition(":")
        if not number.isdigit():
            raise fail(f"--source {source}: no line", "as in --source kernel.py:42, or --source 42")
        lines = lines_map.of_source(int(number), file)
        report = {"file": lines_map.files_named(file)[0], "line": int(number), "lines": lines}
    else:
        report = None
    if as_json:
        sys.stdout.write((json.dumps(report) if report else lines_map.to_json()) + "\n")
    elif report is None:
        _show_levels(lines_map)
    else:
        _show(lines_map, report, sys.maxsize if is_all else _MOST)


def _level_of(path: str) -> str:
    return "" if os.path.isdir(path) or path.endswith(".trcase") else level_of_name(path)


def _of_line(map_, level: str, line: int) -> dict:
    row = map_.row(level, line)
    stacks = [map_.stack(place) for place in row.places]
    return {"op": row.op, "source": stacks, "lines": map_.counterparts(level, line)}


def _show_levels(map_) -> None:
    click.echo(f"{map_.name} for {map_.target}")
    for name, level in map_.levels.items():
        mapped = sum(bool(row.places) for row in level.rows.values())
        click.echo(f"  {name:<7} {len(level.rows):>6} rows, {mapped} of them with a place in the source")
    for note in map_.notes:
        click.echo(f"  note: {note}")


def _show(map_, found: dict, most: int) -> None:
    if "level" in found:
        click.echo(f"{found['level']}:{found['line']}  {_text(map_, found['level'], found['line'])}")
        for stack in found["source"]:
            for depth, (file, line, _) in enumerate(stack):
                source = linecache.getline(file, line).strip()[:_WIDTH]
                word = "python" if not depth else "  called at"
                click.echo(f"  {word:<12} {os.path.basename(file)}:{line}  {source}".rstrip())
    else:
        source = linecache.getline(found["file"], found["line"]).strip()[:_WIDTH]
        click.echo(f"{os.path.basename(found['file'])}:{found['line']}  {source}".rstrip())
    for level, lines in found["lines"].items():
        click.echo(f"  {level}: {len(lines)} line{'' if len(lines) == 1 else 's'}")
        for line in lines[:most]:
            click.echo(f"  {line:>8}  {_text(map_, level, line)}")
        if len(lines) > most:
            click.echo(f"            and {len(lines) - most} more: --all shows them")


def _text(map_, level: str, line: int) -> str:
    return map_.levels[level].lines[line - 1].strip()[:_WIDTH]
