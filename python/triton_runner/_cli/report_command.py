"""The verb of the command line that writes the page of a kernel: report."""

from __future__ import annotations

import os
import time

import click

from triton_runner._settings.options import (
    ProgramOrFile,
    json_option,
    pretend_option,
    print_json,
    prints_aside,
)


@click.command("report", cls=ProgramOrFile)
@click.option("--output", "-o", metavar="FILE", help="Where the page goes; else <kernel>.html.")
@click.option("--kernel", "name", default="", help="Which kernel, where there are several.")
@click.option("--against", metavar="DIR|FILE|CASE", help="A second kernel, which is shown beside the first.")
@click.option("--finding", "findings", multiple=True, metavar="FILE",
              help="JSON of verify, bisect, lockstep or compare, on the lines that it blames.")  # fmt: skip
@click.option("--dump", "selectors", multiple=True, metavar="VALUE",
              help="Of a program: values to be recorded and drawn, as for dump.")  # fmt: skip
@click.option("--target", "-t", help='Of a program: the architecture to compile for: "cuda:90".')
@pretend_option
@json_option
@click.argument("what", type=click.Path(exists=True))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def report_command(
    output, name, against, findings, selectors, target, pretend_cuda, as_json, what, arguments
):
    """Write one page, to be opened offline, that shows a kernel at all levels.

    WHAT is a folder of a kernel's levels (compile --save, passes --save, Triton's cache), one of their files,
    a case (*.trcase), or a Python program: the page is of the kernel that it launches, with all passes.
    """
    # The other verbs do without what it loads.
    from triton_runner._case import case
    from triton_runner._cli import report_program
    from triton_runner._see import material
    from triton_runner._see.report import report

    start = time.perf_counter()
    dumps, all_findings = (), [*findings]
    if case.is_case(what):
        opened = case.open_case(what)
        first = opened.material()
        all_findings += opened.findings()
    elif report_program.is_program(what):
        with prints_aside(as_json):
            first, dumps, faults = report_program.kernel_of(
                what, arguments, name, selectors, target, pretend_cuda
            )
        all_findings += faults
    else:
        first = material.gather(what, name)
    both = first
    if against:
        is_case = case.is_case(against)
        both = [first, case.open_case(against).material() if is_case else material.gather(against, name)]
    path = report(both, output or f"{first.name}.html", name=name, dumps=dumps, findings=all_findings)
    seconds, size = time.perf_counter() - start, os.path.getsize(path)
    if as_json:
        print_json({"file": path, "kernel": first.name, "bytes": size, "seconds": seconds})
    else:
        click.echo(f"{path}: {first.name}, {size / 2**20:.1f} MiB, {seconds:.1f} s")


COMMANDS = (report_command,)
