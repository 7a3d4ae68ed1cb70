"""`triton-runner demo` shows on any machine what the package does."""

from __future__ import annotations

import os

import click

from triton_runner._base import commands
from triton_runner._base.errors import fail
from triton_runner._programs.options import json_option, print_json, verbs

_ROW = "{:14} {:7} {:13} {:12} {:>15} {:>13}"
_HEADING = ("kernel", "level", "compiled for", "engine", "max difference", "milliseconds")


@verbs.command("demo", group="set up", place=5)
@click.option("--all", "is_all", is_flag=True, help="Every kernel from every level.")
@click.option("--fault", is_flag=True, help="Kernels with a fault, and what the checks say of them.")
@json_option
def demo_command(is_all, fault, as_json):
    """Run Triton's tutorials on the CPU from every level, and compare them with references; or kernels with a
    fault. It needs Triton and no GPU.

    Exit status 1 if a result differs from its reference, or a fault is not reported.
    """
    if is_all and fault:
        raise click.UsageError("--all is of the kernels that are right: it does not go with --fault")
    try:
        import triton
    except ImportError:
        raise fail("the demo compiles kernels, and Triton is not installed", "pip install triton") from None
    return _faults(as_json) if fault else _rows(triton, is_all, as_json)


def _rows(triton, is_all: bool, as_json: bool) -> int:
    import triton_runner
    from triton_runner.verbs.demo import run

    cores = len(os.sched_getaffinity(0))
    versions = f"Triton {triton.__version__}, Triton Runner {triton_runner.__version__}"
    if not as_json:
        click.echo(f"{versions}, {cores} CPU cores, no GPU used")
        click.echo(_ROW.format(*_HEADING))
    done = []
    for row in run.rows(is_all):
        done.append(row)
        if not as_json:
            click.echo(_ROW.format(row.kernel, row.entry, row.target, row.engine, *_cells(row)).rstrip())
    failed = sum(not row.is_right for row in done)
    if as_json:
        print_json(done)
        return int(failed > 0)
    click.echo(f"{failed} do not match their reference" if failed else "every result matches its reference")
    if not failed:
        click.echo(_onward(run.folder()))
    return int(failed > 0)


def _cells(row) -> tuple[str, str]:
    if row.failed is not None:
        return f"failed: {row.failed}", ""
    return f"{row.difference:.3g}" + ("" if row.is_right else " WRONG"), f"{row.seconds * 1e3:.3g}"


def _onward(kernels) -> str:
    """Says what to do next, in a clone or where a wheel is installed."""
    known = (
        (commands.shell("ops"), "what runs, and the case that tests it"),
        (commands.shell("doctor"), "this machine, Triton, torch, GPUs"),
    )
    if (kernels.parent / "runner").is_dir():
        first = commands.shell("run", "--device", "cpu", "examples/runner/v3.9.0/python/vector_add.py")
        lines = [f".venv/bin/{first}", *(f"{f'.venv/bin/{command}':<47} # {what}" for command, what in known)]
        lines.append(f"{'make demo ARGS=--all':<47} # the other rows")
        last = f"README.md has more; `. .venv/bin/activate` puts {commands.PROGRAM} on the PATH."
        return "\n".join(["\nGo on from this folder:", *(f"  {line}" for line in lines), last])
    known = (
        (commands.shell("demo", "--fault"), "what a fault looks like"),
        (commands.shell("run", "--pretend-cuda", "PROGRAM"), "a program of yours, unchanged"),
        *known,
    )
    lines = [f"  {command:<42} # {what}" for command, what in known]
    return "\n".join(["\nGo on:", *lines, f"The kernels are in {kernels}."])


def _faults(as_json: bool) -> int:
    from triton_runner.verbs.demo import run

    run.be_quiet()
    from triton_runner.verbs.demo import faults  # it makes kernels

    done = []
    for number, shown in enumerate(faults.shown(), 1):
        done.append(shown)
        if not as_json:
            always = ", always on" if shown.check == "oob" else ""
            click.echo(f"{number}. {shown.what} (check {shown.check}{always})\n")
            click.echo(f"{shown.report or 'NOT REPORTED'}\n")
    seen = sum(shown.report is not None for shown in done)
    if as_json:
        print_json(done)
    else:
        click.echo(f"{seen} of {len(done)} faults are reported")
        click.echo(f"in a program of yours: {commands.shell('run', '--check', 'all', 'PROGRAM')}")
    return int(seen < len(done))
