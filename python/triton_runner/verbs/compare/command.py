"""`triton-runner compare` compares a kernel with itself on releases, targets and configurations."""

from __future__ import annotations

import contextlib
import itertools
import sys

import click

from triton_runner._base.errors import fail
from triton_runner._base.progress import telling
from triton_runner._programs.ci import ci_options, of_comparison, write_ci
from triton_runner._programs.options import json_option, print_json, verbs
from triton_runner._programs.programs import constants


@verbs.command("compare", group="find", place=3)
@click.argument("kernel")
@click.option("--versions", help="Releases: 3.4.0..3.9.0, all, a list (default: the installed one).")
@click.option("-t", "--targets", help="Targets: cuda:80,cuda:90,hip:gfx942 (default: the settings').")
@click.option(
    "--configs", multiple=True, help='"num_warps=4,8;num_stages=1..4": all combinations; several add up.'
)
@click.option("--signature", "-s", help='Types in order, as for compile: "*fp32:16, i32".')
@click.option(
    "--constexpr", "-c", "constexprs", multiple=True, help="NAME=VALUE: 64, True, text, tl.float16."
)
@click.option(
    "--arg", "args", multiple=True,
    help="One for each parameter that is not a constexpr, in order, as for exec: 1024, f32[64,64]=rand, "
    "x.npy. Each cell is then run on the CPU.",
)  # fmt: skip
@click.option("--grid", help='Programs of that launch: 4, or "cdiv(n, BLOCK), 2" over parameters.')
@click.option(
    "--base",
    help="What a cell is compared with: triton=3.4.0, target=cuda:90, num_warps=4, or the JSON file of an "
    "earlier run. Default: the first release, configuration or target.",
)
@click.option(
    "--fail-if", "conditions", multiple=True, metavar="EXPRESSION",
    help='Exit status 1 where it is true: "shared > 1.1 * base", "spills > 0", "not equal", '
    '"count(\'LDL\') > base".',
)  # fmt: skip
@click.option(
    "--show", multiple=True, metavar="OPCODE", help="Add a column: how often OPCODE occurs in the code."
)
@click.option("--counts", is_flag=True, help="Count what each launch executes in its machine code.")
@click.option(
    "--chip", metavar="NAME", help="Estimate each launch's cycles on h200, ..., and what limits it."
)
@click.option(
    "--jobs", "-j", type=click.IntRange(1), help="Number of processes (default: one for each core)."
)
@click.option("--executor", metavar="dask://HOST:PORT", help="Measure on a Dask cluster.")
@click.option("--store", type=click.Path(file_okay=False), help="The folder of finished cells.")
@click.option("--timeout", type=float, help="Seconds that a cell may take (600).")
@ci_options
@json_option
def compare_command(
    kernel, versions, targets, configs, signature, constexprs, args, grid, base, conditions, show, counts,
    chip, jobs, executor, store, timeout, as_json, **ci,
):  # fmt: skip
    """Compare KERNEL (kernel.py:name, an IR file, or a case, *.trcase) with itself: releases, targets,
    configurations.

    The table has registers, spills, shared memory, code, instructions, occupancy, compile time, whether the
    results on the CPU are equal, and the time if there is a GPU. Finished cells are kept: a run that was
    interrupted continues, and a second one measures what changed. Where a compiler fails, the report shows
    the stage, the pass, all that it said and a reproducer. Exit status: 0, 1 where --fail-if is true or a
    cell fails, 2 for bad usage, 125 where a compiler fails and no cell is compiled.
    """
    from triton_runner._artifact.shell_arguments import parse_argument
    from triton_runner._base import expression
    from triton_runner._kernel.cases.case import is_case, open_case
    from triton_runner._kernel.cells import measure
    from triton_runner._kernel.cost import timing
    from triton_runner._kernel.cost.chips import chip_named
    from triton_runner.verbs.compare import run as comparison
    from triton_runner.verbs.compare.text import show as show_table

    parsed = [expression.parse(text, "--fail-if", measure.FIGURES) for text in conditions]
    named = {name for condition in parsed for name in condition.figures}
    counts = counts or bool(named.intersection(measure.COUNTED))
    if chip:
        targets = targets or f"cuda:{chip_named(chip, timing.TIMINGS).capability}"
    elif unnamed := named.intersection(measure.ESTIMATED):
        raise fail(f"--fail-if names {min(unnamed)}, which needs a chip", "--chip h200")
    if base and not base.endswith(".json"):
        base = base.replace("triton=", "release=")
    launch = {
        "kernel": kernel, "args": [parse_argument(text) for text in args] if args else None, "grid": grid,
        "constexprs": constants(constexprs, "--constexpr"),
    }  # fmt: skip
    done = itertools.count(1)
    with telling("cells", bar=True) as report, contextlib.ExitStack() as held:
        if is_case(kernel):
            case = open_case(kernel)
            launch = case.as_python(held.enter_context(case.extracted()))
            targets = targets or case.target
        result = comparison.compare(
            **launch, signature=signature, versions=versions, targets=targets, configs=list(configs) or None,
            base=base, jobs=jobs, executor=executor, store=store, timeout=timeout, counts=counts,
            chip=chip or "", told=lambda cell, kept, total: report(cell.name, next(done), total),
        )  # fmt: skip
    failing = {text: result.failing(text) for text in conditions}
    failed = [row for row in result if row.error]
    if as_json:
        failures = {t: [{"cell": row.name, "why": why} for row, why in rows] for t, rows in failing.items()}
        print_json({**result.as_dict(), "fail_if": failures, "failed": [row.name for row in failed]})
    else:
        show_table(result, show)
        for text, rows in failing.items():
            click.echo(f"--fail-if {text!r}: " + (f"{len(rows)} of {len(result)} cells" if rows else "none"))
            for row, why in rows:
                click.echo(f"  {row.name}: {why}")
    status = (1 if result.is_judged else 125) if failed or any(failing.values()) else 0
    write_ci(lambda version: of_comparison(result, kernel, failing, status, version), **ci, aside=as_json)
    told_of = f"{result.computed} cells measured, {result.kept} from the store"
    if sys.stderr.isatty():
        click.echo(told_of, err=True)
    if result.trouble is not None:
        click.echo(
            f"note: not every finished cell could be kept ({result.trouble}): they will be measured again",
            err=True,
        )
    return status
