"""The command line: triton-runner run, exec, dump, resources, ops, doctor, cache, dev, compile, versions,
passes, opt, bisect, export, bench, verify, bundle, lockstep, reduce,
assemble, map, report, profile, tune, completion.

Exit status: 0, 1 when what ran failed, 2 for bad usage or bad input, 130 when it was interrupted.
"""

from __future__ import annotations

import dataclasses
import errno
import importlib.util
import os
import re

import click

from triton_runner import _settings
from triton_runner._base import interrupts
from triton_runner._base.drawing import check_picture
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail, with_source
from triton_runner._base.levels import EXECUTED
from triton_runner._cli import (  # noqa: F401 (the modules of verbs register these)
    assemble_command,
    bisect_command,
    bits_command,
    case_commands,
    compare_command,
    compile_command,
    completion_command,
    configs_command,
    debug_command,
    dev_command,
    doctor_command,
    experiments_command,
    export_command,
    help,
    layout_command,
    ledger_command,
    map_command,
    passes_command,
    profile_command,
    reduce_command,
    report_command,
    tune_command,
    verify_command,
)
from triton_runner._programs import watched
from triton_runner._programs.options import (
    ProgramOrFile,
    check_program,
    check_settings,
    json_option,
    module_option,
    pretend_option,
    print_json,
    print_result,
    prints_aside,
    verbs,
    with_options,
)
from triton_runner._settings import messages
from triton_runner.bench import command as bench_command  # noqa: F401 (as those)

_LOOK = "triton_runner.look"  # of a command's context: the note on how to look at a trap


class _Group(help.Group):
    """Bad input is a message and status 2, a kernel's fault a message and status 1; else a verb's function
    gives the status, or None for 0."""

    def invoke(self, context):
        messages.without_fusion_notice()
        with interrupts.watching():
            self._invoke(context)

    def _invoke(self, context):
        try:
            status = super().invoke(context)
        except DiagnosticError as error:
            click.echo(str(error), err=True)
            context.exit(2)
        except KernelTrap as error:
            click.echo(with_source(error, *context.meta.get(_LOOK, [])), err=True)
            context.exit(1)
        except (ImportError, AttributeError) as error:
            if (reason := _missing(error)) is None:
                raise
            click.echo(str(fail(*reason)), err=True)
            context.exit(2)
        except OSError as error:
            if error.errno == errno.EPIPE:  # who read has gone, which click knows to be quiet about
                raise
            place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            click.echo(f"error: {place}{error.strerror or error}", err=True)
            context.exit(2)
        except KeyboardInterrupt:
            interrupts.leave()
            context.exit(interrupts.STATUS)
        context.exit(int(status or 0))


