"""Says where a file stands: what its room holds, what it may include or import, who uses it, which page
describes the room, and which tests reach the file. Ask it before you edit a file that you do not know:

    $ python tests/room.py src/simt/ops/warp.cpp

All of it is read from what the tree says already: the tables of doc/internals, CMakeLists.txt, the layers of
tests/layers.py and the rooms of tests/folders.py, which lint compares with the code."""

import ast
import pathlib
import re
import subprocess
import sys

import folders
import layers

ROOT = folders.ROOT
PAGES = ROOT / "doc" / "internals"
CASES = {  # the golden cases that reach a library of src, beside its own unit tests
    "ir": "tests/cases/ir", "ptx": "tests/cases/ptx", "lanes": "tests/cases/ptx", "sass": "tests/cases/sass",
    "amdgcn": "tests/cases/amdgcn", "simt": "tests/cases/ptx", "tile": "tests/golden", "num": "tests/golden",
    "layout": "tests/golden",
}  # fmt: skip


def plain(cell: str) -> str:
    """The words of a table's cell, without marks and links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").strip()


def table(page: str) -> dict[str, tuple[list[str], str]]:
    """The rows of a page of doc/internals by each name that stands in their first cell in code font: their
    cells, and the page that a row links to, or else this one."""
    rows = {}
    for line in (PAGES / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        for name in re.findall(r"`([\w/]+)`", " ".join(cells[:2] if cells and not cells[0] else cells[:1])):
            links = re.findall(r"\]\(([\w./-]+\.md)[^)]*\)", line)
            rows.setdefault(name.rstrip("/"), (cells, links[0] if links else page))
    return rows


def opening(path: pathlib.Path) -> str:
    """The first paragraph of a file's docstring or leading comment."""
    text = path.read_text()
    if path.suffix == ".py":
        return " ".join((ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].split())
    lines = re.match(r"(?://[^\n]*\n)*", text)[0].splitlines()
    return " ".join(" ".join(line[2:].strip() for line in lines).split())


def grep(pattern: str, *places: str) -> list[str]:
    """The files of the tree under some places in which a pattern is found."""
    command = ["git", "grep", "-lE", pattern, "--", *places]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split()


def includers(path: pathlib.Path) -> list[str]:
    """The files that include a file of src, or the header beside it."""
    header = path if path.suffix in (".h", ".def") else path.with_suffix(".h")
    found = []
    for name in grep(
        rf"#include .*\b{re.escape(header.name)}[\">]", "src", "include", "python/bindings", "tests/unit"
    ):
        for included in re.findall(r'#include ["<]([^">]+)[">]', (ROOT / name).read_text()):
            beside = (ROOT / name).parent / included
            staged = str(header).replace("/internal/", "/")  # as the folder's own headers are staged
            is_it = (
                beside == header
                if beside.is_file()
                else f"{staged} ".endswith(f"/{included.split('triton_runner/')[-1]} ")
            )
            if is_it and ROOT / name != path and name not in found:
                found.append(name)
    return found


def below(library: str, rows: dict) -> list[str]:
    """The libraries of src that a library's files may include, the near ones first."""
    found: list[str] = []
    for name in re.findall(r"`(\w+)`", rows[library][0][-1]):
        found += [other for other in [name, *below(name, rows)] if other not in found]
    return list(dict.fromkeys(found))


def of_source(path: pathlib.Path) -> list[tuple[str, str]]:
    """Tells a file of src: (word, fact) a row."""
    rows, inside = table("architecture.md"), path.relative_to(ROOT / "src")
    library = inside.parts[0]
    cells, page = rows[library]
    facts = [("library", f"src/{library}: {plain(cells[1])}")]
    may = ", ".join(below(library, rows)) or "nothing else of src"
    if library == "simt":
        room = folders.simt_room(path)
        inner, _ = table("simt.md")[room]
        under = ", ".join(folders.SIMT_ROOMS[: folders.SIMT_ROOMS.index(room)]) or "no other room"
        facts.append(("room", f"src/simt/{room}: {plain(inner[-1])}"))
        may = f"its own room; of src/simt {under}; {may}"
        page = "simt-amdgcn.md" if "amdgcn" in room else "simt-sass.md" if "sass" in room else "simt.md"
    elif library == "tile":
        room = path.parent.name if path.parent.name in folders.MAY_INCLUDE else ""
        holds = table("tile-engine.md")[room][0][1] if room else "the core, and what makes up a launch"
        facts.append(("room", f"src/tile{room and '/'}{room}: {plain(holds)}"))
        under = ", ".join(sorted(folders.MAY_INCLUDE[room])) or "no other folder"
        may = f"the core (src/tile itself) and {under}; {may}"
    elif len(inside.parts) > 2:
        facts.append(("room", f"src/{inside.parent}"))
    users = includers(path)
    tests = [name for name in users if name.endswith("_test.cpp")]
    tests += [
        str(beside.relative_to(ROOT))
        for beside in [path.with_name(f"{path.stem}_test.cpp")]
        if beside.is_file()
    ]
    cases = (
        "tests/cases/amdgcn"
        if "amdgcn" in inside.parts
        else "tests/cases/sass"
        if "sass" in inside.parts
        else ""
    )
    cases = cases or CASES.get(library, "")
    rows_of = [
        f"the row of {name}" for name in dict.fromkeys(re.findall(r"\blower_(\w+)\(", path.read_text()))
    ]
    facts += [
        ("includes", may),
        ("is used by", shown([name for name in users if name not in tests] or rows_of)),
        (
            "tests",
            shown([*dict.fromkeys(tests), *([cases] if cases else [])], "those of who uses it"),
        ),
        ("page", str((PAGES / page).resolve().relative_to(ROOT))),
        ("try", 'make test PARTS="build unit cases"'),
    ]
    return facts


