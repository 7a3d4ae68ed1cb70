"""Writes the first page of the command line's help: the verbs that people begin with, and all others by what
they are for. It fits on a screen of 24 lines of 80 columns. A verb says where it is listed (Verbs in
options)."""

from __future__ import annotations

import click

GROUPS = ("execute", "look", "compile", "find", "carry", "measure", "set up")


class Group(click.Group):
    """A group of commands whose help lists them so."""

    def format_commands(self, context, formatter) -> None:
        listed = [(name, getattr(self.commands[name], "listed", ("", 0, ()))) for name in self.commands]
        listed.sort(key=lambda one: (one[1][1], one[0]))
        with formatter.section("Begin with"):
            first = sorted((first[0], name, first[1]) for name, (*_, first) in listed if first)
            formatter.write_dl([(name, text) for _, name, text in first])
        rows = [(title, [name for name, (group, *_) in listed if group == title]) for title in GROUPS]
        rows.append(("other", [name for name, (group, *_) in listed if group not in GROUPS]))
        with formatter.section("All commands (COMMAND --help says more)"):
            formatter.write_dl([(title, " ".join(names)) for title, names in rows if names])
