"""`triton-runner profile` counts what launches execute in their machine code, and bounds their time."""

from __future__ import annotations

import click

from triton_runner._base.errors import fail
from triton_runner._base.progress import telling
from triton_runner._programs.options import ProgramOrFile, check_settings, print_result, prints_aside, verbs
from triton_runner._programs.programs import launch_options, program_arguments
from triton_runner._programs.watched import in_own_process


@verbs.command("profile", group="measure", place=2, cls=ProgramOrFile)
@click.option("--chip", default="", help="Add the bounds of a chip: h200; an unknown name shows the list.")
@click.option("--replay", is_flag=True, help="Add an estimate of the time on the chip, with its error.")
@click.option(
    "--programs", help="Count a sample: 16 programs of the grid, or a list of their numbers: 0,5,9."
)
@click.option(
    "--kernel", "names", multiple=True, help="Look at launches of this kernel only; may be repeated."
)
@click.option(
    "--launches", "most", type=click.IntRange(1), default=4, help="Largest number of launches (default: 4)."
)
@click.option(
    "--by", "level", type=click.Choice(["python", "ttgir", "ptx", "sass", "amdgcn"]), default="python",
    help="The level whose lines are shown (default: python).",
)  # fmt: skip
@click.option(
    "--lines", "shown", type=click.IntRange(1), default=12, help="Largest number of lines (default: 12)."
)
@click.option("--target", "-t", help="cuda:90; else the chip's.")
@launch_options
@program_arguments
@in_own_process
def profile_command(
    chip, replay, programs, names, most, level, shown, target, as_json, program
):  # fmt: skip
    """Count what the kernels that PROGRAM launches execute, by line, in their machine code.

    The machine code runs on the CPU: no GPU is needed. PROGRAM may be a case or kernel.py:name. With --chip
    it says the least time that each resource of the chip allows, which is a bound, not a prediction; with
    --replay, how long the launch is estimated to take. Options come before PROGRAM. Exit status: 0, 1 a
    kernel stopped, 2 bad usage, 125 no launch.
    """
    from triton_runner import _settings
    from triton_runner._kernel.cost import chips
    from triton_runner.verbs.profile import text

    known = chips.chip_named(chip) if chip else None
    target = target or _settings.current().target or (f"cuda:{known.capability}" if known else None)
    is_amd = bool(target) and target.startswith("hip")
    if is_amd and (chip or replay):
        raise fail(
            f"profile counts what {target} executes, and estimates no time of AMD's GPUs",
            "leave out --chip and --replay; --target cuda:90 takes them",
        )
    with _settings.using(target=target), prints_aside(as_json), telling(bar=True) as told:
        check_settings("amdgcn" if is_amd else "cubin")
        options = {"programs": _sample(programs), "chip": chip, "replay": replay, "told": told}
        result = _profiled(program, names, most, options)
    print_result(result, as_json, lambda result: text.text_of(result, level, shown))
    return result.status or (0 if result.launches else 125)


def _sample(text: str | None):
    if not text:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or numbers == [0]:
        raise fail(
            f"--programs {text} is not a sample", "a number of programs, or a list of theirs: 16, or 0,5,9"
        )
    return numbers if "," in text else numbers[0]


def _profiled(program, names, most, options):
    """Profiles a program, a case, an artifact, or kernel.py:name with its arguments."""
    from triton_runner._artifact.shell_arguments import parse_grid
    from triton_runner._base.levels import level_of_name
    from triton_runner._kernel.cases.case import is_case, open_case
    from triton_runner._kernel.cost.profiling import LaunchCounts, counted_launch, profile
    from triton_runner._kernel.cost.results import SCHEMA, Profile

    is_kernel = program.name.rpartition(":")[0].endswith(".py") and not program.is_program
    is_file = not program.is_program and (is_case(program.name) or bool(level_of_name(program.name)))
    if not (is_kernel or is_file or program.is_program):
        raise fail(f"{program.name} is not a program, a case (*.trcase), an artifact or kernel.py:name")
    if not is_kernel:
        program.check()
    if is_case(program.name):
        return Profile(SCHEMA, [counted_launch(open_case(program.name).subject, **options)])
    if is_file:
        del options["told"]
        values, grid = program.values(), parse_grid(program.grid, "--grid")
        return Profile(SCHEMA, [profile(program.name, values, grid=grid, **options)])
    launch, watching = program.launch() if is_kernel else program.run, LaunchCounts(names, most, options)
    with watching.watching():
        status = launch() or 0
    return watching.result(status)
