"""`triton-runner passes` shows the passes of a compilation, of a dump that was printed, and the time they
take."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from triton_runner._programs.options import Output, json_option, pairs, print_json, print_result, verbs
from triton_runner._programs.programs import argument_options, kernel_options, release_option
from triton_runner.verbs.passes import dump as passes_dump


@verbs.command("passes", group="compile", place=2)
@click.argument("kernel")
@kernel_options
@release_option
@click.option("--to", help="The last level: ttir, ttgir, llir, ptx, cubin (amdgcn, hsaco).")
@click.option("--start", metavar="PASS", help="Start at this pass: KERNEL is an IR, its input.")
@click.option("--until", metavar="PASS", help="End after this pass.")
@click.option("--without", "skip", multiple=True, metavar="PASS", help="Leave a pass out.")
@click.option(
    "--replace", multiple=True, metavar="PASS=FILE", help="Put an IR in the place of what a pass made."
)
@click.option(
    "--save",
    metavar="DIR",
    type=Output(is_folder=True),
    help="Write NN[-changed]-Pass.mlir, the IR after each pass.",
)
@click.option("--print", "printed", metavar="PASS", help="Print the IR after a pass.")
@click.option("--llvm", is_flag=True, help="List the passes inside LLVM too, numbered L1, L2, ...")
@click.option("--changed", is_flag=True, help="List only passes that changed something.")
@click.option(
    "--time", "timed", is_flag=True,
    help="Show what takes the time, down to LLVM's passes and ptxas; with --arg and --grid also the launch.",
)  # fmt: skip
@argument_options
@json_option
def passes_command(
    kernel, how, release, to, start, until, skip, replace, save, printed, llvm, changed, timed, args, grid,
    as_json,
):  # fmt: skip
    """List the compiler passes that run for KERNEL, with what each changed.

    KERNEL is kernel.py:name or an IR file as for compile; or a dump that MLIR_ENABLE_DUMP=1 printed (- is
    stdin), split into its passes. A PASS is a number of the list, add_coalesce, tritongpu-coalesce or
    TritonGPUCoalesce; canonicalizer#2 is the second of its name. Exit status 1: the traced compilation
    differs from the plain one.
    """
    from triton_runner._artifact.shell_arguments import parse_argument
    from triton_runner._kernel.compiling import passes
    from triton_runner.verbs.passes.times import times

    if (args or grid) and not (timed and grid):
        raise click.UsageError("--arg and --grid say which launch --time times: give all three")
    if timed:
        _check_whole(kernel, start, until, skip, replace, save, printed, llvm, changed)
        launch = {"args": [parse_argument(text) for text in args], "grid": grid}
        print_result(times(kernel, **how, triton=release, to=to, **launch), as_json, _show_times)
        return
    if (text := _dump_of(kernel)) is not None:
        _show_dump(passes_dump.split(text, kernel), save, printed, changed, as_json)
        return
    trace = passes.passes(
        kernel, **how, triton=release, to=to, llvm=llvm, start=start, stop=until, skip=skip,
        replace=pairs(replace, "--replace", "PASS=FILE") or None,
    )  # fmt: skip
    files = trace.save(save) if save else []
    status = trace.identical is False
    if as_json:
        print_json(_as_dict(trace, files))
        return status
    if printed:
        click.echo(_found(trace, printed).after or "", nl=False)
        return status
    for step in trace:
        if changed and not step.changed:
            continue
        click.echo(
            _row(
                step.number, step.stage, step.name, step.ran, step.changed, step.seconds, step.ops, step.bytes
            )
        )
    for step in trace.llvm:
        if step.changed or not changed:
            click.echo(_row(step.number, step.stage, step.name, True, step.changed, None, None, step.bytes))
    click.echo(repr(trace)[1:-1])
    if trace.plain_seconds:
        click.echo(f"{trace.seconds:.2f} s, {trace.plain_seconds:.2f} s without the trace")
    for note in trace.notes:
        click.echo(note)
    for level in trace.differences:
        binary = isinstance(trace.asm.get(level), bytes)
        why = ", from the same text: the assembler's doing" if binary and trace.identical else ""
        click.echo(f"{level} differs from what the plain compilation gives{why}", err=True)
    if files:
        click.echo(f"{save}: {len(files)} files")
    return status


def _check_whole(kernel, start, until, skip, replace, save, printed, llvm, changed) -> None:
    """Refuses what --time does not go with: it times a whole compilation and keeps no IR."""
    given = {
        "--start": start, "--until": until, "--without": skip, "--replace": replace, "--save": save,
        "--print": printed, "--llvm": llvm, "--changed": changed,
    }  # fmt: skip
    if names := [name for name, value in given.items() if value]:
        raise click.UsageError(
            f"--time times the whole compilation and keeps no IR: leave out {', '.join(names)}"
        )
    if kernel == "-" or _dump_of(kernel) is not None:
        raise click.UsageError("a dump has no times: --time takes kernel.py:name or an IR file")


def _found(trace, name: str):
    """The pass of a name or number, inside LLVM or not."""
    inside = (step for step in trace.llvm if name in (step.number, step.name, step.argument))
    return next(inside, None) or trace.find(name)


def _row(number, stage, name, ran, changed, seconds, ops, size) -> str:
    mark = "left out" if not ran else {True: "changed", False: "", None: "?"}[changed]
    time = f"{seconds * 1e3:8.2f} ms" if seconds is not None else " " * 11
    counts = f"{ops if ops is not None else '':>6} {size if size is not None else '':>8}"
    return f"{number:>3} {stage:<12} {name:<42} {mark:<8} {time} {counts}"


def _as_dict(trace, files) -> dict:
    fields = (
        "number", "stage", "level", "name", "argument", "add", "arguments", "pipeline", "ran", "changed",
        "seconds", "ops", "bytes",
    )  # fmt: skip
    of_llvm = ("number", "stage", "name", "argument", "changed", "bytes")
    return {
        "kernel": trace.name, "target": trace.target, "release": trace.release, "identical": trace.identical,
        "differences": trace.differences, "seconds": trace.seconds, "plain_seconds": trace.plain_seconds,
        "levels": list(trace.asm), "files": files,
        "passes": [{name: getattr(step, name) for name in fields} for step in trace],
        "llvm": [{name: getattr(step, name) for name in of_llvm} for step in trace.llvm],
    }  # fmt: skip


def _dump_of(path: str) -> str | None:
    """The text of a file that is a dump of passes; None if it is not such a dump."""
    if path == "-":
        return sys.stdin.read()
    if not os.path.isfile(path) or path.endswith((".py", ".ttir", ".ttgir", ".glir")):
        return None
    text = Path(path).read_text(errors="replace")
    return text if passes_dump.is_dump(text) else None


def _show_dump(dumped, save, printed, changed, as_json) -> None:
    files = passes_dump.save(dumped, save) if save else []
    if as_json:
        fields = ("number", "kernel", "name", "argument", "options", "changed", "failed")
        print_json({"passes": [{n: getattr(one, n) for n in fields} for one in dumped], "files": files})
        return
    if printed:
        selected = [one for one in dumped if printed in (str(one.number), one.name, one.argument)]
        if not selected:
            raise click.UsageError(f"the dump has no pass {printed}")
        click.echo(selected[0].after if selected[0].after is not None else selected[0].before, nl=False)
        return
    for step in dumped:
        if not changed or step.changed:
            size = len(step.after) if step.after is not None else None
            click.echo(_row(step.number, step.kernel, step.name, True, step.changed, None, None, size))
    if files:
        click.echo(f"{save}: {len(files)} files")


_LEAST = 0.01  # parts below this share of the whole are added up


def _show_times(times) -> None:
    click.echo(f"{'stage, and what it does':<62} {'runs':>4} {'seconds':>9}   share {'plain':>9}")
    for stage in times.stages:
        _time_row(0, stage.name, None, stage.seconds, stage.share, stage.plain_seconds)
        _time_rows(1, stage.groups, stage, times.seconds)
    for load in times.loads:
        _time_row(0, f"load at {load.level} on the CPU", None, load.seconds, load.seconds / times.seconds)
        if load.nvdisasm_seconds:
            seconds = load.nvdisasm_seconds
            _time_row(0, "nvdisasm, before that", None, seconds, seconds / times.seconds)
        if (seconds := load.launch_seconds) is not None:
            _time_row(0, f"launch at {load.level} on the CPU", None, seconds, seconds / times.seconds)
    click.echo(
        f"{times.kernel} for {times.target} by Triton {times.release}: {times.seconds:.3f} s; without timers "
        f"{times.plain_seconds:.3f} s; the timing itself took {times.own_seconds:.3f} s more"
    )
    if times.loads:
        ours = ", ".join(f"{load.share:.1%} at {load.level}" for load in times.loads)
        click.echo(f"this package's part of the time before the first result: {ours}")
    name, seconds = times.slowest
    click.echo(f"slowest: {name}: {seconds:.3f} s, {seconds / times.seconds:.1%}")
    for note in times.notes:
        click.echo(note)


def _time_rows(depth: int, rows, of, whole: float) -> None:
    """The rows of a stage or a group; the small ones together, and the rest that no row accounts for."""
    if not rows:
        return
    shown = [row for row in rows if row.share >= _LEAST]
    if len(rows) == len(shown) + 1:
        shown = rows
    for row in shown:
        _time_row(depth, row.name, getattr(row, "runs", None), row.seconds, row.share)
        _time_rows(depth + 1, getattr(row, "parts", ()), row, whole)
    small = [row.seconds for row in rows[len(shown) :]]
    if small:
        _time_row(depth, f"({len(small)} below {_LEAST:.0%} each)", None, sum(small), sum(small) / whole)
    rest = of.seconds - sum(row.seconds for row in rows)
    if rest >= _LEAST * whole:
        _time_row(depth, "(the rest)", None, rest, rest / whole)


def _time_row(depth: int, name: str, runs: int | None, seconds: float, share: float, plain=None) -> None:
    label = "  " * depth + name
    without = "" if plain is None else f" {plain:>9.4f}"
    click.echo(f"{label:<62} {runs or '':>4} {seconds:>9.4f} {share:>7.1%}{without}")
