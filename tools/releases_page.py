"""Writes what lists the known Triton releases, from their table (releases.def): doc/reference/releases.md,
and a line each of README.md, README.zh.md and pyproject.toml.

    python tools/releases_page.py

No other text names the first and the last of them: it says "every release", and links to the page
(tests/python/compiler/test_releases.py).
"""

import pathlib
import re

from triton_runner._base.releases import DISTRIBUTIONS, RELEASES, Release

ROOT = pathlib.Path(__file__).resolve().parents[1]
FURTHER = "\n## What no row knows"  # tools/next.py writes from there on
PAGE = """# Triton releases

The releases that Triton Runner knows: the rows of
[releases.def](../../src/ir/internal/releases.def), written by `tools/releases_page.py`.
A newer release is treated as the last row. `triton-runner ops --release {last}` lists the ops of a release;
[tests](../measurements/releases.md) counts what passes with each.

| release | on the package index | differs from the row before in |
|---|---|---|
{rows}

## Builds that others publish

A build is named and installed as a release is: `--triton NAME-PATCH`, or `NAME` for its newest patch, and
`versions add PACKAGE==PATCH`. It starts as the release that it left.

| name | package | module | version | left | on the package index | adds and drops (-) ops | columns |
|---|---|---|---|---|---|---|---|
{distributions}

## Columns

{columns}
"""
FIELDS = ("version", "patches", "number", "name", "on_index", "module", "suffix", "ops")
COLUMNS = [name for name in vars(Release) if not name.startswith("_") and name not in FIELDS]


def spelled(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def cell(value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "none"


def changes(row: Release, before: Release | None) -> str:
    """The columns in which a row differs from the one that it starts as."""
    return ", ".join(
        f"`{name}`: {cell(value)}"
        for name in COLUMNS
        if (value := getattr(row, name)) != (getattr(before, name) if before else type(value)())
    )


def page() -> str:
    rows, before = [], None
    for row in RELEASES.values():
        rows.append(f"| {spelled(row.version)} | {', '.join(row.patches)} | {changes(row, before)} |")
        before = row
    others = [
        f"| {name} | {row.on_index} | {row.module} | {row.patches[-1] + row.suffix} "
        f"| {spelled(row.version)} | {', '.join(row.patches)} | {' '.join(f'`{op}`' for op in row.ops)} "
        f"| {changes(row, RELEASES[row.version])} |"
        for name, row in DISTRIBUTIONS.items()
    ]
    text = PAGE.format(
        last=spelled(before.version),
        rows="\n".join(rows),
        distributions="\n".join(others),
        columns="\n".join(f"- `{name}`: {getattr(Release, name).__doc__}" for name in COLUMNS),
    )
    _, heading, rest = (ROOT / "doc" / "reference" / "releases.md").read_text().partition(FURTHER)
    return text + heading + rest


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
