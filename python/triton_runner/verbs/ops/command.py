"""`triton-runner ops` lists the ops of Triton's IR and the opcodes of PTX."""

from __future__ import annotations

import click

from triton_runner._base.levels import MLIR
from triton_runner._programs.options import (
    json_option,
    print_result,
    verbs,
)


@verbs.command("ops", group="look", place=6)
@click.option("--dialect", help="Only ops of this dialect: tt, arith, math, scf, cf, ttg, ttng, nvws, amdg.")
@click.option("--release", help="Only ops that this Triton release has: 3.2.")
@click.option("--unsupported", is_flag=True, help="Only ops that are parsed but not executed.")
@click.option(
    "--level",
    type=click.Choice((*MLIR, "ptx")),
    default="ttgir",
    help="ptx: the opcodes of PTX in place of the ops of TTIR and TTGIR.",
)
@click.argument("names", nargs=-1)
@json_option
def ops(dialect, release, unsupported, level, names, as_json):
    """List the ops of Triton's IR: what runs each, the releases that have it, the case that tests it. With
    --level ptx, the opcodes of PTX: whether each is executed, its section of the PTX ISA, its modifiers.

    NAMES: only ops whose name, now or in an older release, contains one of these; or the ops of a file:
    *.ttir, *.ttgir, *.ptx, or a case (*.trcase).
    """
    from triton_runner.verbs.ops import run as op_listing

    level = "ptx" if any(name.endswith(".ptx") for name in names) else level
    if level == "ptx":
        if dialect or release:
            raise click.UsageError("--dialect and --release are of Triton's IR, not of PTX")
        rows = op_listing.ptx_listing(unsupported, names)
    else:
        rows = op_listing.listing(dialect, release, unsupported, names)
    if names and not rows and not any(map(op_listing.is_file, names)):
        raise click.UsageError(f"no op that is asked for has {' or '.join(map(repr, names))} in its name")
    lines = op_listing.ptx_lines if level == "ptx" else op_listing.lines
    print_result(rows, as_json, lambda rows: "\n".join(lines(rows)))
