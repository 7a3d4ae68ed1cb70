"""Takes apart a dump that MLIR_ENABLE_DUMP=1 printed: a file of MLIR_DUMP_PATH, or the stderr of a program.

Triton prints the module before each pass. What a pass made is therefore what stands before the next one of
the same kernel; after the last pass of a kernel nothing is printed."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from triton_runner._base.errors import fail
from triton_runner._base.paths import make_folder, write_file

# "Name (argument) ('builtin.module' operation)" to Triton 3.7, "Name: argument{options} (...)" since.
_HEADER = re.compile(
    r"// -----// IR Dump (?P<when>Before|After) (?P<name>[^\s:]+)(?P<failed> Failed)?:? \(?"
    r"(?P<argument>[\w.-]+)(?:\{(?P<options>[^}]*)\})?\)? "
    r"\('(?P<op>[\w.]+)' operation(?:: @(?P<symbol>[^\s)]+))?\).*"
)
# Any such line ends the IR before it: the pipeliner prints its own steps under headers of another form.
_BREAK = re.compile(r"^.*// -----// .*$", re.M)
_KERNEL = re.compile(r"(?:tt|llvm|func)\.func (?!private)[^@\n]*@([\w.$]+|\"[^\"]+\")")
# The last line of a module: its brace, or what follows it: aliases of locations.
_END = re.compile(r"^(?:\}.*|#\w+ = .*)$", re.M)


@dataclasses.dataclass
class Dumped:
    """One pass of a dump.

    number: from 1; op: what it ran on, "builtin.module" or a function; after: None where it was not printed;
    changed: None where it is not known.
    """

    number: int
    kernel: str
    name: str
    argument: str
    options: str
    op: str
    before: str
    after: str | None = None
    changed: bool | None = None
    failed: bool = False


def is_dump(text: str) -> bool:
    return _HEADER.search(text) is not None


def split(text: str, filename: str = "the dump") -> list[Dumped]:
    """The passes of a dump, in its order. Raises DiagnosticError where it holds none."""
    breaks = list(_BREAK.finditer(text))
    ends = [each.start() for each in breaks[1:]] + [len(text)]
    steps: list[Dumped] = []
    for line, end in zip(breaks, ends, strict=False):
        header = _HEADER.search(line[0])
        if header is None:
            continue
        body = _module(text[line.end() : end])
        kernel = (_KERNEL.search(body) or ["", header["symbol"] or ""])[1].strip('"')
        if header["when"] == "After":  # of a pass that failed, or of a person's own printing
            last = next((one for one in reversed(steps) if one.name == header["name"]), None)
            if last is not None:
                last.after, last.failed = body, header["failed"] is not None
                last.changed = last.after != last.before
            continue
        options = header["options"] or ""
        number = len(steps) + 1
        steps.append(Dumped(number, kernel, header["name"], header["argument"], options, header["op"], body))
    if not steps:
        raise fail(
            f"{filename} has no '// -----// IR Dump Before ...' line",
            "MLIR_ENABLE_DUMP=1 prints them to stderr, with MLIR_DUMP_PATH=FILE to a file",
        )
    for index, step in enumerate(steps):
        _find_after(step, steps[index + 1 :])
    return steps


def _find_after(dumped: Dumped, later: list[Dumped]) -> None:
    """Finds what stands before the next pass on the same op. With passes on functions between them it is not
    known whose changes it shows."""
    for distance, other in enumerate(later):
        if other.op != dumped.op:
            continue
        if dumped.after is None and other.kernel == dumped.kernel:
            dumped.after = other.before
            dumped.changed = dumped.before != dumped.after if distance == 0 else None
        return


def _module(text: str) -> str:
    """The IR of a section, without what a program wrote after it."""
    ends = list(_END.finditer(text))
    return text[: ends[-1].end()].strip("\n") + "\n" if ends else text.strip("\n") + "\n"


def save(dumped: list[Dumped], folder) -> list[str]:
    """Writes NN[-changed]-Pass.mlir, and NN-source.mlir before the first pass of a kernel; a folder each
    where there are several kernels."""
    folder = Path(folder)
    several = len({one.kernel for one in dumped}) > 1
    written = []
    for index, step in enumerate(dumped):
        place = folder / step.kernel if several else folder
        make_folder(place)
        if index == 0 or dumped[index - 1].kernel != step.kernel:
            written.append(place / f"{step.number - 1:02}-source.mlir")
            write_file(written[-1], step.before)
        if step.after is None:
            continue
        changed = "-changed" if step.changed else ""
        written.append(place / f"{step.number:02}{changed}-{step.name}.mlir")
        write_file(written[-1], step.after)
    return [str(path) for path in written]
