"""The verb of the command line that says what takes shared memory and registers: ledger."""

from __future__ import annotations

import click

from triton_runner._compiler.command import constants
from triton_runner._options import json_option, print_json


@click.command("ledger")
@click.argument("kernel")
@click.option("--signature", "-s", help='Types in order: "*fp32:16, i32, 128", as for compile.')
@click.option(
    "--constexpr", "-c", "constexprs", multiple=True, help="NAME=VALUE: 64, True, text, tl.float16."
)
@click.option("--target", "-t", help='The architecture: "cuda:90", "hip:gfx942".')
@click.option("--option", "-o", "options", multiple=True, help="NAME=VALUE of Triton's options: num_warps=8.")
@click.option("--triton", "release", help="The release: 3.4.0. Else the installed one.")
@json_option
def ledger_command(kernel, signature, constexprs, target, options, release, as_json):
    """List what takes KERNEL's shared memory (bytes, op, line, from where to where, the pass that made it),
    and what pins registers where PTX has most of them.

    KERNEL is kernel.py:name, or a file of TTIR or TTGIR, as for compile.
    """
    # The other verbs do without what it loads.
    from triton_runner._ledger import ledger

    found = ledger(
        kernel, signature, constants(constexprs, "--constexpr") or None, target=target,
        options=constants(options, "--option"), triton=release,
    )  # fmt: skip
    if as_json:
        print_json(found.as_dict())
    else:
        click.echo(str(found))


COMMANDS = (ledger_command,)
