"""Answers what is typed in an editor's console: the commands of the terminal, and Python.

print acc[3, :]         a command
acc[3, :].max()         Python, since no command is called so
!x                      Python, where a command is
acc[3] = 0              a change"""

from __future__ import annotations

import contextlib
import functools

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner.verbs.debug import commands, completion, conditions, parts, terminal
from triton_runner.verbs.debug.terminal import Terminal

LOOKS = (
    "compare", "complete", "heat", "help", "holds", "info", "list", "print", "predicates", "registers",
    "shared", "text", "tmem", "whatis", "where", "x",
)  # fmt: skip
CHANGES = ("break", "delete", "focus", "freeze", "set", "tbreak", "thaw", "watch")
_MOVES = {usage.partition(":")[0].partition(" ")[0]: move for move, usage in commands.MOVES.items()}
MOVES = [name for name in _MOVES if name != "start"]  # the program has started


def command_of(text: str) -> str:
    """The command that a line of the console is, by its whole name or a short form; "" for Python."""
    words = text.split()
    word = words[0].partition("/")[0] if words else ""
    name = commands.ALIASES.get(word, word)
    is_command = any(name in group for group in commands.GROUPS.values())
    return name if is_command and parts.assignment(text) is None else ""


def answered(adapter, name: str, text: str) -> str:
    """Returns what a command answers. Those that go on have no answer: the editor hears where the launch
    stops."""
    session, rest = adapter.session, text.partition(" ")[2].strip()
    if name in MOVES:
        move = getattr(session, _MOVES[name])
        count = commands.whole(rest or "1")
        adapter.go(functools.partial(terminal.repeated, move, count))
        return ""
    if name not in LOOKS + CHANGES:
        there = ", ".join(sorted((*LOOKS, *CHANGES, *MOVES)))
        raise fail(
            f"{name} is not a command of the console", f"those that are: {there}", *_python(session, text)
        )
    if name == "delete" and rest and (point := adapter.points.of_number(commands.whole(rest))):
        raise fail(f"breakpoint {rest} is one of the editor's", f"take it away there: {point.where}")
    if name == "delete" and not rest:
        raise fail("delete: which breakpoint?", "info breakpoints lists them")
    lines: list[str] = []
    errors: list[DiagnosticError] = []
    Terminal(session, lines.append, on_error=errors.append).command(text)
    if errors:
        raise fail(errors[0].message, *errors[0].notes, *_python(session, text))
    if name in CHANGES:
        adapter.tell("invalidated", areas=["threads", "variables"])
    return "\n".join(lines)


@contextlib.contextmanager
def hinted(text: str):
    """If a line that was taken for Python fails inside, the error names the command that it may be."""
    try:
        yield
    except DiagnosticError as error:
        word = (text.split() or [""])[0]
        near = conditions.nearest(word, [*LOOKS, *CHANGES, *MOVES])[:1] if word.isidentifier() else []
        if not near or len(text.split()) == 1:
            raise
        raise fail(error.message, *error.notes, *near) from None


def _python(session, text: str) -> list[str]:
    """A note where the word of a command is a value, too."""
    word = text.split()[0]
    return [f"!{word} is the value {word}"] if session.state.is_named(word) else []


def completions(session, text: str) -> list[tuple[str, str, int]]:
    """(text, kind as the protocol has it, where the word begins that it stands for)."""
    names = session.state.names()
    if command_of(text) and " " in text.strip(" ") + text[-1:]:
        start, found = Terminal(session, print).completions(text)
        return [(one, "variable", start) for one in found]
    start = completion.begin(text)
    word, is_first = text[start:].removeprefix("!"), not text[:start].strip() and "!" not in text
    start = len(text) - len(word)
    own = sorted((*LOOKS, *CHANGES, *MOVES)) if is_first else []
    rows = [(one, "keyword", start) for one in own] + [
        (one, "variable", start) for one in dict.fromkeys(names)
    ]
    return [row for row in rows if row[0].startswith(word)]
