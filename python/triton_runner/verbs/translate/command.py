"""`triton-runner translate` rewrites a text of one release for another."""

from __future__ import annotations

import re

import click

from triton_runner._base.errors import fail
from triton_runner._base.levels import ENDINGS, MLIR, level_of_name
from triton_runner._base.paths import no_level, read_text, write_file
from triton_runner._base.releases import RELEASES, parse_version
from triton_runner._pipeline import versions
from triton_runner._programs.options import Output, json_option, print_json, verbs


@verbs.command("translate", group="compile", place=4)
@click.argument("file", type=click.Path())
@click.option("--from", "from_", help="The release that wrote it; an error if it cannot have.")
@click.option("--to", required=True, help="The release that is to read it: 3.9.0.")
@click.option("--output", "-o", type=Output(), help="The file to write (default: standard output).")
@json_option
def translate_command(file, from_, to, output, as_json):
    """Rewrite TTIR, TTGIR or LLIR of one Triton release as another release reads it.

    LLIR does not say which release wrote it. What was changed goes to stderr. If the other release lacks
    an op, the command fails and names it.
    """
    from triton_runner._pipeline import translation

    for named in filter(None, (from_, to)):
        if not re.fullmatch(r"\d+\.\d+", named) or parse_version(named) not in RELEASES:
            versions.known(named)
    if file.endswith(".py"):
        raise no_level(file, ENDINGS)
    if level_of_name(file) not in ("", *MLIR, "llir"):
        raise fail(f"{file} is {level_of_name(file).upper()}, and TTIR, TTGIR and LLIR are translated")
    source = read_text(file)
    if not source.strip():
        raise fail(f"{file} is empty")
    if file.endswith(".llir"):
        written, of = [], from_ or "an unknown release"
        text, changes = translation.translate_llir(source, to)
    else:
        writers = translation.written_by(source, file)
        written, of = translation.ends(writers), translation.described(writers)
        text, changes = translation.translate(source, to, file, from_)
    if output:
        write_file(output, text)
    if as_json:
        print_json({"file": file, "written_by": written, "to": to, "changes": changes, "text": text})
        return
    if not output:
        click.echo(text, nl=not text.endswith("\n"))
    click.echo(
        f"{file}: of {'' if of.startswith('an ') else 'Triton '}{of}, "
        + ("as it is" if not changes else f"for {to}:"),
        err=True,
    )
    for change in changes:
        click.echo(f"  {change}", err=True)
