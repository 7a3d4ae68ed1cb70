"""`triton-runner bits` says which configurations of a launch leave the same bits."""

from __future__ import annotations

import click

from triton_runner._base import commands
from triton_runner._base.errors import fail
from triton_runner._base.progress import telling
from triton_runner._programs.options import ProgramOrFile, check_settings, print_result, prints_aside, verbs
from triton_runner._programs.programs import Program, launch_options, program_arguments
from triton_runner._programs.watched import in_own_process


@verbs.command("bits", group="find", place=2, cls=ProgramOrFile)
@click.option(
    "--kernel", "names", multiple=True, help="Look at launches of this kernel only; may be repeated."
)
@click.option("--launches", "most", type=click.IntRange(1), help="Largest number of launches (default: 4).")
@click.option(
    "--configs", multiple=True,
    help='"num_warps=1,4;BLOCK=64,128": all combinations; may be repeated. Default: those of '
    "an autotuner, or numbers of warps.",
)  # fmt: skip
@click.option(
    "--orders",
    type=click.IntRange(0),
    default=0,
    help="Number of other orders of the programs to run as well.",
)
@click.option("--fusion", is_flag=True, help="Compare fp fusion on and off, and nothing else.")
@click.option("--versions", help="Releases of Triton: 3.8.0..3.9.0, a list.")
@click.option("--targets", "-t", help="cuda:80,cuda:90.")
@click.option(
    "--level", type=click.Choice(["ttir", "ttgir", "ptx", "amdgcn", "hsaco"]), default=None,
    help="The level whose bits are compared; default: the lowest that the CPU executes.",
)  # fmt: skip
@click.option(
    "--invariant", metavar="M",
    help="Compare the first rows of batches of other sizes: M is a number of the function that launches, or "
    "a dimension of its arguments: x.0.",
)  # fmt: skip
@launch_options
@program_arguments
@in_own_process
def bits_command(
    names, most, configs, orders, fusion, versions, targets, level, invariant, as_json, program,
):  # fmt: skip
    """Say which configurations of the kernels that PROGRAM launches leave the same bits.

    Each configuration runs from the same inputs. Configurations with equal outputs form a class. For two
    classes it prints the first value and line where they differ, and why. Options come before PROGRAM. Exit
    status: 0 all bits are equal, 1 they differ, 2 bad usage, 125 no launch.
    """
    from triton_runner import _settings
    from triton_runner._kernel.cells.cells import parse_configs
    from triton_runner._pipeline import versions as releases
    from triton_runner._pipeline.constants import constant
    from triton_runner.verbs.bits.variants import Axes

    axes = Axes(
        tuple(config for text in configs for config in parse_configs(text, constant)), orders, fusion,
        tuple(target.strip() for target in (targets or "").split(",") if target.strip()),
        tuple(releases.expand(versions)) if versions else (),
    )  # fmt: skip
    if invariant and (axes != Axes() or names or most):
        raise click.UsageError("--invariant varies the batch alone, and takes none of the other options")
    with prints_aside(as_json), telling() as say:
        for target in axes.targets or (None,):
            with _settings.using(target=target):
                check_settings()
        options = (names, most or (1000 if fusion else 4), level or "", say)
        judge = _of_program if program.is_program else _of_file
        result = judge(axes, options, invariant, program)
    print_result(result, as_json, lambda result: show(result, fusion))
    return result.exit_status


def _of_program(axes, options, invariant, program, function=""):
    from triton_runner import _settings
    from triton_runner.verbs.bits import invariant as invariance
    from triton_runner.verbs.bits import program as comparing
    from triton_runner.verbs.bits.results import SCHEMA, Bits

    program.check()
    if not invariant:
        return comparing.WatchedBits(axes, *options).of_program(*program.words)
    catching = invariance.Catching(invariant, function)
    with _settings.using(threads=1):
        status = catching.run(*program.words)
        launches = [invariance.judge(catching.call, *options[2:])] if catching.call else []
    return Bits(SCHEMA, launches, 0, status)


