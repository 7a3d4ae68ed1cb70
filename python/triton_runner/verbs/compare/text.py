"""Shows a comparison: plain lines in a pipe, by rich on a terminal."""

from __future__ import annotations

import sys

from triton_runner.verbs.compare import table
from triton_runner.verbs.compare.results import Comparison


def show(comparison: Comparison, shown=()) -> None:
    """Prints the table: in colour where stdout is a terminal."""
    if not sys.stdout.isatty():
        print("\n".join(table.lines(comparison, shown)))
        return
    from rich.console import Console  # a terminal's
    from rich.table import Table
    from rich.text import Text

    headings, rows = table.cells_of(comparison, shown)
    colored = Table(*headings, box=None, pad_edge=False)
    for texts, worse, note in rows:
        styled = [Text(t, style="bold red" if bad else "") for t, bad in zip(texts, worse, strict=True)]
        colored.add_row(
            *styled, *([Text(note, style="dim" if note.startswith("no") else "red")] if note else [])
        )
    Console().print(colored)
    print("\n".join(table.below(comparison)))
