"""Target is what a session debugs: a program, a case, a kernel in a file, or a function that launches."""

from __future__ import annotations

import os

from triton_runner import _settings
from triton_runner._artifact import shell_arguments
from triton_runner._artifact.loading import load
from triton_runner._base.errors import fail
from triton_runner._base.levels import HOLDERS, is_above, level_of_name, levels_of
from triton_runner._kernel.cases.case import is_case, open_case
from triton_runner._programs.programs import Program

LEVELS = ("ttir", "ttgir", "ptx", "cubin", "amdgcn")


class Target:
    """Something that launches: run() does, and returns an exit status. levels: those at which it can be
    debugged, first the one that is taken where nobody names one."""

    def __init__(self, name: str, run, levels=LEVELS):
        self.name, self.run, self.levels = name, run, tuple(levels)

    def level(self, named: str) -> str:
        """The level to debug at. named: what a person asked for, or ""."""
        if named and named not in LEVELS:
            raise fail(f"level {named!r} cannot be debugged", f"levels: {', '.join(LEVELS)}")
        if not self.levels:
            raise fail(f"{self.name} has no level that can be debugged", f"levels: {', '.join(LEVELS)}")
        if named and named not in self.levels:
            raise fail(f"{self.name} has no level {named}", f"its levels: {', '.join(self.levels)}")
        return named or self.levels[0]


def of(what, arguments=(), *, grid=None, kernel: str = "", is_module=False, pretend_cuda=False) -> Target:
    """The target that a person names. what: a function without arguments, or the path of a program, of a case
    (*.trcase), or of a kernel (x.ttir, x.ptx, ...), whose arguments are texts as for exec."""
    if callable(what):
        return Target(getattr(what, "__name__", "the function"), lambda: (what(), 0)[1])
    what = os.fspath(what)
    if is_case(what):
        case = open_case(what)
        there = {*case.subject.levels, *(["cubin"] if case.target.startswith("cuda") else [])}
        levels = sorted((x for x in LEVELS if x in there), key=lambda x: x != case.level)
        return Target(what, lambda: _run_case(case), levels)
    entry = level_of_name(what) or ("cubin" if what.endswith(tuple(f".{end}" for end in HOLDERS)) else "")
    if not is_module and entry:
        return _of_artifact(what, entry, arguments, grid, kernel)
    if not is_module and not os.path.isfile(what):
        raise fail(f"no such file: {what}")
    return Target(what, Program(what, tuple(arguments), is_module, pretend_cuda).run)


def _run_case(case) -> int:
    kernel = case.subject.kernel(_settings.current().level)
    with case.subject.arguments.kept():
        kernel.launch(case.grid, case.subject.arguments.named)
    return 0


def _of_artifact(file: str, entry: str, arguments, grid, name: str) -> Target:
    if grid is None:
        raise fail(f"debug {file}: --grid is missing", "as in --grid 4, or --grid 4,2,1")
    values = [shell_arguments.parse_argument(text) for text in arguments]
    axes = shell_arguments.parse_grid(grid)

    def run() -> int:
        settings = _settings.current()
        load(file, None, "cpu", name=name, target=settings.target, level=settings.level)[axes](*values)
        return 0

    return Target(file, run, _levels_from(entry))


def _levels_from(entry: str) -> list[str]:
    """The levels that a file of the level `entry` is compiled to, and its own; of an hsaco the one that it is
    decoded to."""
    if entry == "hsaco":
        return ["amdgcn"]
    targets = [levels_of(backend) for backend in ("cuda", "hip")]
    there = {level for of_target in targets if entry in of_target for level in of_target} or {*LEVELS}
    return [level for level in LEVELS if level in there and (level == entry or is_above(entry, level))]
