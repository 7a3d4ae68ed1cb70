"""Includes lead down among the folders of src/tile (doc/internals/tile-engine.md) and among the layers of
src/simt (doc/internals/simt.md), where only the front ends know PTX; triton_runner.h includes every public
header: what it does without is for src/<folder>/internal. The folders of src are kept apart by their include
directories. The modules that the Python tests share are imported by their bare names, so that a name is given
once. tests/lint.py calls check()."""

import graphlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TILE, SIMT, PUBLIC = ROOT / "src" / "tile", ROOT / "src" / "simt", ROOT / "include"
TESTS = ROOT / "tests"
ALONE = {"triton_runner/deploy/tvm_ffi.h"}  # only libraries for TVM-FFI include it

# The files of a folder may include these of the others; the core is the root.
MAY_INCLUDE = {
    "": {"trace"},
    "trace": set(),
    "ops": {"trace"},
    "machine": {"trace", "ops"},
    "fuse": {"trace", "ops"},
    "check": {"trace", "ops", "machine"},
    "hardware": {"trace", "ops", "machine"},
}
# Files of the root that are above all folders.
ON_TOP = {"schedule", "kernel", "observe", "stop", "stop_machine", "snapshot"}

# The layers of src/simt from the bottom up: files with their headers, folders. A file includes its own layer
# and those below it. doc/internals/simt.md has the same table.
SIMT_LAYERS = (
    ("code", "source simd tables code arguments spaces"),
    ("state", "block matrix/tensor_memory exec refuse operand_data"),
    ("checks", "check count trace access"),
    ("lanes", "divergence turns address redux warp move cluster barrier control memory atomic observe"),
    ("operations", "matrix async snapshot stop_machine stop"),
    ("front ends", "ptx sass"),
    ("launch", "run kernel"),
)
SIMT_FRONT = {"ptx/load": {"kernel"}, "sass/load": {"kernel"}}  # what they load is a Kernel
READS_PTX = re.compile(r"\bptx::(Instruction|Operand|Opcode|Mod|Module|Function|Variable|Special)\b")


def simt_unit(name: str) -> str:
    """A file's name without its ending, below src/simt."""
    return re.sub(r"\.(cpp|h|inc)$", "", name)


SIMT_RANKS = {name: i for i, (_, names) in enumerate(SIMT_LAYERS) for name in names.split()}


def simt_part(unit: str) -> str:
    """Returns what SIMT_LAYERS names: a file, or its folder."""
    return unit if unit in SIMT_RANKS else unit.split("/")[0]


def simt_rank(unit: str) -> int:
    """The number of the layer that holds a file or its folder."""
    return SIMT_RANKS.get(simt_part(unit), -1)


def check_simt() -> list[str]:
    """Returns what is wrong within src/simt, a line each."""
    wrong, includes = [], {}
    for path in sorted([*SIMT.rglob("*.h"), *SIMT.rglob("*.cpp")]):
        unit = simt_unit(str(path.relative_to(SIMT)))
        if unit.endswith("_test") or unit.startswith("internal/"):
            continue
        name, text = f"src/simt/{path.relative_to(SIMT)}", path.read_text()
        if simt_rank(unit) < 0:
            wrong.append(f"{name}: is in no layer: add it to SIMT_LAYERS of tests/folders.py")
            continue
        if not unit.startswith(("ptx/", "sass/")) and READS_PTX.search(text):
            wrong.append(f"{name}: reads PTX, which is for the front ends: move that part there")
        for included in re.findall(r'^#include "([^"]+)"', text, re.M):
            beside = path.parent / included
            other = simt_unit(str(beside.relative_to(SIMT)) if beside.is_file() else included)
            is_loaded = other in SIMT_FRONT.get(unit, ())
            if not is_loaded and simt_part(other) != simt_part(unit):
                includes.setdefault(simt_part(unit), set()).add(simt_part(other))
            if simt_rank(other) > simt_rank(unit) and not is_loaded:
                wrong.append(f"{name}: includes {included}, which is above it (SIMT_LAYERS): move that down")
    try:
        graphlib.TopologicalSorter(includes).prepare()
    except graphlib.CycleError as error:
        wrong.append(f"src/simt: includes in a circle, cut it: {' <- '.join(error.args[1])}")
    return wrong


def reached(name: str, seen: set[str]) -> set[str]:
    """The public headers and tables that a public header includes, itself among them."""
    if name not in seen and (PUBLIC / name).is_file():
        seen.add(name)
        for included in re.findall(r"^#include <([^>]+)>", (PUBLIC / name).read_text(), re.M):
            reached(included, seen)
    return seen


def names_given_twice() -> list[str]:
    """Modules that the Python tests share, and a script in a folder that some tests put on the path has the
    same name: which of them is imported depends on the tests that a process ran before."""
    files = [*TESTS.glob("*.py"), *TESTS.glob("*/*.py"), *(ROOT / "tools").glob("*.py")]
    scripts = {path.name: path for path in files if path.parent != TESTS / "python"}
    shared = [path for path in TESTS.glob("python/*/*.py") if not path.name.startswith(("test_", "__"))]
    wrong = []
    for path in sorted(shared):
        other = scripts.setdefault(path.name, path)
        if other != path:
            here, there = path.relative_to(ROOT), other.relative_to(ROOT)
            wrong.append(f"{here}: {there} has that name: give it another")
    return wrong


def check() -> list[str]:
    """Returns what is wrong, a line each."""
    known = reached("triton_runner/triton_runner.h", set()) | ALONE
    public = sorted(str(path.relative_to(PUBLIC)) for path in PUBLIC.rglob("*") if path.is_file())
    wrong = [
        f"include/{name}: include it in triton_runner.h, which is all of the API"
        for name in public
        if name not in known
    ]
    for path in sorted([*TILE.rglob("*.h"), *TILE.rglob("*.cpp")]):
        folder = path.parent.name if path.parent != TILE else ""
        if path.stem.endswith("_test") or (not folder and path.stem in ON_TOP):
            continue
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            other = pathlib.Path(included)
            if other.parent.name not in {"", folder, *MAY_INCLUDE[folder]} or other.stem in ON_TOP:
                name = path.relative_to(TILE.parent.parent)
                wrong.append(
                    f"{name}: includes {included}, which is above it (MAY_INCLUDE): move what both need down"
                )
    return wrong + check_simt() + names_given_twice()


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "every include leads down")
    sys.exit(bool(found))
