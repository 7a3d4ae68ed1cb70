"""Makes the page of a manifest: one table, one file, nothing from the network."""

from __future__ import annotations

import html
import os

from triton_runner.verbs.judge.results import Row

_STYLE = """body { font: 14px sans-serif; margin: 2em; } table { border-collapse: collapse; }
td, th { padding: 3px 9px; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
.verified { color: #070; } .tampered, .cached, .idle, .no_kernel { color: #a0a; }
.wrong, .unsafe, .error, .too_slow { color: #b00; } .not_judged { color: #777; }"""


def page(rows: list[Row], counts: dict) -> str:
    """The page."""
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    body = "".join(_line(row) for row in rows)
    head = "".join(
        f"<th>{name}" for name in ("task", "answer", "verdict", "why", "generated", "CPU s", "seed")
    )
    return (
        f"<!doctype html><meta charset=utf-8><title>judge</title><style>{_STYLE}</style>"
        f"<p>{len(rows)} trials: {told}<table><tr>{head}{body}</table>\n"
    )


def _line(row: Row) -> str:
    advice = f" ({row.faults[0].advice})" if row.faults else ""
    line = f"line {row.faults[0].line}: " if row.faults and row.faults[0].line else ""
    generated = "" if row.generated is None else row.generated.verdict
    cells = [
        os.path.basename(row.task), os.path.basename(row.answer), row.label, line + row.why + advice,
        generated, f"{row.cost.total:.1f}", str(row.seed),
    ]  # fmt: skip
    return f"<tr class={row.verdict}>" + "".join(f"<td>{html.escape(cell)}" for cell in cells)
