"""The verb of the command line that says what takes shared memory and registers: ledger."""

from __future__ import annotations

import click

from triton_runner._cli.compile_command import constants
from triton_runner._settings.options import json_option, kernel_options, print_json


@click.command("ledger")
@click.argument("kernel")
@kernel_options
@click.option("--triton", "release", help="The release: 3.4.0. Else the installed one.")
@json_option
def ledger_command(kernel, signature, constexprs, target, options, release, as_json):
    """List what takes KERNEL's shared memory (bytes, op, line, from where to where, the pass that made it),
    and what pins registers where PTX has most of them.

    KERNEL is kernel.py:name, or a file of TTIR or TTGIR, as for compile.
    """
    # The other verbs do without what it loads.
    from triton_runner._compiler.ledger import ledger

    report = ledger(
        kernel, signature, constants(constexprs, "--constexpr") or None, target=target,
        options=constants(options, "--option"), triton=release,
    )  # fmt: skip
    if as_json:
        print_json(report.as_dict())
    else:
        click.echo(str(report))


COMMANDS = (ledger_command,)
