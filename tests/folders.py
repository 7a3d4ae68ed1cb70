"""Includes lead down among the folders of src/tile and among the rooms of src/simt, where only the front ends
know PTX; the tables of doc/internals/tile-engine.md and simt.md say which are below. triton_runner.h includes
every public header: what it does without is for src/<folder>/internal. The folders of src are kept apart by
their include directories. The modules that the Python tests share are imported by their bare names, so that
a name is given once. tests/lint.py calls check(), and `python tests/folders.py` counts rooms, floors and
arrows of src/simt."""

import functools
import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TILE, SIMT, PUBLIC = ROOT / "src" / "tile", ROOT / "src" / "simt", ROOT / "include"
TESTS = ROOT / "tests"
ALONE = {"triton_runner/deploy/tvm_ffi.h"}  # only libraries for TVM-FFI include it


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the rows of a table in a page of doc/internals, which begins with the row `heading`."""
    text = (ROOT / "doc" / "internals" / page).read_text().split(f"\n{heading}\n", 1)[1]
    lines = itertools.takewhile(lambda line: line.startswith("|"), text.splitlines()[1:])
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def code(cell: str) -> list[str]:
    """The words of a cell in code font."""
    return [word.rstrip("/") for word in re.findall(r"`([\w/]+)`", cell)]


# The files of a folder of src/tile may include these of the others; the core, "", is the root.
MAY_INCLUDE = {
    code(name)[0] if "itself" not in name else "": set(code(may))
    for name, _, may in rows("tile-engine.md", "| folder | holds | may include |")
}
# Files of the root that are above all folders.
ON_TOP = {"schedule", "kernel", "observe", "stop", "stop_machine", "snapshot"}

# The rooms of src/simt, folders, from the bottom up: a file includes its own room and those below it.
SIMT_ROOMS = tuple(code(name)[0] for name, *_ in rows("simt.md", "| room | files | holds |"))
BESIDE = "front/sass", "front/ptx"  # a front end that includes another
SIMT_ARROWS = 25  # between rooms (the front ends count as one): at most
# Libraries that one part of a library alone includes, or uses what is in their namespaces: the front ends of
# src/simt, which alone read code; the file of src/deploy without which a program links no engine.
ONLY_IN = {
    "simt": ("front/", ("ptx", "sass", "amdgcn", "artifact", "ir")),
    "deploy": ("on_cpu.cpp", ("tile", "simt", "machine", "layout", "sass", "amdgcn")),
}
# Compiled once an instruction set: what these call is in SIMD_ISA's namespace, inlined, or in a .cpp
# (tests/python/package/test_isas_built.py).
ONCE_AN_ISA = "src/num/simd", "src/lanes/simd", "src/simt/front/amdgcn/simd"
# Libraries do not print, end the process, read its environment, nor throw but for memory; these may.
LOUD = re.compile(
    r"(?<![\w.>])(?:std::)?(?:getenv|v?f?printf|puts|exit|abort)\(|\bstd::c(?:out|err)\b"
    r"|\bthrow\b(?! (?:std::bad_alloc|OutOfTiles)\b)"
)
MAY_BE_LOUD = {
    "src/driver/": "programs load it as libcuda.so.1: it reads variables and says what it misses",
    "src/tile/loaded_kernel.h": "tests alone include it",
    "include/triton_runner/ir/groups.h": "a throw that is reached does not compile",
}


def simt_room(path: pathlib.Path) -> str:
    """The folder below src/simt that a file lies in; simd, which is compiled several times, is part of it."""
    return str(path.relative_to(SIMT).parent).removesuffix("/simd")


def below_in_simt(room: str) -> tuple[str, ...]:
    """The rooms that a room of src/simt may include: those above it in the table; of the front ends PTX's
    alone, in which machine code says what it computes."""
    under = SIMT_ROOMS[: SIMT_ROOMS.index(room)]
    return tuple(one for one in under if not one.startswith("front/") or (room, one) == BESIDE)


def simt_arrows_of(path: pathlib.Path, text: str) -> dict[tuple[str, str], list[str]]:
    """From the room of a file of src/simt with that text to another that it includes: where."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for included in re.findall(r'^#include "([^"]+)"', text, re.M):
        beside = path.parent / included
        here, there = simt_room(path), simt_room(beside if beside.is_file() else SIMT / included)
        if here != there:
            arrows.setdefault((here, there), []).append(f"{path.relative_to(ROOT)}: includes {included}")
    return arrows


def counted(arrows) -> set[tuple[str, str]]:
    """The arrows that SIMT_ARROWS counts: the front ends are one room."""
    found = {(here.split("/")[0], there.split("/")[0]) for here, there in arrows}
    return {(here, there) for here, there in found if here != there}


def simt_arrows() -> set[tuple[str, str]]:
    """From a room of src/simt to another that it includes, as they are counted."""
    return set().union(*(counted(simt_arrows_of(path, path.read_text())) for path in sources(SIMT)))


def simt_count() -> tuple[int, int, int]:
    """How many rooms of src/simt there are, how many stand above each other, and arrows between them."""
    arrows = simt_arrows()
    floor: dict[str, int] = {}
    for room in SIMT_ROOMS:
        name = room.split("/")[0]
        floor[name] = 1 + max((floor[there] for here, there in arrows if here == name), default=0)
    return len(floor), max(floor.values()), len(arrows)


def sources(folder: pathlib.Path) -> list[pathlib.Path]:
    """The headers and source files below a folder, without tests."""
    files = sorted([*folder.rglob("*.h"), *folder.rglob("*.cpp")])
    return [path for path in files if not path.stem.endswith("_test")]


def wrong_in_simt(path: pathlib.Path, text: str) -> list[str]:
    """Returns what is wrong in a file of src/simt with that text, a line each."""
    name, room = path.relative_to(ROOT), simt_room(path)
    if room not in SIMT_ROOMS:
        return [f"{name}: is in no room: give it a row in the table of doc/internals/simt.md"]
    wrong = wrong_part(path, text)
    for (_, there), places in simt_arrows_of(path, text).items():
        if there not in below_in_simt(room):
            wrong += [f"{place}, which is above it (simt.md): move that down" for place in places]
    return wrong


def only_for_others(path: pathlib.Path) -> tuple[str, tuple[str, ...]]:
    """Which part of a file's library alone includes some libraries, and these; none for that part's files."""
    part, others = ONLY_IN.get(library_of(path), ("", ()))
    return (part, ()) if str(path.relative_to(ROOT)).split("/", 2)[2].startswith(part) else (part, others)


def wrong_part(path: pathlib.Path, text: str) -> list[str]:
    """Returns what a file with that text has of libraries that are for another part of its own, a line."""
    part, others = only_for_others(path)
    words = "|".join(others) or "-"
    found = re.search(rf"#include <triton_runner/({words})/|\b({words})::", re.sub("//.*", "", text))
    name = path.relative_to(ROOT)
    return [f"{name}: has {found[0]}, which is for {part} alone: move that part there"] if found else []


def wrong_in_tile(path: pathlib.Path, text: str) -> list[str]:
    """Returns what a file of src/tile with that text includes from above it, a line each."""
    folder = path.parent.name if path.parent != TILE else ""
    if not folder and path.stem in ON_TOP:
        return []
    return [
        f"{path.relative_to(ROOT)}: includes {included}, which is above it (tile-engine.md): move what both "
        "need down"
        for included in re.findall(r'^#include "([^"]+)"', text, re.M)
        if (other := pathlib.Path(included)).parent.name not in {"", folder, *MAY_INCLUDE.get(folder, ())}
        or other.stem in ON_TOP
    ]


def check_simt() -> list[str]:
    """Returns what is wrong within src/simt, a line each."""
    wrong = [one for path in sources(SIMT) for one in wrong_in_simt(path, path.read_text())]
    if not wrong and (n := simt_count()[2]) > SIMT_ARROWS:
        wrong.append(f"src/simt: {n} arrows between rooms, at most {SIMT_ARROWS}: use what a room below has")
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
    same name, or a folder of tests that they import from: which of them is imported depends on the tests that
    a process ran before."""
    files = [*TESTS.glob("*.py"), *TESTS.glob("*/*.py"), *(ROOT / "tools").glob("*.py")]
    scripts = {path.name: path for path in files if path.parent != TESTS / "python"}
    shared = [path for path in TESTS.glob("python/*/*.py") if not path.name.startswith(("test_", "__"))]
    wrong = []
    for path in sorted(shared):
        other = scripts.setdefault(path.name, path)
        if other != path:
            here, there = path.relative_to(ROOT), other.relative_to(ROOT)
            wrong.append(f"{here}: {there} has that name: give it another")
    for path in sorted(TESTS.glob("python/*/*.py")):
        named = set(re.findall(r"^ *from (\w+)", path.read_text(), re.M))
        for name in sorted(one for one in named if (TESTS / one).is_dir()):
            for other in [*ROOT.glob(f"tools/{name}.py"), *TESTS.glob(f"python/*/{name}.py")]:
                here, there = path.relative_to(ROOT), other.relative_to(ROOT)
                wrong.append(f"{here}: 'from {name}' may find {there}: give one of them another name")
    return wrong


def library_of(path: pathlib.Path) -> str:
    """The library of src that a file belongs to, as a source file, a header or a public one."""
    parts = path.relative_to(ROOT).parts
    return parts[2] if parts[0] == "include" and len(parts) > 3 else parts[1] if parts[0] == "src" else ""


@functools.cache
def included(path: pathlib.Path) -> tuple[pathlib.Path, ...]:
    """The headers and tables of the tree that a file of C++ includes: one in quotation marks lies beside the
    file or below src/LIBRARY, one in angles is public or in src/LIBRARY/internal."""
    library, found = library_of(path), []
    for mark, name in re.findall(r'^ *#include (["<])([^">]+)', path.read_text(), re.M):
        public, _, rest = name.removeprefix("triton_runner/").partition("/")
        places = [path.parent / name, ROOT / "src" / library / name, TESTS / "unit" / name]
        if mark == "<":
            places = [PUBLIC / name, ROOT / "src" / public / "internal" / rest]
        found += [one.resolve() for one in places if one.is_file()][:1]
    return tuple(dict.fromkeys(found))


@functools.cache
def included_by_way(path: pathlib.Path) -> frozenset[pathlib.Path]:
    """The headers and tables that a file of C++ includes, and those that these include."""
    found: set[pathlib.Path] = set()
    at = {path}
    while at := {one for file in at for one in included(file)} - found:
        found |= at
    return frozenset(found)


@functools.cache
def once_an_isa() -> frozenset[pathlib.Path]:
    """The headers that files compiled once an instruction set include, which others include too."""
    files = [path for place in ONCE_AN_ISA for path in sources(ROOT / place)]
    return frozenset(one for path in files for one in included_by_way(path) if one.suffix == ".h")


def loud() -> list[str]:
    """Files of src and include that print, exit, throw or read the environment."""
    wrong = []
    for path in sorted([*(ROOT / "src").rglob("*"), *PUBLIC.rglob("*")]):
        name = str(path.relative_to(ROOT))
        if path.suffix not in (".cpp", ".h", ".inc") or path.stem.endswith("_test"):
            continue
        code = re.sub(r"//.*", "", path.read_text())
        if (found := LOUD.search(code)) and not name.startswith(tuple(MAY_BE_LOUD)):
            line = code.count("\n", 0, found.start()) + 1
            wrong.append(f"{name}:{line}: has {found[0]!r}: return a base::Diagnostic or an exec::Trap")
    return wrong


def rows_of_libraries() -> list[str]:
    """Whether the table of doc/internals/architecture.md lets a folder include what CMakeLists.txt links."""
    linked = re.findall(r"^runner_library\((\w+)([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    names = {name for name, _ in linked}
    page = (ROOT / "doc" / "internals" / "architecture.md").read_text()
    rows = {
        name: set(re.findall(r"`(\w+)`", may))
        for name, may in re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", page, re.M)
    }
    return [
        f"doc/internals/architecture.md: CMakeLists.txt links {name} with {sorted(own) or 'nothing'}"
        for name, words in linked
        if (own := names & set(words.split())) != rows.get(name)
    ]


def check() -> list[str]:
    """Returns what is wrong, a line each."""
    known = reached("triton_runner/triton_runner.h", set()) | ALONE
    public = sorted(str(path.relative_to(PUBLIC)) for path in PUBLIC.rglob("*") if path.is_file())
    wrong = [
        f"include/{name}: include it in triton_runner.h, which is all of the API"
        for name in public
        if name not in known
    ]
    wrong += [one for path in sources(TILE) for one in wrong_in_tile(path, path.read_text())]
    of_deploy = [path for top in (ROOT / "src", PUBLIC / "triton_runner") for path in sources(top / "deploy")]
    wrong += [one for path in of_deploy for one in wrong_part(path, path.read_text())]
    return wrong + rows_of_libraries() + check_simt() + names_given_twice() + loud()


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "every include leads down")
    print("src/simt: {} rooms, {} floors, {} arrows".format(*simt_count()))
    sys.exit(bool(found))
