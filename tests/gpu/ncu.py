"""Nsight Compute's command, and its table of launches. It needs nothing but Python, as measure.py does."""

import csv
import io


def command(ncu: str, metrics, kernels, *more: str) -> list[str]:
    """Measures these kernels alone: torch's own take most of the time. The card's clocks stay as they are."""
    return [
        ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
        "--kernel-name-base", "function", "--kernel-name", f"regex:^({'|'.join(sorted(kernels))})$",
        "--metrics", ",".join(metrics), *more,
    ]  # fmt: skip


def read_csv(text: str, metrics) -> list[dict]:
    """The launches of what ncu printed: kernel, grid, and by metric the numbers that it could measure. What
    the program printed comes before the table; the row after the head has units."""
    lines = text.splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if head is None:
        raise SystemExit("ncu printed no table:\n" + "\n".join(lines[-10:]))
    out = []
    for row in csv.DictReader(io.StringIO("\n".join(lines[head:]))):
        if not row.get("ID", "").isdigit():
            continue
        numbers = {name: number(row[name]) for name in metrics if row.get(name) not in (None, "", "n/a")}
        grid = [int(part) for part in row["Grid Size"].strip("()").split(",")]
        out.append({"kernel": row["Kernel Name"].split("(")[0], "grid": grid, "numbers": numbers})
    return out


def number(text: str) -> float:
    return float(text.replace(",", ""))
