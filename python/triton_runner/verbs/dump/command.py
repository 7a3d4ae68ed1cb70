"""`triton-runner dump` shows values of a kernel as a table."""

from __future__ import annotations

import click

from triton_runner._base.errors import KernelTrap
from triton_runner._base.paths import check_there
from triton_runner._programs.options import (
    Output,
    Picture,
    ProgramOrFile,
    json_option,
    pretend_option,
    print_json,
    prints_aside,
    verbs,
)
from triton_runner._programs.settings import apply_settings, settings_options
from triton_runner._programs.watched import in_own_process


@verbs.command(
    "dump",
    group="execute",
    place=4,
    first=(2, "the values inside of a kernel, at any level"),
    cls=ProgramOrFile,
)
@click.option(
    "--value",
    "-v",
    "selectors",
    multiple=True,
    default=("*",),
    show_default="*, everything",
    help='What to record: "%54", "acc", "tt.dot", "kernel.py:42", a register "%r7", or "*".',
)
@click.option("--kernel", default="", help="Which kernel; else all that are launched.")
@click.option("--grid", help="For a file: programs, 4 or 4,2,1.")
@click.option(
    "--arg", "args", multiple=True, help="For a file: an argument, once for each parameter, as for exec."
)
@click.option("--metadata", help="For a file: the metadata JSON, where it is not beside it.")
@click.option(
    "--every-iteration", is_flag=True, help="Record every iteration of values in loops, not only the last."
)
@click.option("--program", "asked", multiple=True, help="Only this program: 3, or 0,1; -1 is any.")
@click.option("--max-bytes", type=int, help="Largest number of bytes of records (default: 1 GiB).")
@click.option(
    "--launch", type=int, help="For a program: which launch is shown, from 0; the last if left out."
)
@click.option("--save", type=Output(), help="Write all records to a .npz or .safetensors file.")
@click.option("--png", type=Picture(), help="Write a heat map of the first value's last record.")
@pretend_option
@settings_options
@json_option
@click.argument("file", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@in_own_process
def dump(
    file,
    arguments,
    selectors,
    kernel,
    grid,
    args,
    metadata,
    every_iteration,
    asked,
    max_bytes,
    launch,
    save,
    png,
    pretend_cuda,
    as_json,
    **settings,
):
    """Record values of the kernel in FILE (*.ttir, *.ttgir, *.ptx, or a case, *.trcase), or of the kernels
    that a Python program launches, and print a table of them.

    Options come before FILE; what follows it are the program's own arguments.
    """  # fmt: skip
    level = settings.pop("level") or ""
    apply_settings(**settings)
    from triton_runner._artifact import shell_arguments
    from triton_runner._kernel.cases import case
    from triton_runner.verbs.dump import run as dumped

    options = {
        "kernel": kernel, "metadata": metadata, "every_iteration": every_iteration, "level": level or None,
        "programs": [shell_arguments.parse_grid(text, "--program") for text in asked] or None,
        "max_bytes": max_bytes,
    }  # fmt: skip
    check_there(file)
    stopped = None
    if dumped.is_program(file):
        with prints_aside(as_json):
            dumps, stopped = dumped.dump_program(file, arguments, selectors, pretend_cuda, options)
    elif case.is_case(file):
        if given := [name for name, value in (("--grid", grid), ("--arg", args)) if value]:
            raise click.UsageError(f"{given[0]}: a case has its own grid and arguments")
        dumps, stopped = dumped.dump_case(file, selectors, options)
    elif arguments:
        raise click.UsageError(f"{arguments[0]}: dump takes one file, and {file} is it")
    else:
        dumps, stopped = dumped.dump_file(file, selectors, grid, args, options)
    if stopped and not dumps:
        raise stopped
    chosen = dumped.choose(dumps, launch)
    if save:
        chosen.save(save)
    if png and len(chosen):
        chosen.values[0].heat_map(png)
    if as_json:
        print_json({**dumped.as_json(chosen), "stopped": str(stopped) if stopped else None})
    else:
        dumped.print_table(chosen)
    if isinstance(stopped, KernelTrap):  # what it computed until then stands above
        raise stopped
    return stopped
