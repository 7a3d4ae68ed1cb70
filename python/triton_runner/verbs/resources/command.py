"""`triton-runner resources` shows what kernels need of the GPU."""

from __future__ import annotations

import click

from triton_runner._programs.options import (
    json_option,
    print_result,
    verbs,
)


@verbs.command("resources", group="look", place=4)
@click.option("--kernel", "name", default="", help="Which kernel, where a file has several.")
@click.option("--metadata", help="The metadata JSON, where it is not beside the file.")
@json_option
@click.argument("files", nargs=-1, required=True, type=click.Path())
def resources(files, name, metadata, as_json):
    """Say what kernels need of the GPU: registers, spills, memory, instructions, occupancy.

    FILES are binaries (*.cubin, *.hsaco), AMD assembly, or IR and PTX, which Triton compiles first.
    """
    from triton_runner._kernel.compiling.resources import resources as read

    resources = [read(file, metadata, name=name) for file in files]
    rows = [one.as_dict() for one in resources]
    print_result(rows, as_json, lambda _: "\n".join(map(str, resources)))
