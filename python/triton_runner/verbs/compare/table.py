"""Makes the table of a comparison, which str() gives, too: its cells, and its plain lines. Rows are of
results.Measured."""

from __future__ import annotations

from triton_runner._kernel.cells.cells import config_text

# Heading, figure; a column that no row has a value for is left out.
_COLUMNS = (
    ("regs", "registers"), ("spills", "spills"), ("shared", "shared"), ("local", "local"), ("code", "code"),
    ("instr", "instructions"), ("occup.", "occupancy"), ("waves", "waves"), ("executed", "executed"),
    ("sectors", "sectors"), ("wavefr.", "wavefronts"), ("conflicts", "conflicts"), ("spilled", "spilled"),
    ("cycles", "cycles"), ("us", "microseconds"), ("bound by", "bound_by"), ("compile", "seconds"),
    ("GPU ms", "milliseconds"), ("result", None),
)  # fmt: skip
_WORSE_WHEN_MORE = ("registers", "spills", "shared", "local", "code", "instructions", "milliseconds",
    "executed", "sectors", "wavefronts", "conflicts", "spilled", "cycles", "microseconds",
)  # fmt: skip


def short(value) -> str:
    """A figure for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _text(row, name: str) -> str:
    value = row.figures[name]
    if value is None:
        return "-"
    if name == "occupancy":
        return f"{value:.0%}"
    if name == "seconds":
        return f"{value:.2f} s"
    if name in ("cycles", "microseconds"):
        return f"{value:,.0f}" if name == "cycles" else f"{value:.3g}"
    return short(value)


def result_text(row) -> str:
    """Returns the text on the results of a row."""
    if row.trap:
        return f"trap: {_first(row.trap)}"
    if row.unrun:
        return f"not run: {_first(row.unrun)}"
    if row.outputs is None:
        return "-"
    if row.is_base:
        return "base"
    if row.figures["equal"] is None:
        return "no base"
    if row.figures["equal"]:
        return "equal"
    difference = row.figures["difference"]
    return "differs" if difference is None else f"differs by {difference:.2g}"


def _first(text: str) -> str:
    return text.removeprefix("error: ").splitlines()[0][:200]


def cells_of(comparison, shown=()) -> tuple[list[str], list]:
    """The headings, and for each row its texts and which of them are above the base's."""
    figures = [(h, n) for h, n in _COLUMNS if n is None or any(r.figures[n] is not None for r in comparison)]
    figures = [(h, n) for h, n in figures if n or any(result_text(row) != "-" for row in comparison)]
    has_config = any(row.config for row in comparison)
    headings = ["Triton", "target", *(["config"] if has_config else []), *(h for h, _ in figures), *shown]
    rows = []
    for row in comparison:
        texts = [row.release, row.target, *([config_text(row.config)] if has_config else [])]
        worse = [False] * len(texts)
        if why := row.gap or row.crash or row.refused or row.error:
            rows.append((texts, worse, f"{'no' if row.gap else 'failed'}: {_first(str(why))}"))
            continue
        for _, name in figures:
            texts.append(_text(row, name) if name else result_text(row))
            worse.append(_is_worse(row, name) if name else row.figures["equal"] is False)
        for opcode in shown:
            texts.append(str(row.figure(("count", opcode))))
            worse.append(False)
        rows.append((texts, worse, None))
    return headings, rows


def _is_worse(row, name: str) -> bool:
    mine, base = row.figures[name], row.base and row.base.figures[name]
    if mine is None or base is None:
        return False
    return mine > base if name in _WORSE_WHEN_MORE else name == "occupancy" and mine < base


def lines(comparison, shown=()) -> list[str]:
    """The table as plain text, with a line on what a * means where there is one."""
    headings, rows = cells_of(comparison, shown)
    marked = [
        ([text + ("*" if bad else " ") for text, bad in zip(texts, worse, strict=True)], said)
        for texts, worse, said in rows
    ]
    widths = [len(heading) + 1 for heading in headings]
    for texts, _ in marked:
        for i, text in enumerate(texts):
            widths[i] = max(widths[i], len(text))
    out = [" ".join(h.ljust(w) for h, w in zip(headings, widths, strict=True)).rstrip()]
    for texts, note in marked:
        line = " ".join(text.ljust(w) for text, w in zip(texts, widths, strict=False))
        out.append(f"{line} {note}".rstrip() if note else line.rstrip())
    legend = ["*: worse than its base's"] * any(bad for _, worse, _ in rows for bad in worse)
    return [*out, *legend, *below(comparison)]


def below(comparison) -> list[str]:
    """Returns the lines below the table: each note once, and all messages of compilers that failed."""
    return [*notes_of(comparison), *failures_of(comparison)]


def failures_of(comparison) -> list[str]:
    """For each failure of a release what its compiler said, and which cells have it."""
    rows: dict[tuple, list] = {}
    for row in comparison:
        if one := row.crash or row.refused:
            rows.setdefault((row.release, str(one)), []).append(row)
    lines = []
    for same in rows.values():
        first, more = same[0], f" and {len(same) - 1} more" if len(same) > 1 else ""
        one = first.crash or first.refused
        what = first.crash.headline if first.crash else f"the front end refuses the kernel: {one}"
        lines += ["", f"Triton {first.name}{more}: {what}", *one.lines()]
    if not comparison.is_judged:
        lines += ["", "cannot be judged: no cell is compiled"]
    return lines


def notes_of(comparison) -> list[str]:
    """Each note once."""
    notes = dict.fromkeys(note for row in comparison for note in row.notes)
    return [f"note: {_first(note)}" for note in notes]
