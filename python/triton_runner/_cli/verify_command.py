"""The command `verify`, which judges launches."""

from __future__ import annotations

import click

from triton_runner._base.progress import telling
from triton_runner._cli import shapes_command
from triton_runner._cli.ci_options import check_ci, ci_options, write_ci
from triton_runner._cli.programs import program_arguments
from triton_runner._cli.shapes_command import shapes_options
from triton_runner._settings.options import ProgramOrFile, check_settings, print_result, prints_aside, verbs


@verbs.command(
    "verify",
    cls=ProgramOrFile,
)
@click.option("--kernel", "names", multiple=True, help="Judge launches of this kernel only; may be repeated.")
@click.option(
    "--launches", "most", type=click.IntRange(1), default=16, show_default=True, help="Judge at most so many."
)
@click.option(
    "--check", "checks", help="Of oob, nan, inf, nanload, uninit, race, zerodiv, hints, overflow; else all."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Warnings are faults, and so is an order of atomics that decides an output.",
)
@click.option("--assembled", is_flag=True, help="Judge ptxas's machine code too, executed on the CPU.")
@click.option("--target", "-t", help='The architecture to compile for: "cuda:90", "hip:gfx942".')
@shapes_options
@ci_options
@program_arguments
def verify_command(
    names, most, checks, strict, assembled, target, as_json, program, junit, sarif, github, **shapes
):  # fmt: skip
    """Judge the kernels that PROGRAM launches, or a case (*.trcase); with --shapes a function of it,
    program.py:fn.

    Each launch runs at every level, with every check, with its programs in other orders and its copies at
    other times; levels (and a GPU, if one is there) are compared bit for bit. What a check reports and no
    output depends on is a warning, and so are bank conflicts and spills that are sure to cost time. Options
    come before PROGRAM, or anywhere beside a case. Exit status: 0 right or nondeterministic (the order of
    atomics decides an output; 1 with --strict), 1 wrong, 2 bad usage, 125 where a level could not be run.
    """
    from triton_runner import _settings
    from triton_runner._case import case, ci_checks, judge, verdict
    from triton_runner._profile.costs import costs

    ci = {"junit": junit, "sarif": sarif, "github": github}
    check_ci(**ci)
    name = program.name
    if shapes_command.is_asked(name, shapes):
        shapes_command.check_unused({"--kernel": names, "--assembled": assembled, "-m": program.is_module})
        options = {"checks": checks, "strict": strict, "pretend_cuda": program.pretend_cuda}
        return shapes_command.verify(name, program.arguments, as_json, target, shapes | options, ci)
    check_names = judge.checks_of(checks)
    program.check()
    with prints_aside(as_json), _settings.using(target=target), telling() as say:
        check_settings()
        if case.is_case(name):
            result = verdict.of_case(name, check_names, strict, say, assembled, costs)
        else:
            judging = verdict.Program(names, most, check_names, strict, say, assembled, costs)
            result = judging.run(*program.words)
    print_result(result.to_dict(), as_json, lambda _: str(result))
    write_ci(lambda version: ci_checks.suite_of(result, name, version), **ci, aside=as_json)
    return result.status