def _of_file(axes, options, invariant, program):
    """Handles a case, kernel.py:name with its arguments, or program.py:function, whose program runs."""
    from triton_runner._kernel.cases.case import is_case
    from triton_runner.verbs.bits import run as kernel

    path, _, name = program.name.rpartition(":")
    if is_case(program.name):
        program.check()
        if invariant:
            raise fail(
                "--invariant: a case holds one batch", "give the program, or kernel.py:name with --arg"
            )
        return kernel.of_case(program.name, axes, *options[2:])
    if not path.endswith(".py"):
        raise fail(f"{program.name} is not a program, a case (*.trcase) or kernel.py:name")
    if invariant and not program.args:
        called = Program(path, pretend_cuda=program.pretend_cuda)
        return _of_program(axes, options, invariant, called, name)
    return kernel.compared(program.given(), axes, options[2], invariant, options[3])


def show(result, fusion: bool = False) -> None:
    for one in result.launches:
        count, ran = len(one.classes), sum(1 for row in one.rows if row.bits)
        whose = "a GPU's" if one.level in ("ptx", "cubin") else "not a GPU's"
        click.echo(
            f"{one.kernel}, launch {one.launch}, grid {tuple(one.grid)}, {one.target}: "
            f"{count} {'class' if count == 1 else 'classes'} of equal bits among {ran} configurations"
        )
        if ran:
            click.echo(f"  at {one.level}, {whose} bits")
        _show_rows(one.rows)
        for labels in one.contradictions:
            click.echo(f"  must have equal bits by their code, but differ: {', '.join(labels)}")
            click.echo("    that is a fault of the compiler or of Triton Runner")
        for parting in one.partings:
            click.echo("\n".join(f"  {line}" for line in _lines(parting)))
    if not result.launches:
        click.echo("no kernel was launched")
    if result.left_out:
        click.echo(f"not compared: {result.left_out} later launches (--launches)")
    if fusion:
        changed = [one.kernel for one in result.launches if len(one.classes) > 1]
        names = f": {', '.join(dict.fromkeys(changed))}" if changed else ""
        click.echo(f"fp fusion changes {len(changed)} of {len(result.launches)} launches{names}")
    if result.status:
        click.echo(f"the program itself ended with status {result.status}")


def _show_rows(rows) -> None:
    """The classes of equal bits, and beside them those that the code says."""
    has_code = any(row.code is not None for row in rows)
    click.echo(f"  bits  {'code  ' if has_code else ''}configuration")
    for row in rows:
        number = f"{row.code or '-':<6}" if has_code else ""
        why = f"  ({row.state}: {row.text})" if row.state else ""
        click.echo(f"  {row.bits or '-':6}{number}{row.label}{why}")


def _lines(parting):
    """Yields what is printed of two classes."""
    a, b = map(_number, parting.numbers)
    index = ", ".join(map(str, parting.element))
    yield (
        f"{' and '.join(parting.classes)}: {parting.argument}[{index}] is {a} and {b}; "
        f"{parting.elements} of {parting.of} elements differ, by at most {_number(parting.max_error, 3)}"
    )
    if not parting.is_rounding and parting.origins[0].cause not in ("atomics", "operations", "type"):
        yield f"  more than rounding explains: `{commands.shell('configs', 'PROGRAM')}` says which is right"
    for i, origin in enumerate(parting.origins):
        if origin.op:
            name = f"{origin.variable} = {origin.op}" if origin.variable else origin.op
            where = f"{origin.file}:{origin.line}" if origin.file else "a value without a line"
            numbers = f": {' and '.join(map(_number, origin.numbers))}" if origin.numbers else ""
            yield f"  {'also' if i else 'first'} at {where}, {name}{numbers}"
        yield f"    {origin.cause}: {origin.evidence}"


def _number(value, digits: int = 9) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
