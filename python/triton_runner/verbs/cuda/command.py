"""`triton-runner cuda` runs a program with this package's libcuda.so.1 in NVIDIA's place."""

from __future__ import annotations

import click

from triton_runner._programs.options import Output, ProgramOrFile, module_option, verbs
from triton_runner._settings import CHECKS, looks, named_checks


def _checks(context, parameter, text: str) -> str:
    words = named_checks(text, "ptx") if text else ""
    known = [name for name in CHECKS if looks(name, "ptx") and name != "hazard"]
    if unknown := [word for word in words.split(",") if word and word not in known]:
        raise click.BadParameter(f"{unknown[0]!r} is not a check of PTX; checks: {', '.join(known)}; or all")
    return words


@verbs.command("cuda", group="execute", place=7, cls=ProgramOrFile)
@click.option("--chip", default="h100", show_default=True, help="The GPU that the program sees: a100, h200.")
@click.option("--check", default="", callback=_checks, help="Checks of each launch: race, uninit, nan, ...")
@click.option(
    "--launches", is_flag=True, help="Print each launch with its arguments and its time, on stderr."
)
@click.option(
    "--capture",
    "folder",
    metavar="FOLDER",
    type=Output(is_folder=True),
    help="Write a case (*.trcase) of the first launch of each kernel and of the one that a fault stops.",
)
@click.option("--debug", is_flag=True, help="Debug the launch that a fault stops, or the first, at the end.")
@click.option("--kernel", default="", help="Capture or debug launches of this kernel only.")
@module_option
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cuda_command(chip, check, launches, folder, debug, kernel, is_module, program, arguments):
    """Run PROGRAM, which launches kernels by the CUDA driver API (numba-cuda, cuda-core, tinygrad,
    C++), without a GPU: its PTX and machine code run on the CPU, and every access to memory is checked.

    PROGRAM is a Python program, with -m a module, or any other program: a.out, or python x.py. Processes that
    it starts see the same device. Options come before PROGRAM. Exit status: that of the program.
    """
    from triton_runner._programs.cuda_device import Device
    from triton_runner.verbs.cuda import run

    if kernel and not (folder or debug):
        raise click.UsageError("--kernel says which launches --capture or --debug take: give one of these")
    words = (program, list(arguments), is_module)
    device = Device(chip, check, launches, kernel=kernel, verb="cuda")
    if folder or debug:
        return run.run_captured(words, device, folder or "", debug)
    return run.run_program(*words, device)
