"""The verb of the command line that finds what made a program wrong: bisect."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import click

from triton_runner._compiler import versions

_STATUS = {"right": 0, "unknown": 125}


@click.command("bisect", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--versions", "wanted",
    help="Releases: 3.0.0..3.9.0 (the newest patch of each minor release, and both ends), all, or a list. "
    "Else those that are there.",
)  # fmt: skip
@click.option("--target", "-t", default="cuda:90", show_default=True, help="The architecture to compile for.")
@click.option("--pretend-cuda", is_flag=True, help='Scripts that say device="cuda" get CPU tensors.')
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds of one run.")
@click.option("--json", "file", metavar="FILE", help="Write the verdict as JSON; - prints it.")
@click.option("-m", "is_module", is_flag=True, help="PROGRAM is a module, as for python -m.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bisect_command(wanted, target, pretend_cuda, timeout, file, is_module, program, arguments):
    """Find the release, the level and the compiler pass that make PROGRAM (or a case, *.trcase) wrong, with
    no GPU.

    PROGRAM is the oracle, as for `git bisect run`: it exits with 0 where it is right, 125 where it cannot
    tell, another status where it is wrong. A failed assertion and a trap of the engine are wrong; any other
    exception, a crash and a time-out cannot tell. Exit status: 0 right, 1 a fault was found, 2 bad usage,
    125 unknown.
    """
    # The other verbs do without what it loads.
    from triton_runner._bisect import page, runs, search
    from triton_runner._case.case import is_case, open_case

    chosen = (
        versions.expand(wanted) if wanted else list(dict.fromkeys(r["version"] for r in versions.listed()))
    )
    with contextlib.ExitStack() as held:
        if is_case(program):
            case = open_case(program)
            program, target = str(held.enter_context(case.extracted()) / "repro.py"), case.target
        given = runs.Program(program, arguments, is_module, pretend_cuda, target, timeout)
        found = search.bisect_program(
            given, chosen, lambda text: click.echo(text, err=True) if sys.stderr.isatty() else None
        )
    text = json.dumps(found, indent=2)
    if file == "-":
        click.echo(text)
    else:
        click.echo(page.page(found, given))
        if file:
            Path(file).write_text(text + "\n")
    sys.exit(_STATUS.get(found["verdict"], 1))


COMMANDS = (bisect_command,)