def of_module(path: pathlib.Path) -> list[tuple[str, str]]:
    """Tells a module of the Python package: (word, fact) a row."""
    known = layers.modules()
    name = next(name for name, there in known.items() if there == path)
    room = layers.folder_of(name)
    rank = layers.RANKS[room]
    row = table("architecture.md").get(room)
    folder = path.parent / "__init__.py"
    facts = [("layer", layers.LAYERS[rank][0])]
    if row:
        facts.append(("room", f"{room}: {plain(row[0][-1])}"))
    if path.parent.name != room and folder.is_file() and folder != path:
        facts.append(("folder", f"{path.parent.relative_to(layers.PACKAGE)}: {opening(folder)}"))
    under = [one for _, held in layers.LAYERS[:rank] for one in held.split()]
    users = [
        other for other, module in ((n, layers.Module(p, known)) for n, p in known.items())
        if any(imported == name for imported, *_ in module.imports)
    ]  # fmt: skip
    dotted = re.escape(f"triton_runner.{name}") if name != "triton_runner" else "import triton_runner"
    package, _, last = name.rpartition(".")
    pattern = rf"{dotted}\b|from triton_runner\.?{re.escape(package)} import .*\b{last}\b"
    verb = name.split(".")[1] if room == "verbs" and "." in name else ""
    guide = ROOT / "doc" / "guide" / f"{verb}.md"
    page = str(guide.relative_to(ROOT)) if verb and guide.is_file() else "doc/internals/architecture.md"
    tests = [one for one in grep(pattern, "tests") if "/test_" in one]
    if verb and not tests:
        own = (ROOT / "tests" / "python" / verb).glob("test_*.py")
        tests = sorted(str(one.relative_to(ROOT)) for one in own)
        tests = tests or [one for one in grep(f'"{verb}"', "tests/python") if "/test_" in one]
    if not tests and users:
        tests = grep(
            "|".join(rf"triton_runner\.{re.escape(user)}\b" for user in users), "tests/python/*/test_*"
        )
        verbs = {user.split(".")[1] for user in users if user.startswith("verbs.")}
        tests = tests or [
            one for one in grep(f'"({"|".join(verbs) or "-"})"', "tests/python") if "/test_" in one
        ]
    facts += [
        ("imports", f"its own room, and {', '.join(under) or 'the standard library'}"),
        ("is used by", shown(sorted(users))),
        ("tests", shown(tests, "those of who uses it")),
        ("page", page),
        ("try", f"pytest -q {tests[0]}" if tests else "make test"),
    ]
    return facts


def shown(names: list[str], otherwise: str = "nobody by name", most: int = 6) -> str:
    """Names in a line, the first of them."""
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else otherwise


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments else 2
    for argument in arguments:
        path = pathlib.Path(argument).resolve()
        if not path.is_file():
            print(f"{argument}: no such file", file=sys.stderr)
            return 2
        if path.is_relative_to(ROOT / "src"):
            facts = of_source(path)
        elif path.is_relative_to(layers.PACKAGE):
            facts = of_module(path)
        else:
            print(f"{argument}: not in src or python/triton_runner, whose rooms this tells", file=sys.stderr)
            return 2
        print(f"{path.relative_to(ROOT)}: {opening(path)}")
        print("".join(f"  {word:<11} {fact}\n" for word, fact in facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
