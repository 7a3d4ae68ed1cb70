"""`triton-runner configs` judges each configuration of a program's launches."""

from __future__ import annotations

import collections

import click

from triton_runner._base.progress import telling
from triton_runner._programs.options import ProgramOrFile, check_settings, print_result, prints_aside, verbs
from triton_runner._programs.programs import program_arguments
from triton_runner._programs.watched import in_own_process


class Numbers(click.ParamType):
    """Integers: 1,2,4."""

    name = "numbers"

    def convert(self, value, param, context):
        try:
            return [int(part) for part in value.split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers, as in: 1,2,4", param, context)


@verbs.command("configs", group="find", place=4, cls=ProgramOrFile)
@click.option(
    "--kernel", "names", multiple=True, help="Look at launches of this kernel only; may be repeated."
)
@click.option(
    "--launches",
    "most",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Largest number of launches to judge.",
)
@click.option("--num-warps", type=Numbers(), help="Try each of these: 1,2,4,8.")
@click.option("--num-stages", type=Numbers(), help="Try each of these: 1,2,3.")
@click.option("--warp-specialize", "constant", help="A constexpr that is tried as True and as False.")
@click.option("--check", "checks", help="The checks to run, of those that verify runs; default: all.")
@click.option("--target", "-t", help='The architecture to compile for: "cuda:90".')
@program_arguments
@in_own_process
def configs_command(names, most, num_warps, num_stages, constant, checks, target, as_json, program):
    """Judge each configuration of the kernels that PROGRAM launches.

    The configurations are those of an autotuner, and all combinations of the options that are given. Each
    is judged as `verify` judges a launch, and compared with the first that is right. Options come before
    PROGRAM. Exit status: 0 all right, 1 a configuration is at fault, 2 bad usage, 125 no launch.
    """
    from triton_runner import _settings
    from triton_runner._kernel.cases import judge
    from triton_runner.verbs.configs import run as configs

    check_names = judge.checks_of(checks)
    program.check()
    grid = {
        "num_warps": num_warps,
        "num_stages": num_stages,
        constant or "": [False, True] if constant else None,
    }
    grid = {name: values for name, values in grid.items() if values}
    with prints_aside(as_json), _settings.using(target=target), telling() as say:
        check_settings()
        judging = configs.WatchedConfigs(names, most, grid, check_names, say)
        result = judging.of_program(*program.words)
    print_result(result, as_json, show)
    return result.exit_status


def show(result) -> None:
    from triton_runner._launch.launchers import what_else

    width = max((len(row.state) for row in result.configurations), default=0) + 2
    launch = None
    for row in result.configurations:
        if (row.kernel, row.launch) != launch:
            launch = row.kernel, row.launch
            click.echo(f"{row.kernel}, launch {row.launch}:")
        options = " ".join(f"{name}={value}" for name, value in row.options.items()) or "the program's own"
        click.echo(f"  {row.state:{width}}{options}")
        if row.text:
            click.echo(f"  {'':{width}}{row.text}")
    counts = collections.Counter(row.state for row in result.configurations)
    click.echo(
        ", ".join(f"{count} {state}" for state, count in counts.most_common()) or "no kernel was launched"
    )
    for line in what_else("judged", result.left_out, result.status):
        click.echo(line)
