"""The command `profile`, which counts what launches execute in their machine code, and bounds their time."""

from __future__ import annotations

import sys

import click

from triton_runner._base.errors import fail
from triton_runner._base.progress import telling
from triton_runner._cli.kernel_launch import check_launch, launch_of
from triton_runner._settings.options import (
    ProgramOrFile,
    check_program,
    check_settings,
    is_program,
    launch_options,
    pretend_option,
    print_json,
    prints_aside,
    program_arguments,
)


@click.command("profile", cls=ProgramOrFile)
@click.option("--chip", default="", help="Add the bounds of a chip: h200; another name lists them.")
@click.option("--replay", is_flag=True, help="Add an estimate of the time on the chip, with its error.")
@click.option("--programs", help="A sample: 16 of the grid, or a list of their numbers: 0,5,9.")
@click.option("--kernel", "names", multiple=True, help="Launches of this kernel only; may be repeated.")
@click.option("--launches", "most", type=click.IntRange(1), default=4, help="At most so many launches (4).")
@click.option(
    "--by", "level", type=click.Choice(["python", "ttgir", "ptx", "sass"]), default="python",
    help="Whose lines are shown (python).",
)  # fmt: skip
@click.option("--lines", "shown", type=click.IntRange(1), default=12, help="At most so many lines (12).")
@click.option("--target", "-t", help="cuda:90; else the chip's.")
@launch_options
@pretend_option
@program_arguments
def profile_command(
    chip, replay, programs, names, most, level, shown, target, args, constexprs, grid, pretend_cuda,
    is_module, as_json, program, arguments,
):  # fmt: skip
    """Count what the kernels that PROGRAM launches execute, by line, in their machine code.

    The machine code runs on the CPU: no GPU is needed. PROGRAM may be a case or kernel.py:name. With --chip
    it says the least time that each resource of the chip allows, which is a bound and no prediction; with
    --replay, how long the launch is estimated to take. Options come before PROGRAM. Exit status: 0, 1 a
    kernel stopped, 2 bad usage, 125 no launch.
    """
    # The other verbs do without what it loads.
    from triton_runner import _settings
    from triton_runner._profile import chips, text

    known = chips.chip_named(chip) if chip else None
    target = target or _settings.current().target or (f"cuda:{known.capability}" if known else None)
    with _settings.using(target=target), prints_aside(as_json), telling(bar=True) as told:
        check_settings("cubin")
        options = {"programs": _sample(programs), "chip": chip, "replay": replay, "told": told}
        if is_program(program) or is_module:
            check_program(program, is_module)
            result = _of_program(names, most, options, program, arguments, is_module, pretend_cuda)
        else:
            result = _of_file(program, (args, constexprs, grid), names, most, options)
    if as_json:
        # Only this needs it.
        from triton_runner._base import typed

        print_json(typed.as_json(result))
    else:
        click.echo(text.text_of(result, level, shown))
    sys.exit(result.status or (0 if result.launches else 125))


def _sample(text: str | None):
    if not text:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise click.UsageError(
            f"--programs {text}: a number of programs, or a list of their numbers"
        ) from None
    return numbers if "," in text else numbers[0]


def _of_program(names, most, options, program, arguments, is_module, pretend_cuda):
    # The same.
    from triton_runner._pretend.running import run_program
    from triton_runner._profile.watching import Watching

    watching = Watching(names, most, options)
    with watching.watching():
        status = run_program(program, list(arguments), is_module, pretend_cuda) or 0
    return watching.result(status)


def _of_file(program, given, names, most, options):
    """Of a case, or of kernel.py:name with its arguments."""
    # The same.
    from triton_runner._artifact.shell_arguments import parse_argument, parse_grid
    from triton_runner._base.levels import level_of_name
    from triton_runner._bits import kernel
    from triton_runner._case.case import is_case, open_case
    from triton_runner._profile.profiling import counted_launch, profile
    from triton_runner._profile.results import SCHEMA, Profile
    from triton_runner._profile.watching import Watching

    path, _, _ = program.rpartition(":")
    if is_case(program):
        check_program(program, False)
        return Profile(SCHEMA, [counted_launch(open_case(program).subject, **options)])
    args, constexprs, grid = given
    is_artifact = bool(level_of_name(program))
    if not is_artifact and not path.endswith(".py"):
        raise fail(f"{program} is not a program, a case (*.trcase), an artifact or kernel.py:name")
    if is_artifact:
        check_program(program, False)
        check_launch(program, args, grid)
        values = [parse_argument(text) for text in args]
        options = {name: value for name, value in options.items() if name != "told"}
        return Profile(SCHEMA, [profile(program, values, grid=parse_grid(grid, "--grid"), **options)])
    _, named, launch = kernel.launching(launch_of(program, args, constexprs, grid))
    watching = Watching(names, most, options)
    with watching.watching():
        launch(**named)
    return watching.result(0)


COMMANDS = (profile_command,)
