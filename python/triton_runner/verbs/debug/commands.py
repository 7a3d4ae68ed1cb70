"""Lists the commands of the debugger's terminal: their groups, in which `help` lists them, and their other
names.

    Going on
      next (n)          goes to the next line of Python, over functions

The docstring of a command's method (terminal.py), or MOVES, says what it does and how it is written: "usage:
what it does"."""

from __future__ import annotations

import dataclasses

from triton_runner._base.errors import fail
from triton_runner.verbs.debug import conditions

# For each group the commands with what people of other debuggers type for them.
GROUPS = {
    "Going on": {
        "run": "r", "start": "", "continue": "c", "next": "n", "step": "s", "op": "ni si nexti stepi",
        "until": "u", "finish": "fin out", "iteration": "", "program": "", "barrier": "",
    },
    "Going back": {
        "reverse-step": "rs", "reverse-next": "rn", "reverse-op": "rsi rni", "reverse-continue": "rc",
        "last-write": "",
    },
    "Where it stops": {
        "break": "b", "tbreak": "tb", "watch": "", "delete": "d", "focus": "", "freeze": "", "thaw": "",
    },
    "What is there": {
        "print": "p", "display": "", "undisplay": "", "whatis": "ptype", "heat": "", "set": "", "info": "i",
        "compare": "", "holds": "",
    },
    "Where it stands": {
        "where": "bt backtrace w", "up": "", "down": "", "frame": "f", "list": "l", "text": "disassemble",
    },
    "The machine": {"shared": "", "x": "", "tmem": "", "registers": "", "predicates": ""},
    "The debugger": {"help": "h", "complete": "", "quit": "q exit"},
}  # fmt: skip
ALIASES = {
    other: name for group in GROUPS.values() for name, others in group.items() for other in others.split()
}
# Commands that are a method of the session each: its name, and the help.
MOVES = {
    "start": "start: goes to the first place of the next launch",
    "resume": "continue: goes on to the next breakpoint",
    "step": "step [COUNT]: goes to the next line of Python, into functions",
    "next": "next [COUNT]: goes to the next line of Python, over functions",
    "next_op": "op [COUNT]: goes to the next op or instruction",
    "out": "finish: goes to the line after this function's call. In the kernel itself it goes to the end of "
    "this program of the grid",
    "next_iteration": "iteration [COUNT]: goes to this place in the next iteration",
    "next_program": "program: goes to the first place of the next program",
    "next_barrier": "barrier: goes to the next op or instruction of this task that waits for others",
    "reverse_step": "reverse-step [COUNT]: goes back to the line of Python before this one",
    "reverse_next": "reverse-next [COUNT]: the same, over functions",
    "reverse_op": "reverse-op [COUNT]: goes back to the op or instruction before this one",
    "reverse_resume": "reverse-continue: goes back to the last stop at a breakpoint",
}


@dataclasses.dataclass(frozen=True)
class Command:
    """A command as `help` shows it."""

    name: str
    others: list[str]
    usage: str
    text: str
    group: str

    def lines(self) -> list[str]:
        """All that is known of it."""
        others = [f"short: {', '.join(self.others)}"] * bool(self.others)
        return [self.usage, f"  {self.text}", *(f"  {line}" for line in others)]


def whole(text: str) -> int:
    try:
        return int(text.strip(), 0)
    except ValueError:
        raise fail(f"{text.strip()!r} is no whole number") from None


def described(help_of: dict[str, str]) -> dict[str, Command]:
    """The commands by name, in the order of the groups. help_of: "usage: what it does" of each."""
    out = {}
    for group, names in GROUPS.items():
        for name, others in names.items():
            usage, _, text = " ".join(help_of[name].split()).partition(": ")
            out[name] = Command(name, others.split(), usage, text, group)
    return out


def listed(commands: dict[str, Command]) -> list[str]:
    """The list of all, by group."""
    heads = {c.name: " ".join([c.name, *(f"({other})" for other in c.others[:1])]) for c in commands.values()}
    width = max(map(len, heads.values()))
    lines: list[str] = []
    for group in GROUPS:
        lines += [group]
        lines += [
            f"  {heads[c.name]:<{width}}  {c.text.partition('. ')[0]}"
            for c in commands.values()
            if c.group == group
        ]
    return [*lines, "help COMMAND shows its syntax. A command may be shortened as long as it is unambiguous."]


def named(name: str, commands) -> str:
    """The command of a name, of another debugger's name for it, or the only one that begins so."""
    if (own := ALIASES.get(name, name)) in commands:
        return own
    matching = sorted(n for n in commands if n.startswith(name))
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise fail(f"{name!r} may be any of {', '.join(matching)}")
    raise fail(f"there is no command {name!r}", *conditions.nearest(name, commands)[:1], "help lists them")
