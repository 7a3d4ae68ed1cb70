"""`triton-runner opt` runs passes of Triton on a text."""

from __future__ import annotations

import click

from triton_runner._base.paths import write_file
from triton_runner._programs.options import Output, verbs
from triton_runner._programs.programs import constants, release_option


@verbs.command("opt", group="compile", place=3)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--pass",
    "names",
    multiple=True,
    required=True,
    metavar="PASS",
    help="A pass: add_coalesce; may be repeated, in order.",
)
@click.option("--target", "-t", help='The architecture: "cuda:90"; else the file says it.')
@click.option(
    "--option", "-O", "options", multiple=True, help="NAME=VALUE of Triton's options: num_stages=4."
)
@release_option
@click.option("--output", "-o", metavar="FILE", type=Output(), help="Where the IR goes; else it is printed.")
def opt_command(file, names, target, options, release, output):
    """Run single compiler passes on an IR FILE, with the arguments that Triton's pipeline gives them."""
    from triton_runner._kernel.compiling import passes

    text = file
    for name in names:
        trace = passes.passes(
            file,
            target=target,
            options=constants(options, "--option"),
            triton=release,
            start=name,
            stop=name,
            text=text,
            keep="none",
            check=False,
        )
        text = trace.stopped
    if output:
        write_file(output, text)
    else:
        click.echo(text, nl=False)
