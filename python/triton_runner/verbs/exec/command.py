"""`triton-runner exec` launches a file once; _artifact.shell_arguments does the work."""

from __future__ import annotations

import os

import click

from triton_runner._base.levels import ENDINGS
from triton_runner._base.paths import no_level
from triton_runner._programs.look import look
from triton_runner._programs.options import (
    json_option,
    print_json,
    prints_aside,
    verbs,
)
from triton_runner._programs.settings import (
    LOOK,
    apply_settings,
    fault_status,
    program_option,
    settings_options,
)
from triton_runner._settings import named_checks


@verbs.command("exec", group="execute", place=2)
@click.argument("file", type=click.Path())
@click.option("--grid", help="Programs: 4, or 4,2,1.")
@click.option(
    "--arg",
    "args",
    multiple=True,
    help="An argument, once for each parameter in order: 1024, i64=7, 0.5, null, f32[64,64]=rand, x.npy, "
    "x.npz:key",
)
@click.option("--save", multiple=True, help="INDEX=FILE: write the argument's array after the launch.")
@click.option("--kernel", "name", default="", help="Which kernel, where the file has several.")
@click.option("--metadata", help="The metadata JSON, where it is not beside the file.")
@click.option("--block", help="Threads of a block of PTX that has no .reqntid: 128, or 16,8.")
@click.option("--cluster", help="Blocks of a cluster, where the PTX does not say it: 2.")
@click.option("--shared", type=int, help="Dynamic shared memory of a PTX block in bytes.")
@program_option
@settings_options
@json_option
def execute(file, grid, args, save, name, metadata, block, cluster, shared, only, as_json, **settings):
    """Run the kernel of FILE (*.ptx, *.ttir, *.ttgir, *.glir, *.amdgcn, *.hsaco; with an nvdisasm *.cubin,
    *.fatbin or *.so; with Triton installed also *.llir).

    An array argument is TYPE[SHAPE]=INIT with INIT one of zeros, ones, iota, iota:START, rand, rand:SEED or
    a number, or a file: x.npy, x.npz:key, x.safetensors:key. A number may have a type: i32=5, bf16=0.5.
    Prints the arrays that the kernel changed.
    """
    from triton_runner._artifact import shell_arguments

    if os.path.splitext(file)[1] == ".py":
        raise no_level(file, ENDINGS)
    if grid is None:
        raise click.UsageError("Missing option '--grid'")
    level = settings["level"] or os.path.splitext(file)[1].removeprefix(".")
    if settings["check"]:
        settings["check"] = named_checks(settings["check"], level)
    if settings["level"] and not settings["target"]:
        settings["target"] = shell_arguments.target_that_it_needs(file, metadata, name)
    apply_settings(**settings, program=only)
    words = [*(["--kernel", name] if name else []), "--grid", grid, file, *args]
    looks = look(words, settings, as_json, only, metadata, block, cluster, shared)
    click.get_current_context().meta[LOOK] = looks
    with prints_aside(as_json):
        result = shell_arguments.execute(file, grid, args, save, name, metadata, block, cluster, shared)
    status = fault_status()
    if as_json:
        print_json(result)
        return status
    click.echo(
        f"{result['kernel']} ({result['level']}) on {result['device']}, grid {result['grid']}: "
        f"{result['milliseconds']:.3f} ms"
    )
    for array in result["changed"]:
        click.echo(f"{array['name']} {array['type']}{array['shape']}: {array['text']}")
    if not result["changed"]:
        click.echo("no array changed")
    return status
