"""Includes lead down among the folders of src/tile (doc/internals/tile-engine.md), and triton_runner.h
includes every public header: what it does without is for src/<folder>/internal. The folders of src are
kept apart by their include directories. tests/lint.py calls check()."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TILE, PUBLIC = ROOT / "src" / "tile", ROOT / "include"
ALONE = {"triton_runner/deploy/tvm_ffi.h"}  # only libraries for TVM-FFI include it

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


def reached(name: str, seen: set[str]) -> set[str]:
    """The public headers and tables that a public header includes, itself among them."""
    if name not in seen and (PUBLIC / name).is_file():
        seen.add(name)
        for included in re.findall(r"^#include <([^>]+)>", (PUBLIC / name).read_text(), re.M):
            reached(included, seen)
    return seen


def check() -> list[str]:
    """What is wrong, a line each."""
    known = reached("triton_runner/triton_runner.h", set()) | ALONE
    public = sorted(str(path.relative_to(PUBLIC)) for path in PUBLIC.rglob("*") if path.is_file())
    wrong = [f"include/{name}: triton_runner.h does without it" for name in public if name not in known]
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
