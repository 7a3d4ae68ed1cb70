"""`triton-runner report` writes a page of kernels."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from triton_runner._base.levels import ON_CPU
from triton_runner._base.paths import write_file
from triton_runner._programs.options import (
    Output,
    ProgramOrFile,
    json_option,
    pretend_option,
    print_json,
    prints_aside,
    verbs,
)
from triton_runner._programs.watched import in_own_process


@verbs.command(
    "report", group="look", place=1, first=(5, "a page that shows a kernel at all levels"), cls=ProgramOrFile
)
@click.option("--output", "-o", metavar="FILE", type=Output(),
              help="The file to write (default: <kernel>.html; several kernels: <WHAT>.html).")  # fmt: skip
@click.option("--kernel", "name", default="", help="Show this kernel only, where there are several.")
@click.option("--against", metavar="DIR|FILE|CASE", help="More kernels, with which the first is compared.")
@click.option("--finding", "findings", multiple=True, metavar="FILE",
              help="Show the JSON of verify, bisect, lockstep, compare, profile at its lines.")  # fmt: skip
@click.option("--dump", "selectors", multiple=True, metavar="VALUE",
              help="For a program: values to be recorded and drawn, as for dump.")  # fmt: skip
@click.option("--level", type=click.Choice(ON_CPU),
              help="For a program: the level to execute; --dump records its values.")  # fmt: skip
@click.option("--target", "-t", help='For a program: the architecture to compile for: "cuda:90".')
@pretend_option
@json_option
@click.argument("what", type=click.Path(exists=True))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@in_own_process
def report_command(
    output, name, against, findings, selectors, level, target, pretend_cuda, as_json, what, arguments
):
    """Write one page, to be opened offline, that shows kernels at all levels.

    WHAT is a folder of kernels' levels (compile --save, passes --save, Triton's cache), one of their files, a
    case (*.trcase), or a Python program: the page then shows all kernels that it launches, with all passes,
    its launches, and what autotuning chose.
    """
    from triton_runner._kernel import material
    from triton_runner._kernel.cases import case
    from triton_runner._kernel.page.report import page
    from triton_runner.verbs.report import program as report_program

    start = time.perf_counter()
    dumps, all_findings, launches, tunings = (), [*findings], (), ()
    if case.is_case(what):
        opened = case.open_case(what)
        materials = [opened.material()]
        all_findings += opened.findings()
    elif report_program.is_program(what):
        with prints_aside(as_json):
            program = report_program.run(what, arguments, name, selectors, level, target, pretend_cuda)
        materials, dumps = program.materials, program.dumps
        launches, tunings = program.launches, program.tunings
        all_findings += program.findings
    else:
        materials = material.gather_all(what, name)
    names = [*dict.fromkeys(material_.name for material_ in materials)]
    if against:
        is_case = case.is_case(against)
        materials += [case.open_case(against).material()] if is_case else material.gather_all(against, name)
    path = output or f"{names[0] if len(names) == 1 else Path(what).resolve().stem}.html"
    text, _ = page(materials, dumps, all_findings, launches, tunings)
    write_file(path, text)
    seconds, size = time.perf_counter() - start, os.path.getsize(path)
    if as_json:
        print_json({"file": path, "kernel": names[0], "kernels": names, "bytes": size, "seconds": seconds})
    else:
        shown = names[0] if len(names) == 1 else f"{len(materials)} kernels"
        click.echo(f"{path}: {shown}, {size / 2**20:.1f} MiB, {seconds:.1f} s")
