"""Dumps values of a kernel in a file, of a case, or of a program's kernels, and shows them as a table, a
file, a picture."""

from __future__ import annotations

import contextlib
import os

from triton_runner import _settings
from triton_runner._artifact import shell_arguments
from triton_runner._artifact.loading import load
from triton_runner._artifact.reading import SOURCE
from triton_runner._base import progress
from triton_runner._base.errors import KernelTrap, fail
from triton_runner._base.levels import ENDINGS, MLIR, level_of_name
from triton_runner._base.paths import no_level
from triton_runner._kernel.cases import case
from triton_runner._kernel.dumps.dumping import dumping
from triton_runner._kernel.dumps.records import Dump, describe
from triton_runner._programs.at_work import at_work
from triton_runner._programs.programs import Program
from triton_runner._settings import devices, messages

_SOURCES = (".py",)


def dump_file(file: str, selectors, grid, args, options: dict) -> tuple[list[Dump], KernelTrap | None]:
    """The dump of one launch of the kernel in an artifact, and the fault that stopped it."""
    if not level_of_name(file) and not file.endswith(SOURCE):
        raise no_level(file, ENDINGS)
    if grid is None:
        raise fail(f"dump {file}: --grid is missing", "as in --grid 4, or --grid 4,2,1")
    settings = _settings.current()
    device = devices.resolved_device()
    # On a GPU cuda-gdb reads the registers of the cubin, whatever the kernel is loaded from.
    level = options["level"] if device == "cpu" or options["level"] != "cubin" else ""
    kernel = load(
        file, options.pop("metadata", None), device, name=options.pop("kernel") or "",
        target=settings.target, level=level or settings.level,
    )  # fmt: skip
    values = [shell_arguments.parse_argument(text) for text in args]
    trap = None
    with dumping(kernel.name, *selectors, **options) as dump:
        try:
            kernel[shell_arguments.parse_grid(grid)](*values)
        except KernelTrap as error:
            trap = error
    return dump.launches, trap


def dump_case(file: str, selectors, options: dict) -> tuple[list[Dump], KernelTrap | None]:
    """The dump of the launch of a case, which has its grid and arguments, and the fault that stopped it."""
    options.pop("metadata", None)
    launch = case.open_case(file).subject
    device = devices.resolved_device()
    with dumping(options.pop("kernel") or launch.name, *selectors, **options) as dump:
        outcome = launch.run(options["level"] or launch.entry, record=dump.record, device=device)
    return dump.launches, outcome.trap


def dump_program(program: str, arguments, selectors, pretend_cuda: bool, options: dict):
    """The dumps of the launches of a Python program, and the status with which it ended."""
    kernel = options.pop("kernel")
    options.pop("metadata", None)
    level = options["level"] or _settings.current().level
    is_code = level not in ("", "python", *MLIR) or devices.resolved_device() != "cpu"
    if is_code:
        from triton_runner._jit.jit import configure_jit_backend  # it needs Triton

        configure_jit_backend()  # of what torch.compile launches our jit alone sees registers
    silent = messages.silent() if is_code else contextlib.nullcontext()  # the program asked for triton.jit
    with silent, dumping(kernel or None, *selectors, **options) as dump:
        with progress.lines("dump", look=at_work):
            status = Program(program, tuple(arguments), pretend_cuda=pretend_cuda).run()
    if status and not dump.launches:
        raise fail(f"{program} ended with status {status}, and no launch was recorded", ended=status)
    return dump.launches, status or 0


def is_program(file: str) -> bool:
    """Returns whether FILE is a Python program, and no artifact."""
    return os.path.splitext(file)[1] in _SOURCES


def choose(dumps: list[Dump], launch: int | None) -> Dump:
    """The dump of launch number `launch` (from 0; negative from the end), the last if None."""
    if not dumps:
        raise fail(
            "no launch was recorded",
            "does the program launch the kernel, outside of a dumping() of its own? --kernel takes its name",
        )
    if launch is None:
        return dumps[-1]
    if not -len(dumps) <= launch < len(dumps):
        raise fail(f"--launch {launch}: there were {len(dumps)} launches", "they count from 0")
    return dumps[launch]


def as_json(dump: Dump) -> dict:
    """Each value with what is known of it and its statistics."""
    return {
        "values": [{**describe(values), **values.stats()} for values in dump],
        "notes": dump.notes,
        "changes": dump.changes,
    }


def _shown(values, number) -> str:
    """A statistic: of pointers "x_ptr + 4096", or in hex where it is not known what they were made from."""
    if number is None:
        return "-"
    if values.origin:
        return f"{values.origin} {'-' if number < 0 else '+'} {abs(number):.10g}"
    return hex(int(number)) if values.type == "ptr" else f"{number:.6g}"


def print_table(dump: Dump) -> None:
    """One row a value: where it comes from, what it is, its records and their statistics."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("value", "variable", "op", "line", "type", "records"):
        table.add_column(column)
    for column in ("min", "max", "mean", "nan", "inf"):
        table.add_column(column, justify="right")
    for values in dump:
        stats = values.stats()
        number = [_shown(values, stats[k]) for k in ("min", "max", "mean")]
        line = f"{os.path.basename(values.file)}:{values.line}" if values.file else ""
        kind = "x".join(map(str, (*values.shape, values.type)))
        bad = [f"[red]{stats[k]}[/red]" if stats[k] else "0" for k in ("nan", "inf")]
        table.add_row(values.name, values.variable, values.op, line, kind, str(len(values)), *number, *bad)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    console.print(table)
    for note in [*dump.notes, *dump.changes]:
        console.print(f"note: {note}", markup=False)
    first = dump.first_nan()
    if first is not None:
        console.print(f"first NaN: {first}", markup=False)
