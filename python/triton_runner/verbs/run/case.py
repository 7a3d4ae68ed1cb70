"""Runs a case: from its texts, or from its Python by another release."""

from __future__ import annotations

import os

import click

from triton_runner._base.errors import fail


def opened(file: str):
    """The case in a file. Raises DiagnosticError: there is no such file."""
    from triton_runner._kernel.cases.case import open_case  # with NumPy

    if not os.path.isfile(file):
        raise fail(f"no such file: {file}")
    return open_case(file)


def run_case(case, release: str | None, level: str | None, look: list[str]) -> int:
    """`triton-runner run` with a case: runs its texts, or its Python in another release. Returns the
    status. look: the note on how to look at a trap."""
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
    from triton_runner._kernel.cases.case import named
    from triton_runner._pipeline import versions
    from triton_runner.verbs.bisect import runs

    case.check_python("another release would compile")
    with case.extracted() as folder:
        program = runs.BisectedProgram(str(folder / "repro.py"), target=case.target)
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
