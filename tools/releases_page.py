"""Writes what lists the known Triton releases, from their table (releases.def): doc/reference/releases.md,
and a line each of README.md, README.zh.md and pyproject.toml.

    python tools/releases_page.py

No other text names the first and the last of them: it says "every release", and links to the page
(tests/python/compiler/test_releases.py).
"""

import pathlib
import re

from triton_runner._base.releases import RELEASES, Release

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = """# Triton releases

The releases that Triton Runner knows: the rows of
[releases.def](../../src/ir/internal/releases.def), written by `tools/releases_page.py`.
A newer release is treated as the last row. `triton-runner ops --release {last}` lists the ops of a release;
[tests](../measurements/releases.md) counts what passes with each.

| release | on the package index | differs from the row before in |
|---|---|---|
{rows}

## Columns

{columns}
"""
COLUMNS = [name for name in vars(Release) if not name.startswith("_") and name not in ("version", "patches")]


def spelled(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def cell(value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "none"


def page() -> str:
    rows, before = [], None
    for row in RELEASES.values():
        changes = [
            f"`{name}`: {cell(value)}"
            for name in COLUMNS
            if (value := getattr(row, name)) != (getattr(before, name) if before else type(value)())
        ]
        rows.append(f"| {spelled(row.version)} | {', '.join(row.patches)} | {', '.join(changes)} |")
        before = row
    columns = [f"- `{name}`: {getattr(Release, name).__doc__}" for name in COLUMNS]
    return PAGE.format(last=spelled(row.version), rows="\n".join(rows), columns="\n".join(columns))


def texts() -> dict[pathlib.Path, str]:
    """Returns what each file should be."""
    first, last = map(spelled, (min(RELEASES), max(RELEASES)))
    after = spelled((max(RELEASES)[0], max(RELEASES)[1] + 1))
    lines = {
        "README.md": (r"(?<=\| releases )[\d.]+ to [\d.]+", f"{first} to {last}"),
        "README.zh.md": (r"(?<=\| Triton \| )[\d.]+ 至 [\d.]+", f"{first} 至 {last}"),
        "pyproject.toml": (r"(?<=\"triton>=)[\d.]+,<[\d.]+", f"{first},<{after}"),
    }
    found = {ROOT / "doc" / "reference" / "releases.md": page()}
    for name, (pattern, text) in lines.items():
        found[ROOT / name], count = re.subn(pattern, text, (ROOT / name).read_text())
        assert count == 1, f"{name}: {count} places match {pattern}"
    return found


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
