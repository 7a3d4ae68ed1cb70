"""`triton-runner bundle` writes one launch of a program as a case."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from triton_runner._base import commands, scratch
from triton_runner._base.errors import fail
from triton_runner._programs.options import (
    Output,
    ProgramOrFile,
    check_settings,
    print_json,
    prints_aside,
    verbs,
)
from triton_runner._programs.programs import program_arguments
from triton_runner._programs.watched import in_own_process


@verbs.command("bundle", group="carry", place=1, cls=ProgramOrFile)
@click.option("--kernel", default="", help="Take a launch of this kernel (default: of any).")
@click.option(
    "--launch",
    "number",
    type=int,
    help="Number of the launch, from 0 (default: the one that a fault stops, or the first).",
)
@click.option("-o", "--output", required=True, type=Output(), help="The file to write: case.trcase.")
@click.option(
    "--max-bytes",
    type=int,
    help="Largest number of bytes of arguments to store (default: 64 MiB); larger arrays are drawn again.",
)
@click.option("--passes/--no-passes", default=True, show_default=True, help="Include the IR after each pass.")
@click.option("--report/--no-report", default=True, show_default=True, help="Include the page that shows it.")
@click.option("--verify/--no-verify", default=True, show_default=True, help="Include the verdict of verify.")
@click.option("--target", "-t", help='The architecture to compile for: "cuda:90", "hip:gfx942".')
@program_arguments
@in_own_process
def bundle_command(kernel, number, output, max_bytes, passes, report, verify, target, as_json, program):
    """Put one launch of PROGRAM into one file: kernel, arguments, all levels, passes, verdict, a page that
    shows them, and a repro.py that needs nothing else. Options come before PROGRAM.

    `triton-runner run`, `verify`, `lockstep`, `bisect` and `report` take the file in place of a program.
    """
    from triton_runner import _settings
    from triton_runner._kernel.cases import archive, bundle, capture

    bundle.check_name(output)
    if target:
        with _settings.using(target=target):
            check_settings()
    selection = _Wanted(number)
    with scratch.folder("bundle") as folder:
        captured = capture.capture(
            folder,
            selection,
            kernel=kernel,
            most=2,
            max_bytes=max_bytes or bundle.MAX_BYTES,
            passes=passes,
            report=report,
            verify=verify,
        )
        captured.warns = False  # the notes say it
        with captured, prints_aside(as_json), _settings.using(target=target):
            status = program.run()
        if not captured.cases:
            raise fail(
                f"{program.name} made no such launch: {selection.seen} of {kernel or 'any kernel'} were seen",
                f"it ended with status {status}",
                ended=status,
            )
        try:
            shutil.move(captured.cases[-1], output)
        except OSError as error:
            raise fail(f"cannot write {output}: {error.strerror or error}") from None
    about = archive.Archive(output).json("case.json")
    if as_json:
        print_json({"file": output, **about})
        return
    click.echo(
        f"{output}: {about['kernel']}, grid {tuple(about['grid'])}, {Path(output).stat().st_size:,} bytes"
    )
    if about["trap"]:
        click.echo(f"it stops: {about['trap'].splitlines()[0]}")
    if about["verdict"]:
        click.echo(f"verdict: {about['verdict']}")
    for note in about["notes"]:
        click.echo(f"note: {note}")
    click.echo(commands.shell("run", output))


class _Wanted:
    """Selects the launch: the one with a number; without a number the first, replaced by one that stops."""

    def __init__(self, number: int | None):
        self._number, self.seen = number, 0

    def __call__(self, launch) -> bool:
        at, self.seen = self.seen, self.seen + 1
        return at == self._number if self._number is not None else at == 0 or launch.trap is not None
