"""The commands that make and use cases: bundle, lockstep, and run with a case."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import click

from triton_runner._base import commands
from triton_runner._base.errors import fail
from triton_runner._programs.options import ProgramOrFile, json_option, print_json, prints_aside, verbs
from triton_runner._programs.programs import program_arguments


@verbs.command("bundle", cls=ProgramOrFile)
@click.option("--kernel", default="", help="Launches of this kernel; else of any.")
@click.option(
    "--launch", "number", type=int, help="Which of them, from 0; else the one that stops, or the first."
)
@click.option("-o", "--output", required=True, type=click.Path(), help="The file to write: case.trcase.")
@click.option(
    "--max-bytes", type=int, help="Of arguments that are stored (64 MiB); larger ones are drawn again."
)
@click.option("--passes/--no-passes", default=True, show_default=True, help="With the IR after each pass.")
@click.option("--report/--no-report", default=True, show_default=True, help="With the page that shows it.")
@click.option("--verify/--no-verify", default=True, show_default=True, help="With the verdict of verify.")
@program_arguments
def bundle_command(kernel, number, output, max_bytes, passes, report, verify, as_json, program):
    """Put one launch of PROGRAM into one file: kernel, arguments, all levels, passes, verdict, a page that
    shows them, and a repro.py that needs nothing else. Options come before PROGRAM.

    `triton-runner run`, `verify`, `lockstep`, `bisect` and `report` take the file in place of a program.
    """
    from triton_runner._case import archive, bundle, capture

    bundle.check_name(output)
    selection = _Wanted(number)
    with tempfile.TemporaryDirectory(prefix="triton-runner-bundle-") as folder:
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
        with captured, prints_aside(as_json):
            status = program.run()
        if not captured.cases:
            raise fail(
                f"{program.name} made no such launch: {selection.seen} of {kernel or 'any kernel'} were seen",
                f"it ended with status {status}",
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


@verbs.command("lockstep")
@click.option(
    "--levels", default="ttir,ttgir", show_default=True, help="Two or more of ttir, ttgir, ptx, cubin."
)
@json_option
@click.argument("file", type=click.Path(exists=True))
def lockstep_command(levels, as_json, file):
    """Run the case FILE (*.trcase) at several levels, value by value, and show the first that differs.

    Exit status: 0 if none differs, 1 if one does.
    """
    from triton_runner._case.case import open_case  # with NumPy

    report = open_case(file).lockstep(tuple(levels.split(",")))
    click.echo(report.to_json() if as_json else str(report))
    return report.diverged is not None or bool(report.outputs)


def run_case(file: str, release: str | None, level: str | None, look: list[str]) -> int:
    """`triton-runner run` with a case: runs its texts, or its Python in another release. Returns the
    status. look: the note on how to look at a trap."""
    from triton_runner._case.case import open_case  # with NumPy

    if not os.path.isfile(file):
        raise fail(f"no such file: {file}")
    case = open_case(file)
    if release:
        return _with_release(case, release, level)
    run = case.run(level or "")
    click.echo(f"{case.name} ({run.level}), grid {case.grid}: {run.seconds * 1e3:.3f} ms")
    if run.trap:
        click.echo("\n".join([str(run.trap), *(f"note: {note}" for note in look)]))
        return 1
    differences = case.differences(run)
    for name, text in differences.items():
        click.echo(f"{name}: {text}")
    click.echo("wrong" if differences else "right" if case.expects() else "it ran to its end")
    return int(bool(differences))


def _with_release(case, release: str, level: str | None) -> int:
    # Only this needs workers of releases.
    from triton_runner._bisect import runs
    from triton_runner._case.case import named
    from triton_runner._compiler import versions

    if "repro.py" not in case.archive:
        raise case.archive.bad("it has no Python of its kernel, which another release would compile")
    with case.extracted() as folder:
        program = runs.Program(str(folder / "repro.py"), target=case.target)
        level = level or (case.level if case.level in program.levels else program.lowest)
        if level not in program.levels:
            raise fail(
                f"{case.path} has no level {level} that another release's compilation runs at",
                f"levels: {', '.join(program.levels)}",
            )
        release_run = runs.Release(versions.expand(release)[-1], program)
        try:
            trial = release_run.at(level)
        finally:
            release_run.close()
    click.echo(f"{case.name} ({level}) by Triton {release_run.version}, grid {case.grid}")
    output = "\n".join([trial.output.rstrip() or trial.verdict, trial.why])
    click.echo(named(output, folder, case.path).strip())
    return {"right": 0, "wrong": 1}.get(trial.verdict, 125)
