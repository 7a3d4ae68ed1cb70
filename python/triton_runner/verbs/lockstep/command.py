"""`triton-runner lockstep` runs a case at several levels, value by value."""

from __future__ import annotations

import click

from triton_runner._programs.options import json_option, verbs


@verbs.command("lockstep", group="execute", place=5)
@click.option(
    "--levels",
    default="ttir,ttgir",
    show_default=True,
    help="Two or more of ttir, ttgir, ptx, cubin, amdgcn.",
)
@json_option
@click.argument("file", type=click.Path(exists=True))
def lockstep_command(levels, as_json, file):
    """Run the case FILE (*.trcase) at several levels, value by value, and show the first that differs.

    Exit status: 0 if none differs, 1 if one does.
    """
    from triton_runner._kernel.cases.case import open_case  # with NumPy

    report = open_case(file).lockstep(tuple(levels.split(",")))
    click.echo(report.to_json() if as_json else str(report))
    return report.diverged is not None or bool(report.outputs or report.unobserved)
