"""Defines the two exceptions of the package, bad input and a fault of the kernel itself; and its warnings."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import sysconfig
import warnings

from triton_runner._base import generated

_INSTALLED = {
    "site-packages",
    "dist-packages",
}  # folders that installers make, of this environment and others
_LIBRARIES = ("torch", "numpy")  # they may have been installed into any folder (pip install --target)


class DiagnosticError(ValueError):
    """Bad input: the message says what is wrong, where, and what to do next.

    - `message`, `notes`: the sentences without the position.
    - `file`, `line`, `column`: the position; empty and 0 where it is not known.
    - `diagnostics`: all errors if there are several: a dict with these fields for each.
    """

    __module__ = "triton_runner"  # the name that programs catch, and tracebacks print
    status = 2  # of a command that ends with it

    def __init__(
        self,
        text: str,
        *,
        message: str = "",
        file: str = "",
        line: int = 0,
        column: int = 0,
        notes=(),
        diagnostics=(),
    ):
        super().__init__(text.rstrip("\n"))
        self.message = message or text
        self.file = file
        self.line = line
        self.column = column
        self.notes = list(notes)
        # All that was found, where several things were: a dict with the fields above for each.
        self.diagnostics = list(diagnostics) or [
            {"message": self.message, "file": file, "line": line, "column": column, "notes": self.notes}
        ]

    @property
    def sentence(self) -> str:
        """The message and its notes in a line."""
        return "; ".join([self.message, *map(str, self.notes)])


class ProgramFailed(DiagnosticError):
    """The program that a command ran has failed before there was anything to show."""

    status = 1


class MissingName(DiagnosticError, AttributeError):
    """A name that a module looks up elsewhere, and cannot. hasattr(), and pickle, which asks every module for
    a name, take it for an AttributeError."""

    @classmethod
    def of(cls, error: DiagnosticError) -> MissingName:
        """The same error as one of a name."""
        return cls(str(error), message=error.message, notes=error.notes)


# A KernelTrap is given these by name, by default.
_OF_TRAPS = {
    **dict.fromkeys(
        (
            "kind",
            "kernel",
            "op",
            "message",
            "file",
            "nearest",
            "argument",
            "place",
            "warning",
            "race",
            "instruction",
            "advice",
        ),
        "",
    ),
    **dict.fromkeys(("line", "column", "address", "artifact_line", "ptx_line"), 0),
    **dict.fromkeys(("element", "iterations", "thread"), ()),
    "program": (-1, -1, -1),
    "notes": [],
}


class KernelTrap(RuntimeError):
    """A fault of a running kernel.

    - `kind`: what happened, such as "out of bounds"; `kernel` and `op`: where.
    - `location`, `file`, `line`, `column`: the position in the Python source, or in the artifact's text.
    - `program`, `element`, `iterations`: the program, the index in the tile, and the iterations of the loops
      around the op.
    - `thread`: at PTX and in machine code, the thread of the program's block (x, y, z); else ().
    - `address`, `nearest`: the address of a faulting access, and the nearest tensor.
    - `argument`, `place`: the argument that the address is derived from, and the distance in elements: "x_ptr
      + 4096".
    - `race`: of a data race, which kind: "global" or "shared" memory, "in flight" (a copy, a product),
      "copies" (of a value, which differ), "fence" (of the async proxy), "order" (of a warp's groups).
    - `instruction`, `artifact_line`, `ptx_line`: at PTX and in machine code; "" and 0 where unknown.
    - `notes`: more positions, such as the other access of a race.
    - `advice`: a clause that says what to do; "" where no check reports the fault. Tracebacks show it.
    - `warning`: "" for a fault. Otherwise it names what keeps the results right on a GPU, "ptxas" or
      "hardware", or what alone is at fault, "assembler". The launch has run to its end.
    """

    __module__ = "triton_runner"

    def __init__(self, text: str, **fields):
        made = generated.origin() if generated.is_generated(fields.get("file", "")) else None
        super().__init__(f"{text}\n  note: {made}" if made else text)
        for name, default in _OF_TRAPS.items():
            setattr(self, name, type(default)(fields.pop(name, default)))
        if fields:
            raise TypeError(f"a KernelTrap has no {', '.join(fields)}")
        self.notes += [str(made)] if made else []
        self.location = f"{self.file}:{self.line}:{self.column}" if self.file else ""
        if self.advice:
            self.__notes__ = [f"advice: {self.advice}"]  # tracebacks and pytest show it (Python 3.11 on)


def with_source(error: DiagnosticError | KernelTrap, *notes: str) -> str:
    """Returns the text of an error that a person is shown, with more notes: for a trap the line of the
    source, with a caret, as errors in a text have it."""
    first, *rest = str(error).split("\n")
    shown = [first]
    if isinstance(error, KernelTrap) and error.file:
        shown = [f"{error.location}: error: {first.replace(f' at {error.location}', '', 1)}"]
        shown += source_line(error.file, error.line, error.column)
    if isinstance(error, KernelTrap) and error.advice:
        rest.append(f"  advice: {error.advice}")
    indent = "  " if isinstance(error, KernelTrap) else ""
    return "\n".join([*shown, *rest, *(f"{indent}note: {note}" for note in notes)])


def in_a_line(error: BaseException) -> str:
    """Returns a line that says what was raised: "ValueError: the reason"; a trap's own line names itself."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip(" ^")] or [""]
    # The first line of an error in a kernel's source is its place, and the last says what is wrong.
    first = " ".join([lines[0], lines[-1]] if lines[0].endswith(":") else lines[:1])
    return first if isinstance(error, KernelTrap) else f"{type(error).__name__}: {first}"


def source_line(file: str, line: int, column: int) -> list[str]:
    """The line of a source, and a caret below its column; nothing where there is no such line."""
    text = linecache.getline(file, line).rstrip("\n")
    if not text:
        return []
    before = text[: max(column - 1, 0)]
    return [text, "".join("\t" if c == "\t" else " " for c in before) + "^"]


def fail(message: str, *notes: str, ended: int = 0) -> DiagnosticError:
    """Returns a DiagnosticError without a position, worded like the core's errors; the caller raises it.
    ended: the status of a program that a command ran; where it failed, so did the command."""
    text = "\n".join([f"error: {message}", *(f"note: {note}" for note in notes)])
    kind = ProgramFailed if ended else DiagnosticError
    return kind(text, message=message, notes=notes)


def number_as_grid(kernel: str, grid: int) -> DiagnosticError:
    """The error of a launch whose grid is a number."""
    return fail(
        f"the grid of kernel '{kernel}' is the number {grid}, and should be a tuple",
        f"as in {kernel}[({grid},)](...)",
    )


def package_folders() -> tuple[str, ...]:
    """The folders of this package and of Triton, if that is loaded."""
    triton = sys.modules.get("triton")
    own = os.path.dirname(os.path.dirname(__file__))
    folders = (own, os.path.dirname(getattr(triton, "__file__", None) or ""))
    return tuple(folder + os.sep for folder in folders if folder)


def is_of_language(file: str) -> bool:
    """Returns whether a source file is of Triton's language itself, as that of tl.sum: a person looks at its
    call."""
    return "triton/language/" in file or "triton/experimental/gluon/language/" in file


@functools.cache
def is_of_library(file: str) -> bool:
    """Returns whether a source file belongs to this package, to an installed one or to Python itself, and not
    to the program that runs."""
    if file.startswith("<") or file.startswith(package_folders()):
        return True
    path = os.path.abspath(file)
    if not _INSTALLED.isdisjoint(path.split(os.sep)):
        return True
    folders = {sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib")}
    folders |= {os.path.dirname(sys.modules[name].__file__) for name in _LIBRARIES if name in sys.modules}
    return path.startswith(tuple(folder + os.sep for folder in folders))


def warn(text: str) -> None:
    """A RuntimeWarning at the line of the program: the first that is neither ours nor Triton's. Where there
    is none, because the command line reads a file, a line on stderr."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package_folders()):
        frame, level = frame.f_back, level + 1
    if frame.f_globals.get("__name__", "").partition(".")[0] == "click":
        print(f"warning: {text}", file=sys.stderr)
        return
    warnings.warn(text, RuntimeWarning, stacklevel=level)
