"""`triton-runner tune` ranks configurations of kernels for a chip."""

from __future__ import annotations

import click

from triton_runner._base.errors import fail
from triton_runner._base.progress import telling
from triton_runner._programs.options import ProgramOrFile, check_settings, print_result, prints_aside, verbs
from triton_runner._programs.programs import launch_options, program_arguments
from triton_runner._programs.watched import in_own_process
from triton_runner.verbs.configs.command import Numbers


@verbs.command("tune", group="measure", place=3, cls=ProgramOrFile)
@click.option("--chip", required=True, help="The chip to estimate for: h200; an unknown name shows the list.")
@click.option(
    "--kernel", "names", multiple=True, help="Look at launches of this kernel only; may be repeated."
)
@click.option(
    "--launches", "most", type=click.IntRange(1), default=4, help="Largest number of launches (default: 4)."
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=3,
    help="Number of top-ranked configurations that a GPU times (default: 3).",
)
@click.option("--num-warps", type=Numbers(), help="Try each of these: 1,2,4,8.")
@click.option("--num-stages", type=Numbers(), help="Try each of these: 1,2,3.")
@launch_options
@program_arguments
@in_own_process
def tune_command(chip, names, most, top, num_warps, num_stages, as_json, program):
    """Rank the configurations of the kernels that PROGRAM launches by their estimated time on a chip.

    The configurations are those of an autotuner, each with all combinations of the options that are given.
    PROGRAM may be kernel.py:name. No GPU is needed; if there is one of that kind, it times the best ones.
    The program continues with the configuration that is chosen. Options come before PROGRAM. Exit status:
    the program's, 1 no configuration runs, 2 bad usage, 125 nothing to rank.
    """
    from triton_runner import _settings
    from triton_runner._kernel.cost import timing
    from triton_runner._kernel.cost.chips import chip_named
    from triton_runner.verbs.tune import results
    from triton_runner.verbs.tune.ranking import Ranker, WatchedTuning

    target = f"cuda:{chip_named(chip, timing.TIMINGS).capability}"
    values = {"num_warps": num_warps, "num_stages": num_stages}
    values = {name: numbers for name, numbers in values.items() if numbers}
    with _settings.using(target=target), prints_aside(as_json), telling() as say:
        check_settings("cubin")
        tuning = WatchedTuning(Ranker(chip, top, say), names, most, values)
        if program.is_program:
            program.check()
            result = tuning.of_program(*program.words)
        elif ".py:" not in program.name:
            raise fail(f"{program.name} is neither a program nor kernel.py:name")
        else:
            with _settings.using(threads=1):
                launch = program.launch()
                with tuning.watching():
                    launch()
            result = tuning.result(0)
    print_result(result, as_json, results.text_of)
    return result.exit_status
