"""`triton-runner bisect` finds the release, level and pass that make a program wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re

import click

from triton_runner._base.paths import write_file
from triton_runner._base.progress import telling
from triton_runner._programs.ci import ci_options, of_bisection, write_ci
from triton_runner._programs.options import Output, ProgramOrFile, module_option, pretend_option, verbs
from triton_runner._programs.programs import constants
from triton_runner._worker import signatures

_STATUS = {"right": 0, "nondeterministic": 0, "unknown": 125}


_KERNEL = r"[^-].*\.py:[\w.]+"
_PROGRAM = rf"{_KERNEL}|[^-].*\.(py|trcase)"


class _Command(ProgramOrFile):
    """A command whose --json takes a file, but never takes the program for that file."""

    def parse_args(self, context, args):
        is_kernel = any(re.fullmatch(_KERNEL, arg) for arg in args)
        return super().parse_args(context, self._with_json(args, is_kernel))

    def _with_json(self, args: list[str], options_after: bool) -> list[str]:
        """The arguments with --json=- for a --json that no file follows."""
        options = [param for param in self.params if isinstance(param, click.Option) and not param.is_flag]
        valued = {name for option in options for name in option.opts}
        args, i = list(args), 0
        while i < len(args):
            if args[i] == "--json":
                file, *rest = args[i + 1 :] or [""]
                # The last word is the program (-m MODULE), unless that came before.
                is_file = not re.fullmatch(rf"{_PROGRAM}|-.+|", file) and (options_after or rest)
                args[i : i + 2] = [f"--json={file}"] if is_file else ["--json=-", *args[i + 1 : i + 2]]
            elif args[i] in valued:
                i += 1
            elif not args[i].startswith("-") and not options_after:
                break  # what follows is the program's
            i += 1
        return args


@verbs.command(
    "bisect",
    group="find",
    place=1,
    first=(4, "the release, level and pass that make a result wrong"),
    cls=_Command,
)
@click.option(
    "--versions", "wanted",
    help="Releases: 3.0.0..3.9.0 (the newest patch of each minor release, and both ends), all, or a list. "
    "Default: those that are installed.",
)  # fmt: skip
@click.option(
    "--levels",
    help="Levels to execute, of source,ttir,ttgir,ptx,cubin, for AMD source,ttir,ttgir,amdgcn; the lowest "
    "judges a release (default: all; cubin only with a GPU).",
)
@click.option("--target", "-t", default="cuda:90", show_default=True, help="The architecture to compile for.")
@pretend_option
@click.option(
    "--timeout", type=float, default=300.0, show_default=True,
    help="Largest number of seconds for one run, without the time in which it waits for a core.",
)  # fmt: skip
@click.option(
    "--json", "file", type=Output(takes_stdout=True), metavar="[FILE]",
    help="Print the verdict as JSON, or write it to FILE.",
)  # fmt: skip
@click.option(
    "--save", type=Output(is_folder=True), metavar="DIR",
    help="Write a folder that shows the fault again: sh DIR/run.sh.",
)  # fmt: skip
@ci_options
@module_option
@click.option(
    "--oracle",
    help="For a kernel: what counts as wrong: wrong (other values than the newest front end's TTIR "
        "gives), shared>N, "
    "regs>N, spills>N, instr:ldmatrix<N (PTX; HMMA, in capitals: machine code), slower or slower>1.2 (than "
    "the first release, estimated for --chip), or a program that is given the folder of the kernel's levels.",
)  # fmt: skip
@click.option("--chip", default="", help="For a kernel: the chip whose time --oracle slower estimates: h200.")
@click.option("--args", "values", help='For a kernel: "f32[64,64]=rand, f32[64,64], 64", as for exec.')
@click.option("--grid", default="1", show_default=True, help="For a kernel: the programs: 4, or 4,2,1.")
@click.option("--constexpr", "-c", "constexprs", multiple=True, help="For a kernel: NAME=VALUE.")
@click.option("--option", "-O", "options", multiple=True, help="For a kernel: num_warps=8, num_stages=3.")
@click.option(
    "--torch",
    "is_torch",
    is_flag=True,
    help="For a program with torch.compile: the stage, pass and kernel whose values are not eager's.",
)
@click.option("--torch-versions", help="--torch in these releases of torch: 2.13.0,2.14.1.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bisect_command(
    wanted, levels, target, pretend_cuda, timeout, file, save, is_module, oracle, chip, values, grid,
    constexprs, options, is_torch, torch_versions, program, arguments, **ci,
):  # fmt: skip
    """Find the release, the level and the compiler pass that make PROGRAM wrong, with no GPU.

    PROGRAM (or a case, *.trcase) is the oracle, as for `git bisect run`: it exits with 0 where it is right,
    125 where it cannot tell, another status where it is wrong. A failed assertion and a trap of the engine
    are wrong; after any other exception, a crash or a time-out it cannot tell. A compiler that fails on a
    kernel is at fault where another release compiles it. Or PROGRAM is a kernel, kernel.py:name, with
    --args and --oracle. With --torch, the stage of torch.compile, Inductor's pass, and the line, the node and
    the kernel whose values are not eager's. Exit status: 0 right or nondeterministic (no pass is at fault:
    the order of atomics decides), 1 a fault was found, or the result is undefined, 2 bad usage, 125 no
    verdict.
    """
    from triton_runner._artifact.shell_arguments import check_argument
    from triton_runner._base.typed import as_json
    from triton_runner._kernel.cases import case as cases
    from triton_runner.verbs.bisect import reproducer
    from triton_runner.verbs.bisect import run as api

    if is_torch or torch_versions:
        from triton_runner.verbs.bisect import torch_command

        others = {
            "--versions": wanted, "--save": save, "--oracle": oracle, "--args": values, "--chip": chip,
            "--constexpr": constexprs, "--option": options,
        }  # fmt: skip
        torch_command.check(program, [name for name, value in others.items() if value])
        subject = api.program_of(
            program, None, oracle=None, grid=grid, constexprs=None, options=None, arguments=arguments,
            is_module=is_module, pretend_cuda=pretend_cuda, target=target, timeout=timeout,
            levels=levels.split(",") if levels else None,
        )  # fmt: skip
        return torch_command.run(subject, torch_versions, file, ci)
    with contextlib.ExitStack() as held:
        named, case, folder = program, None, None
        if cases.is_case(program):
            case = cases.open_case(program)
            case.check_python("other releases would compile")
            folder = held.enter_context(case.extracted())
            program, target = str(folder / "repro.py"), case.target
        arguments_of_kernel = signatures.split_signature(values) if values else None
        for text in arguments_of_kernel or ():  # each release would refuse it in a process of its own
            check_argument(text)
        subject = api.program_of(
            program, arguments_of_kernel, oracle=oracle, grid=grid,
            constexprs=constants(constexprs, "--constexpr"), options=constants(options, "--option"),
            arguments=arguments, is_module=is_module, pretend_cuda=pretend_cuda, target=target,
            timeout=timeout, levels=levels.split(",") if levels else None, chip=chip,
        )  # fmt: skip
        with telling("bisect", bar=True) as report:
            result = api.found(subject, wanted, lambda text, done=(): report(text, *done))
            result = cases.named(result, folder, case.path) if case else result
            if save and result.faults:
                folder = reproducer.write(save, subject, result, named if case else "")
                result = dataclasses.replace(result, reproducer=folder)
    text = json.dumps(as_json(result), indent=2)
    if file == "-":
        click.echo(text)
    else:
        click.echo(result.page(named if case else subject.name))
        if file:
            write_file(file, text + "\n")
    status = _STATUS.get(result.verdict, 1)
    subject_name = named if case else subject.name
    write_ci(lambda version: of_bisection(result, subject_name, status, version), **ci, aside=file == "-")
    if save and not result.faults:
        click.echo(f"--save {save}: nothing is written, as no fault of the compiler was found", err=True)
    return status
