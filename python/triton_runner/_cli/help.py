"""The first page of the command line's help: five verbs that people begin with, and all others by what they
are for. It fits on a screen of 24 lines of 80 columns."""

from __future__ import annotations

import click

# What to begin with, in the order in which people need it.
FIRST = {
    "run": "a Python program, its kernels at any level, on the CPU or a GPU",
    "dump": "the values inside of a kernel, at any level",
    "verify": "all levels, all checks, in one verdict",
    "bisect": "the release, level and pass that make a result wrong",
    "report": "a page that shows a kernel at all levels",
}
GROUPS = {
    "execute": "run exec debug dump lockstep verify",
    "look": "report map layout resources ledger ops",
    "compile": "compile passes opt translate versions",
    "find": "bisect bits compare configs assemble experiments reduce",
    "carry": "bundle export cache",
    "measure": "bench profile tune",
    "set up": "doctor env completion dev",
}


class Group(click.Group):
    """A group of commands whose help lists them so."""

    def format_commands(self, context, formatter) -> None:
        commands = self.list_commands(context)
        with formatter.section("Begin with"):
            formatter.write_dl([(name, text) for name, text in FIRST.items() if name in commands])
        rows = [(title, [n for n in names.split() if n in commands]) for title, names in GROUPS.items()]
        grouped = {name for _, names in rows for name in names}
        rows.append(("other", [name for name in commands if name not in grouped]))
        with formatter.section("All commands (COMMAND --help says more)"):
            formatter.write_dl([(title, " ".join(names)) for title, names in rows if names])
