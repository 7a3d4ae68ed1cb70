"""What a session runs: a program, a case, a kernel in a file, or a function that launches."""

from __future__ import annotations

import os

from triton_runner import _settings
from triton_runner._artifact import shell_arguments
from triton_runner._artifact.loading import load
from triton_runner._base.errors import KernelTrap, fail
from triton_runner._base.levels import level_of_name
from triton_runner._case.case import is_case, open_case
from triton_runner._pretend import running

LEVELS = ("ttir", "ttgir", "ptx", "cubin")


class Target:
    """Something that launches: run() does, and returns an exit status. level: what it launches at, where that
    is not the settings' choice."""

    level = ""

    def __init__(self, name: str, run):
        self.name, self.run = name, run


def of(what, arguments=(), *, grid=None, kernel: str = "", is_module=False, pretend_cuda=False) -> Target:
    """The target that a person names. what: a function without arguments, or the path of a program, of a case
    (*.trcase), or of a kernel (x.ttir, x.ptx, ...), whose arguments are texts as for exec."""
    if callable(what):
        return Target(getattr(what, "__name__", "the function"), lambda: (what(), 0)[1])
    what = os.fspath(what)
    if is_case(what):
        case = open_case(what)
        return Target(what, lambda: _run_case(case))
    if not is_module and level_of_name(what):
        return _of_artifact(what, arguments, grid, kernel)
    if not is_module and not os.path.isfile(what):
        raise fail(f"no such file: {what}")
    return Target(what, lambda: running.run_program(what, list(arguments), is_module, pretend_cuda))


def _run_case(case) -> int:
    level = _settings.current().level or case.level
    if level not in case.subject.levels:
        raise fail(f"{case.path} has no level {level}", f"its levels: {', '.join(case.subject.levels)}")
    kernel = case.subject.kernel(level)
    with case.subject.arguments.kept():
        kernel.launch(case.grid, case.subject.arguments.named)
    return 0


def _of_artifact(file: str, arguments, grid, name: str) -> Target:
    if grid is None:
        raise fail(f"debug {file}: --grid is missing", "as in --grid 4, or --grid 4,2,1")
    values = [shell_arguments.parse_argument(text) for text in arguments]
    axes = shell_arguments.parse_grid(grid)

    def run() -> int:
        settings = _settings.current()
        load(file, None, "cpu", name=name, target=settings.target, level=settings.level)[axes](*values)
        return 0

    return Target(file, run)


def ended(error: BaseException) -> str:
    """A line that says what a program raised."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip(" ^")] or [""]
    # Of an error in a kernel's source the first line is its place, and the last what is wrong.
    first = " ".join([lines[0], lines[-1]] if lines[0].endswith(":") else lines[:1])
    return first if isinstance(error, KernelTrap) else f"{type(error).__name__}: {first}"
