"""Offers on Tab at the debugger's prompt: commands, and after one of them what it takes: lines, files,
kernels, ops, values, registers, buffers, the subjects of info.

A command of commands.py is named here, too, where it takes lines, values or buffers: without that, Tab offers
nothing after it. The shell's completion is verbs/completion.
"""

from __future__ import annotations

import os
import re

from triton_runner._base.errors import DiagnosticError
from triton_runner._code import sources
from triton_runner.verbs.debug import commands
from triton_runner.verbs.debug.results import Stopped
from triton_runner.verbs.debug.target import LEVELS

_WORD = re.compile(r"[^\s=()+*,<>!&|\[\]]*$")
_MOST = 200
_HOW = ("if", "program", "iteration", "skip", "task")  # of a breakpoint
_BREAKS = ("break", "tbreak", "until")
_OF_VALUES = ("print", "display", "whatis", "heat", "set", "last-write", "holds", "watch")


def of(
    text: str, session, names: list[str], subjects: list[str], displays: list[int]
) -> tuple[int, list[str]]:
    """Returns where the last word of the line begins, and the words that may stand there. `names` are the
    commands, `subjects` the words that `info` takes, `displays` the numbers of displays."""
    start = begin(text)
    words, word = text[:start].split(), text[start:]
    if not words:
        return start, sorted(name for name in names if name.startswith(word))
    try:
        command = commands.named(words[0].partition("/")[0], names)
    except DiagnosticError:
        return start, []
    fixed = {
        "info": subjects, "help": names, "compare": LEVELS,
        "focus": ("program", "warp", "wave", "lane", "partition", "all"),
        "undisplay": [str(number) for number in displays],
        "delete": [str(b.number) for b in session.breakpoints],
    }  # fmt: skip
    if command == "complete":
        inner = text.lstrip()[len(words[0]) :].lstrip()
        return len(text) - len(word), of(inner, session, names, subjects, displays)[1]
    if command in fixed:
        found = list(fixed[command]) if len(words) == 1 or command == "focus" else []
    elif command in _BREAKS:
        found = _values(session) if "if" in words else _places(session, word) if len(words) == 1 else [*_HOW]
    elif command in _OF_VALUES:
        found = _values(session) + (["barrier", "shared"] if command == "watch" and len(words) == 1 else [])
    else:
        found = _machine(session, command)
    return start, sorted({one for one in found if one.startswith(word)}, key=_order)[:_MOST]


def begin(text: str) -> int:
    """Returns where the last word of a line begins."""
    return _WORD.search(text).start()


def _order(text: str):
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


def _stands(session) -> bool:
    return isinstance(session.where(), Stopped)


def _values(session) -> list[str]:
    """Variables and constexprs; registers and values of the IR where the word begins with "%"."""
    return session.state.names() if _stands(session) else []


def _places(session, word: str) -> list[str]:
    """Lines with code, files, kernels and functions, ops."""
    program, out = session.target.name, []
    if sources.is_source(program):
        own = sources.kernels(program)
        out += [*own, os.path.basename(program) + ":"] if own else []
        out += [str(line) for kernel in own.values() for line in kernel.code]
    if _stands(session):
        frames = [frame for frames in session.places.frames for frame in frames]
        main = session.places.main_file
        out += [str(frame.line) for frame in frames if frame.file == main]
        out += [os.path.basename(frame.file) + ":" for frame in frames]
        out += [frame.function for frame in frames if frame.function]
        out += [place.name for place in session.places.all]
        file = word.partition(":")[0]
        out += [f"{file}:{frame.line}" for frame in frames if os.path.basename(frame.file) == file]
    elif ":" in word:
        file = word.partition(":")[0]
        path = sources.file_of(file, program)
        out += [f"{file}:{line}" for k in sources.kernels(path).values() for line in k.code] if path else []
    return out


def _machine(session, command: str) -> list[str]:
    if not _stands(session):
        return []
    if command in ("shared", "x"):
        return [buffer.name for buffer in session.state.buffers()]
    if command in ("registers", "predicates") and not session.state.has_values:
        return [name for name, *_ in session.state.registers(predicates=command == "predicates")]
    return []


def on_tab(complete) -> None:
    """Has readline ask complete(line), (start, words), when Tab is pressed. Raises ImportError where there is
    no readline."""
    import readline

    found: list[str] = []

    def candidate(word: str, number: int) -> str | None:
        if number == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            start, words = complete(line)
            # The part before the word that readline takes apart from the rest is not given again.
            shift = readline.get_begidx() - start
            found[:] = [one[shift:] if shift > 0 else one for one in words]
            if len(found) == 1 and not found[0].endswith(":"):
                found[0] += " "
        return found[number] if number < len(found) else None

    readline.set_completer_delims(" \t\n=()+*,<>!&|[]")
    readline.set_completer(candidate)
    readline.parse_and_bind("tab: complete")
