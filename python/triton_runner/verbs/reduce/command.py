"""`triton-runner reduce` makes a text small while its fault stays."""

from __future__ import annotations

import os

import click

from triton_runner._base.progress import telling
from triton_runner._programs import programs
from triton_runner._programs.options import Output, json_option, print_json, verbs


@verbs.command("reduce", group="find", place=7)
@click.option(
    "--oracle", required=True,
    help="What stays: levels, levels:ttir,ptx, trap, trap:CHECK, crash, 'shared>N', 'registers>N', "
    "'spills>N', or a program whose exit status stays ({} is the file).",
)  # fmt: skip
@click.option("-o", "--output", type=Output(), help="The file to write (default: reduced.<suffix>).")
@click.option("--grid", help="Programs, for an oracle that runs the kernel: 4, or 4,2,1.")
@click.option(
    "--arg", "args", multiple=True, help="An argument, once for each parameter in order, as for exec."
)
@click.option("--kernel", "name", default="", help="Which kernel, where a file has several.")
@click.option("--metadata", help="The metadata JSON, where it is not beside the file.")
@click.option("--target", "-t", help='The architecture to compile for: "cuda:90".')
@click.option("--signature", "-s", help="For Python: types of the parameters, as for compile.")
@click.option("--constexpr", "-c", "constexprs", multiple=True, help="For Python: NAME=VALUE.")
@click.option("--option", "-O", "options", multiple=True, help="For Python: a compile option, num_warps=8.")
@click.option("--python", is_flag=True, help="For a case: reduce its kernel in Python, and not its IR.")
@click.option(
    "--timeout", type=float, default=60.0, show_default=True, help="Largest number of seconds for one try."
)
@json_option
@click.argument("file")
def reduce_command(file, oracle, output, grid, args, constexprs, options, python, as_json, **given):
    """Make FILE small while its fault stays: *.ttir, *.ttgir, *.ptx, *.amdgcn, *.hsaco, kernel.py:NAME, or a
    case.

    The output file always holds the smallest valid result so far, so that Ctrl-C loses nothing.
    """
    from triton_runner._artifact import shell_arguments
    from triton_runner._kernel.cases.case import open_case
    from triton_runner.verbs.reduce import run as reducing

    suffix = ".py" if python or ".py" in file else os.path.splitext(file)[1]
    if suffix == ".trcase":
        suffix = f".{open_case(file).subject.entry}"
    output = output or f"reduced{suffix}"
    with telling() as say:
        small = reducing.reduce(
            file, oracle, out=output, grid=shell_arguments.parse_grid(grid) if grid else None,
            args=reducing.arguments(args), constexprs=programs.constants(constexprs, "--constexpr"),
            options=programs.constants(options, "--option"), python=python,
            say=lambda shrinker: say(str(shrinker)), **given,
        )  # fmt: skip
    if as_json:
        print_json({
            "file": output, "size": small.size, "size_before": small.size_before, "tries": small.tries,
            "seconds": round(small.seconds, 3),
        })  # fmt: skip
        return
    click.echo(
        f"{output}: {small.size[0]} of {small.size_before[0]} {'statements' if suffix == '.py' else 'ops'}, "
        f"{small.tries} tries, {small.seconds:.1f} s"
    )
