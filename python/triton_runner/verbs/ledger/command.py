"""`triton-runner ledger` says what takes shared memory and registers."""

from __future__ import annotations

import click

from triton_runner._programs.options import json_option, print_result, verbs
from triton_runner._programs.programs import kernel_options, release_option


@verbs.command("ledger", group="look", place=5)
@click.argument("kernel")
@kernel_options
@release_option
@json_option
def ledger_command(kernel, how, release, as_json):
    """List what takes KERNEL's shared memory (bytes, op, line, where it is live, the pass that made it), and
    what holds registers where the PTX and the machine code have most of them.

    KERNEL is kernel.py:name, or a file of TTIR or TTGIR, as for compile.
    """
    from triton_runner._kernel.compiling.ledger import ledger

    report = ledger(kernel, **how, triton=release)
    print_result(report.as_dict(), as_json, lambda _: str(report))
