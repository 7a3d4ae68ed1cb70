"""`triton-runner run` runs a program (_pretend.running), or a case (case.py)."""

from __future__ import annotations

import os
import re

import click

from triton_runner import _settings
from triton_runner._base import interrupts, progress
from triton_runner._programs.at_work import at_work
from triton_runner._programs.look import look
from triton_runner._programs.options import (
    ProgramOrFile,
    check_program,
    module_option,
    pretend_option,
    verbs,
)
from triton_runner._programs.settings import apply_settings, fault_status, program_option, settings_options
from triton_runner._programs.watched import in_own_process
from triton_runner.verbs.run.case import opened, run_case


class Size(click.ParamType):
    """Bytes: 4096, 512M, 8G."""

    name = "size"

    def convert(self, value, param, context):
        found = re.fullmatch(r"(\d+)([KMGT]?)i?B?", str(value), re.IGNORECASE)
        if not found:
            self.fail(f"{value!r} is not a size, as in: 512M, 8G", param, context)
        return int(found[1]) << 10 * " KMGT".index(found[2].upper() or " ")


@verbs.command(
    "run",
    group="execute",
    place=1,
    first=(1, "a Python program, its kernels at any level, on the CPU or a GPU"),
    cls=ProgramOrFile,
)
@settings_options
@pretend_option
@click.option(
    "--quick",
    is_flag=True,
    help="Benchmarks and autotuning run the first programs of their launches, once, at the smallest size.",
)
@click.option(
    "--ghost", type=Size(), help="With --pretend-cuda: tensors of at least this size, as 8G, take no memory."
)
@click.option(
    "--driver",
    is_flag=True,
    help="Launch by Triton's own driver and launcher, on this package's libcuda.so.1.",
)
@program_option
@module_option
@click.option("--traceback", is_flag=True, help="Show a fault with all calls that led to it, as python does.")
@click.option("--triton", "release", help="For a case: compile its Python with this release: 3.4.0.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@in_own_process
def run(
    pretend_cuda, quick, ghost, driver, is_module, traceback, release, only, program, arguments, **settings
):  # fmt: skip
    """Run a Python program whose kernels are plain @triton.jit, or a case (*.trcase)."""
    from triton_runner._kernel.compiling import failures
    from triton_runner._pretend import running

    if ghost and not pretend_cuda:
        raise click.UsageError("--ghost is for programs that say cuda: it needs --pretend-cuda")
    case = opened(program) if program.endswith(".trcase") else None
    if driver:
        if case:
            raise click.UsageError("--driver is for programs: a case runs without it")
        if settings["level"] or settings["device"] not in (None, "auto", "cpu"):
            raise click.UsageError("--driver runs machine code on the CPU: leave --level and --device out")
        from triton_runner._programs import cuda_device

        target = settings["target"] or _settings.DEFAULT_TARGET
        os.environ.update(cuda_device.own_driver_environment(target, settings["check"] or ""))
        settings = {**settings, "device": "cpu"}
    target = settings["target"] or (case and case.target)
    apply_settings(**settings | {"target": target}, quick=1 if quick else None, program=only, ghost=ghost)
    options = {"--pretend-cuda": pretend_cuda, "-m": is_module}
    words = [*(name for name, said in options.items() if said), program, *arguments]
    looks = look(words, settings, quick, ghost, only, release)
    if case is not None:
        return run_case(case, release, settings["level"], looks)
    if release:
        raise click.UsageError("--triton is for a case; bisect and compile run programs with other releases")
    check_program(program, is_module)
    interrupts.gently()
    with progress.lines("run", look=at_work):
        status = running.run_program(
            program, list(arguments), is_module, pretend_cuda, traceback, looks, explained=failures.explained
        )
    return fault_status() or status
