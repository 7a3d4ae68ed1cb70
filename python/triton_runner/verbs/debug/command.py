"""`triton-runner debug` opens a terminal in which launches are stopped and looked at."""

from __future__ import annotations

import dataclasses
import os

import click

from triton_runner._programs.look import DEBUGGED
from triton_runner._programs.options import Output, ProgramOrFile, prints_aside, verbs
from triton_runner._programs.programs import launch_options, program_arguments
from triton_runner._programs.watched import in_own_process


class _Command(ProgramOrFile):
    taken_after = ("-ex", "--execute")  # `debug program.py -ex run` is the order of gdb


@verbs.command("debug", group="execute", place=3, cls=_Command)
@click.option(
    "--level", type=click.Choice(DEBUGGED),
    help="What is executed and shown; by default the level of a kernel's file, and else ttir.",
)  # fmt: skip
@click.option("--kernel", default="", help="Stop in launches of this kernel only.")
@click.option("--program", "at", help="Stop in this program of the grid only: 3 or 3,0,1; -1 is any.")
@click.option(
    "--check", default="", help="Stop also where these checks report something: race, nan, uninit, ..., all."
)
@launch_options
@click.option("--target", "-t", help='The architecture to compile for: "cuda:90".')
@click.option("-ex", "--execute", "commands", multiple=True, help="Run this command; may be repeated.")
@click.option("--command", "script", type=click.File(), help="Run the commands in a file, a line each.")
@click.option(
    "--record",
    metavar="FILE.svg",
    type=Output(ending=".svg"),
    help="Write what is shown as an animated picture.",
)
@click.option(
    "--dap",
    is_flag=False,
    flag_value="stdio",
    metavar="[[HOST:]PORT]",
    is_eager=True,
    expose_value=False,
    callback=lambda context, option, where: where and _serve(context, where),
    help="Let an editor drive the session by the Debug Adapter Protocol, on standard input and "
    "output or on a port of this machine; its launch request names the program.",
)
@program_arguments
@in_own_process
def debug_command(
    level, kernel, at, check, target, commands, script, record, as_json, program
):  # fmt: skip
    """Debug the launches of PROGRAM, a case (*.trcase), a kernel's file or kernel.py:NAME, on the CPU.

    Type commands in a terminal (help lists them): break 42 if acc.max() > 1e4, run, print acc, step,
    reverse-step, last-write acc[3, 5]. --json answers each with a line of JSON. With -ex or --command it
    runs those and ends. Exit status: that of the program, if it has ended; 2 if a command of -ex or
    --command failed.
    """
    from triton_runner import _settings
    from triton_runner.verbs.debug import target as targets
    from triton_runner.verbs.debug import terminal
    from triton_runner.verbs.debug.recording import Recording
    from triton_runner.verbs.debug.session import Session
    from triton_runner.verbs.debug.stage import CtrlC, MainThread

    args = (*program.args, *program.arguments)
    if program.name.rpartition(":")[0].endswith(".py"):
        what = targets.of(dataclasses.replace(program, args=args).launch())
    else:
        what = targets.of(
            program.name, args, grid=program.grid, kernel=kernel, is_module=program.is_module,
            pretend_cuda=program.pretend_cuda,
        )  # fmt: skip
    lines = script.read().splitlines() if script else []
    with os.fdopen(os.dup(1), "w") as out, _settings.using(target=target), prints_aside(as_json):
        main, recording = MainThread(), Recording(record) if record else None
        session = Session(what, level or "", kernel, at or None, check, main.start)
        with CtrlC(session):
            status = main.serve(
                lambda: terminal.main(session, [*lines, *commands], out, as_json, main.read, recording)
            )
    return status


def _serve(context, where: str) -> None:
    from triton_runner.verbs.debug.dap import serve

    context.exit(serve.main(where))