def _missing(error: ImportError | AttributeError) -> tuple[str, str] | None:
    """What to say of an error that a Triton or torch that is not here, or an unknown one, gives."""
    from triton_runner._base.releases import unusable

    package = (getattr(error, "name", None) or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if package == "torch":
        return "this needs PyTorch, which is not installed", "pip install torch"
    if package == "triton" or importlib.util.find_spec("triton") is not None:
        return unusable(f"{type(error).__name__}: {error}")
    return None


@click.group(cls=_Group, commands=verbs.commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="triton-runner", prog_name="triton-runner")
def main():
    """Run Triton kernels from any level of their compilation, on the CPU or a GPU."""


def _settings_option(field: dataclasses.Field):
    row = field.metadata["row"]
    kind = click.Choice(row.words) if row.words else type(field.default) if row.lowest is not None else None
    return click.option(f"--{field.name}", type=kind, help=row.says)


_SETTINGS_OPTIONS = [
    _settings_option(field)
    for field in dataclasses.fields(_settings.Settings)
    if field.metadata["row"].option
]


def _settings_options(command):
    return with_options(_SETTINGS_OPTIONS, command)


program_option = click.option("--program", "only", help="Run only this program of each launch: 7, or 7,2,0.")


class Size(click.ParamType):
    """Bytes: 4096, 512M, 8G."""

    name = "size"

    def convert(self, value, param, context):
        found = re.fullmatch(r"(\d+)([KMGT]?)i?B?", str(value), re.IGNORECASE)
        if not found:
            self.fail(f"{value!r} is not a size, as in: 512M, 8G", param, context)
        return int(found[1]) << 10 * " KMGT".index(found[2].upper() or " ")


def _apply_settings(**given) -> None:
    """Through the environment, so that processes which the program starts have them too."""
    for name, value in given.items():
        if value is not None:
            os.environ[f"TRITON_RUNNER_{name.upper()}"] = str(value)
    _settings.current()
    check_settings(given.get("level") or "")


def _fault_status() -> int:
    """Shows what launches noted and went on after; 1 if there was anything."""
    from triton_runner._memory import fault_log, uninit

    summary = fault_log.summary()
    if summary:
        click.echo(summary, err=True)
    left = uninit.finish()
    for it in left:
        click.echo(f"[triton-runner] {'uninit' if it.used else 'warning'}: {it}", err=True)
    return int(bool(summary) or any(it.used for it in left))


@main.command(
    cls=ProgramOrFile,
)
@_settings_options
@pretend_option
@click.option(
    "--quick",
    is_flag=True,
    help="Benchmarks and autotuning run the first programs of their launches, once, at the smallest size.",
)
@click.option(
    "--ghost", type=Size(), help="With --pretend-cuda: tensors of at least this size, as 8G, take no memory."
)
@program_option
@module_option
@click.option("--traceback", is_flag=True, help="Show a fault with all calls that led to it, as python does.")
@click.option("--triton", "release", help="Of a case: compile its Python with this release: 3.4.0.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(pretend_cuda, quick, ghost, is_module, traceback, release, only, program, arguments, **settings):
    """Run a Python program whose kernels are plain @triton.jit, or a case (*.trcase)."""
    from triton_runner._compiler import failures
    from triton_runner._pipeline import stages
    from triton_runner._pretend import running

    if ghost and not pretend_cuda:
        raise click.UsageError("--ghost is for programs that say cuda: it needs --pretend-cuda")
    _apply_settings(**settings, quick=1 if quick else None, program=only, ghost=ghost)
    options = {"--pretend-cuda": pretend_cuda, "-m": is_module}
    words = [*(name for name, said in options.items() if said), program, *arguments]
    look = debug_command.look(words, settings, quick, ghost, only, release)
    if program.endswith(".trcase"):
        return case_commands.run_case(program, release, settings["level"], look)
    if release:
        raise click.UsageError("--triton is of a case; bisect and compile run programs with other releases")
    check_program(program, is_module)
    notes = stages.Notes()
    if (end := watched.forked()) is not None:
        return _ended(end, notes)
    with notes.taken(), interrupts.watching():
        interrupts.gently()
        status = running.run_program(
            program, list(arguments), is_module, pretend_cuda, traceback, look, explained=failures.explained
        )
    return _fault_status() or status


def _ended(end: watched.End, notes) -> int:
    """The status of `run` where its program has ended, in a process of its own. A compiler that ended that
    process is an answer."""
    from triton_runner._compiler import failures
    from triton_runner._pretend import running

    error = notes.failure(end.signal) if end.signal in running.CRASHES else None
    if error is None:
        return watched.die_of(end)
    first, *rest = failures.explained(error)
    click.echo("\n".join([f"error: {first}", *rest]), err=True)
    return 1


@main.command("exec")
@click.argument("file", type=click.Path())
@click.option("--grid", required=True, help="Programs: 4, or 4,2,1.")
@click.option(
    "--arg",
    "args",
    multiple=True,
    help="One a parameter, in order: 1024, i64=7, 0.5, null, f32[64,64]=rand, x.npy, x.npz:key",
)
@click.option("--save", multiple=True, help="INDEX=FILE: write the argument's array after the launch.")
@click.option("--kernel", "name", default="", help="Which kernel, where the file has several.")
@click.option("--metadata", help="The metadata JSON, where it is not beside the file.")
@click.option("--block", help="Threads of a block of PTX that has no .reqntid: 128, or 16,8.")
@click.option("--cluster", help="Blocks of a cluster, where the PTX does not say it: 2.")
@click.option("--shared", type=int, help="Dynamic shared memory of a PTX block in bytes.")
@program_option
@_settings_options
@json_option
def execute(file, grid, args, save, name, metadata, block, cluster, shared, only, as_json, **settings):
    """Run the kernel of FILE (*.ptx, *.ttir, *.ttgir, *.glir; with an nvdisasm *.cubin, *.fatbin or *.so;
    with Triton installed also *.llir).

    An array argument is TYPE[SHAPE]=INIT with INIT one of zeros, ones, iota, iota:START, rand, rand:SEED or
    a number, or a file: x.npy, x.npz:key, x.safetensors:key. A number may have a type: i32=5, bf16=0.5.
    Prints the arrays that the kernel changed.
    """
    from triton_runner._artifact import shell_arguments

    _apply_settings(**settings, program=only)
    words = [*(["--kernel", name] if name else []), "--grid", grid, file, *args]
    look = debug_command.look(words, settings, as_json, only, metadata, block, cluster, shared)
    click.get_current_context().meta[_LOOK] = look
    with prints_aside(as_json):
        result = shell_arguments.execute(file, grid, args, save, name, metadata, block, cluster, shared)
    status = _fault_status()
    if as_json:
        print_json(result)
        return status
    click.echo(
        f"{result['kernel']} ({result['level']}) on {result['device']}, grid {result['grid']}: "
        f"{result['milliseconds']:.3f} ms"
    )
    for array in result["changed"]:
        click.echo(f"{array['name']} {array['type']}{array['shape']}: {array['text']}")
    return status


@main.command(cls=ProgramOrFile)
@click.option(
    "--value",
    "-v",
    "selectors",
    multiple=True,
    default=("*",),
    show_default="*, everything",
    help='What to record: "%54", "acc", "tt.dot", "kernel.py:42", a register "%r7", or "*".',
)
@click.option("--kernel", default="", help="Which kernel; else all that are launched.")
@click.option("--grid", help="Of a file: programs, 4 or 4,2,1.")
@click.option("--arg", "args", multiple=True, help="Of a file: one a parameter, as for exec.")
@click.option("--metadata", help="Of a file: the metadata JSON, where it is not beside it.")
@click.option("--every-iteration", is_flag=True, help="Of values in loops every iteration, not the last.")
@click.option("--program", "asked", multiple=True, help="Only this program: 3, or 0,1; -1 is any.")
@click.option("--max-bytes", type=int, help="At most so many bytes of records (1 GiB).")
@click.option("--launch", type=int, help="Of a program: which launch is shown, from 0; the last if left out.")
@click.option("--save", help="Write all records to a .npz or .safetensors file.")
@click.option("--png", help="Write a heat map of the first value's last record.")
@pretend_option
@_settings_options
@json_option
@click.argument("file", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def dump(
    file,
    arguments,
    selectors,
    kernel,
    grid,
    args,
    metadata,
    every_iteration,
    asked,
    max_bytes,
    launch,
    save,
    png,
    pretend_cuda,
    as_json,
    **settings,
):
    """Record values of the kernel in FILE (*.ttir, *.ttgir, *.ptx), or of the kernels that a Python program
    launches, and print a table of them.

    Options come before FILE; what follows it are the program's own arguments.
    """  # fmt: skip
    level = settings.pop("level") or ""
    _apply_settings(**settings)
    from triton_runner._artifact import shell_arguments
    from triton_runner._cli import dump_command

    options = {
        "kernel": kernel, "metadata": metadata, "every_iteration": every_iteration, "level": level or None,
        "programs": [shell_arguments.parse_grid(text, "--program") for text in asked] or None,
        "max_bytes": max_bytes,
    }  # fmt: skip
    if not os.path.isfile(file):
        raise click.UsageError(f"no such file: {file}")
    if png:
        check_picture(png)
    stopped = None
    if dump_command.is_program(file):
        with prints_aside(as_json):
            dumps, stopped = dump_command.dump_program(file, arguments, selectors, pretend_cuda, options)
    elif arguments:
        raise click.UsageError(f"{arguments[0]}: dump takes one file, and {file} is it")
    else:
        dumps, stopped = dump_command.dump_file(file, selectors, grid, args, options)
    if stopped and not dumps:
        raise stopped
    chosen = dump_command.choose(dumps, launch)
    if save:
        chosen.save(save)
    if png and len(chosen):
        chosen.values[0].heat_map(png)
    if as_json:
        print_json({**dump_command.as_json(chosen), "stopped": str(stopped) if stopped else None})
    else:
        dump_command.print_table(chosen)
    if isinstance(stopped, KernelTrap):  # what it computed until then stands above
        raise stopped
    return stopped


@main.command()
@click.option("--dialect", help="Only ops of this dialect: tt, arith, math, scf, cf, ttg, ttng, nvws, amdg.")
@click.option("--release", help="Only ops that this Triton release has: 3.2.")
@click.option("--unsupported", is_flag=True, help="Only ops that are parsed but not executed.")
@click.option(
    "--level",
    type=click.Choice(EXECUTED),
    default="ttgir",
    help="ptx: the opcodes of PTX in place of the ops of TTIR and TTGIR.",
)
@click.argument("names", nargs=-1)
@json_option
def ops(dialect, release, unsupported, level, names, as_json):
    """List the ops of Triton's IR: what runs each, the releases that have it, the case that tests it. With
    --level ptx, the opcodes of PTX: whether each is executed, its section of the PTX ISA, its modifiers.

    NAMES: only ops whose name, now or in an older release, contains one of these; or the ops of a file:
    *.ttir, *.ttgir, *.ptx, or a case (*.trcase).
    """
    from triton_runner._cli import op_listing

    level = "ptx" if any(name.endswith(".ptx") for name in names) else level
    if level == "ptx":
        if dialect or release:
            raise click.UsageError("--dialect and --release are of Triton's IR, not of PTX")
        rows = op_listing.ptx_listing(unsupported, names)
    else:
        rows = op_listing.listing(dialect, release, unsupported, names)
    if names and not rows and not any(map(op_listing.is_file, names)):
        raise click.UsageError(f"no op that is asked for has {' or '.join(map(repr, names))} in its name")
    lines = op_listing.ptx_lines if level == "ptx" else op_listing.lines
    print_result(rows, as_json, lambda rows: "\n".join(lines(rows)))


@main.command()
@click.option("--kernel", "name", default="", help="Which kernel, where a file has several.")
@click.option("--metadata", help="The metadata JSON, where it is not beside the file.")
@json_option
@click.argument("files", nargs=-1, required=True, type=click.Path())
def resources(files, name, metadata, as_json):
    """Say what kernels need of the GPU: registers, spills, memory, instructions, occupancy.

    FILES are binaries (*.cubin, *.hsaco), AMD assembly, or IR and PTX, which Triton compiles first.
    """
    from triton_runner._compiler.resources import resources as read

    resources = [read(file, metadata, name=name) for file in files]
    rows = [one.as_dict() for one in resources]
    print_result(rows, as_json, lambda _: "\n".join(map(str, resources)))


if __name__ == "__main__":
    main()
