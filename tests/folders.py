"""Includes lead down among the folders of src/tile (doc/internals/tile-engine.md). The folders of src are
kept apart by their include directories. tests/lint.py calls check()."""

import pathlib
import re
import sys

TILE = pathlib.Path(__file__).resolve().parent.parent / "src" / "tile"

# What the files of a folder may include of the others; the core is the root.
MAY_INCLUDE = {
    "": {"trace"},
    "trace": set(),
    "ops": {"trace"},
    "machine": {"trace", "ops"},
    "fuse": {"trace", "ops"},
    "check": {"trace", "ops", "machine"},
}
ON_TOP = {"schedule", "kernel", "observe"}  # files of the root that are above all folders


def check() -> list[str]:
    """What is wrong, a line each."""
    wrong = []
    for path in sorted([*TILE.rglob("*.h"), *TILE.rglob("*.cpp")]):
        folder = path.parent.name if path.parent != TILE else ""
        if path.stem.endswith("_test") or (not folder and path.stem in ON_TOP):
            continue
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            other = pathlib.Path(included)
            if other.parent.name not in {"", folder, *MAY_INCLUDE[folder]} or other.stem in ON_TOP:
                name = path.relative_to(TILE.parent.parent)
                wrong.append(f"{name}: includes {included}, which is above it: see MAY_INCLUDE")
    return wrong


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "every include leads down")
    sys.exit(bool(found))
