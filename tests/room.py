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
CASES = {  # the golden cases that reach a folder of src, beside unit tests: of the longest name that fits
    "ir": ["tests/cases/bad-input", "tests/cases/op"],
    "ptx": ["tests/cases/ptx"], "lanes": ["tests/cases/ptx"],
    "sass": ["tests/cases/sass"], "amdgcn": ["tests/cases/amdgcn"], "simt": ["tests/cases/ptx"],
    "simt/front/sass": ["tests/cases/sass"], "simt/front/amdgcn": ["tests/cases/amdgcn"],
    "tile": ["tests/cases/op", "tests/cases/tile"],
    "tile/check": ["tests/cases/check", "tests/python/checks"],
    "tile/machine": ["tests/cases/op", "tests/cases/tile-gpu"], "probe/insert": ["tests/cases/insert"],
    "num": ["tests/cases/op"], "machine": ["tests/cases/tile-gpu", "tests/cases/ptx"],
    "layout": ["tests/golden/layouts.txt"],
}  # fmt: skip
PARTS = ("command", "run", "text", "results")  # of a verb: no subject of a test
PAGE = {
    "num": "numerics.md",
    "layout": "layouts.md",
    "lanes": "simt.md",
    "machine": "hardware.md",
    "deploy": "devices.md",
}


def plain(cell: str) -> str:
    """The words of a table's cell, without marks and links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").strip()


def table(page: str) -> dict[str, tuple[list[str], str]]:
    """The rows of a page of doc/internals by each name that stands in their first cell in code font: their
    cells, and the page that a row links to, or else this one."""
    rows = {}
    for line in (PAGES / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        in_layers = cells and re.fullmatch("[a-z]*", cells[0])  # the name is in the second column
        for name in re.findall(r"`([\w/]+)`", " ".join(cells[: 2 if in_layers else 1])):
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


def headers(path: pathlib.Path) -> list[pathlib.Path]:
    """A header itself; of a source file the header beside it, else those that declare what it defines."""
    if path.suffix in (".h", ".def"):
        return [path]
    if path.with_suffix(".h").is_file():
        return [path.with_suffix(".h")]
    library = path.relative_to(ROOT / "src").parts[0]
    places = [f"src/{library}", f"include/triton_runner/{library}"]
    staged = [*(ROOT / places[0]).glob(f"internal/{path.stem}.h"), *(ROOT / places[1]).glob(f"{path.stem}.h")]
    classes = dict.fromkeys(re.findall(r"^[\w:<>*& ]*\b([A-Z]\w+)::~?\w+\([^;]*\{$", path.read_text(), re.M))
    declared = [ROOT / one for name in classes for one in grep(rf"^(class|struct) {name}\b[^;]*\{{", *places)]
    public = [
        ROOT / "include" / one for one in re.findall(rf"<(triton_runner/{library}/\w+\.h)>", path.read_text())
    ]
    return (
        staged
        or [one for one in declared if one.suffix == ".h"]
        or [one for one in public if one.is_file()][:1]
    )


def includers(header: pathlib.Path) -> list[str]:
    """The files that include a header, as it lies or as its folder stages it."""
    found = []
    places = "src", "include", "python/bindings", "tests/unit"
    for name in grep(rf"#include .*\b{re.escape(header.name)}[\">]", *places):
        for included in re.findall(r'#include ["<]([^">]+)[">]', (ROOT / name).read_text()):
            beside = (ROOT / name).parent / included
            staged = str(header).replace("/internal/", "/")
            same = staged.endswith(f"/{included.removeprefix('triton_runner/')}") or str(header).endswith(
                f"/{included}"
            )
            if (beside == header if beside.is_file() else same) and name not in found:
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
    page = next(
        (one for one in (PAGE.get(library), f"{library}.md") if one and (PAGES / one).is_file()), page
    )
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
        if not room and path.stem in folders.ON_TOP:
            under = "all folders of src/tile, above which it stands"
        page = "tile-engine.md"
        may = f"the core (src/tile itself) and {under}; {may}"
    elif len(inside.parts) > 2 and inside.parts[-2] != "internal":
        facts.append(("room", f"src/{inside.parent}: {plain(rows[str(inside.parent)][0][-1])}"))
    users = [name for header in headers(path) for name in includers(header) if ROOT / name != path]
    tests = [name for name in users if name.endswith("_test.cpp")]
    tests += [str(beside.relative_to(ROOT)) for beside in path.parent.glob(f"{path.stem}_test.cpp")]
    if not tests:
        tests = [str(one.relative_to(ROOT)) for one in sorted(path.parent.glob("*_test.cpp"))]
    nearest = max((name for name in CASES if f"{inside.parent}/".startswith(f"{name}/")), key=len, default="")
    handlers = re.findall(r"^[\w:<>*& ]+ lower_(\w+)\([^;]*\{$", path.read_text(), re.M)
    facts += [
        ("includes", may),
        (
            "is used by",
            shown(
                [*dict.fromkeys(n for n in users if n not in tests)] or [f"the row of {n}" for n in handlers]
            ),
        ),
        ("tests", shown([*dict.fromkeys(tests), *CASES.get(nearest, [])], "those of who uses it")),
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
    if path.parent == layers.PACKAGE:
        facts.append(("room", f"triton_runner.{room}: programs import it, and its names are promised"))
    elif row:
        facts.append(("room", f"{room}: {plain(row[0][-1])}"))
    if path.parent != layers.PACKAGE and path.parent.name != room and folder.is_file() and folder != path:
        facts.append(("folder", f"{path.parent.relative_to(layers.PACKAGE)}: {opening(folder)}"))
    is_room = path == folder and path.parent != layers.PACKAGE  # used by who imports a module of it
    short = name.rpartition(".")[2]
    users = [
        other for other, there in known.items()
        if not (is_room and there.is_relative_to(path.parent)) and short in there.read_text()
        for imported in [{imported for imported, *_ in layers.Module(there, known).imports}]
        if name in imported or (is_room and any(one.startswith(f"{name}.") for one in imported))
    ]  # fmt: skip
    if path.stem not in ("__init__", *PARTS):
        started = grep(rf'["/]{path.name}"', "python/triton_runner")
        users += [one.removeprefix("python/triton_runner/")[:-3].replace("/", ".") for one in started]
    dotted = re.escape(f"triton_runner.{name}") if name != "triton_runner" else "import triton_runner"
    package, _, last = name.rpartition(".")
    named = rf"from triton_runner\.?{re.escape(package)} import .*\b{last}\b"
    pattern = rf"{dotted}($|[^.\w])|from {dotted} import|{named}"
    verb = name.split(".")[1] if room == "verbs" and "." in name else ""
    tests = [one for one in grep(pattern, "tests") if "/test_" in one]
    if verb and not tests:
        tests = [str(one.relative_to(ROOT)) for one in (ROOT / "tests" / "python" / verb).glob("test_*.py")]
        tests = tests or [one for one in grep(f'"{verb}"', "tests/python") if "/test_" in one]
    if not tests and users:
        tests = grep(
            "|".join(rf"triton_runner\.{re.escape(user)}\b" for user in users), "tests/python/*/test_*"
        )
        verbs = {user.split(".")[1] for user in users if user.startswith("verbs.")}
        if not tests and verbs:
            tests = [one for one in grep(f'"({"|".join(verbs)})"', "tests/python") if "/test_" in one]
    last = verb if last in PARTS else last
    near = (path.parent.name if path.parent.name != "triton_runner" else last).lstrip("_")
    tests = tests or [str(one.relative_to(ROOT)) for one in (ROOT / "tests/python").glob(f"*/test_{near}.py")]
    tests += [str(one.relative_to(ROOT)) for one in (ROOT / "tests" / "python" / near).glob("test_*.py")]
    tests = list(dict.fromkeys(tests))
    tests.sort(
        key=lambda one: (
            f"test_{last}" not in one,
            f"test_{verb or near}" not in one,
            f"/{near}/" not in one,
            one,
        )
    )
    under = [one for _, held in layers.LAYERS[:rank] for one in held.split()]
    inner = " (its folders have an order, with which the row above ends)" if room == "_kernel" else ""
    may = f"its own room{inner or f' ({room})'}, and {', '.join(under) or 'the standard library'}"
    if verb:
        others = [f"verbs.{to}, for {why}" for (one, to), why in layers.BETWEEN.items() if one == verb]
        may = f"its own folder, and of other verbs {'; '.join(others) or 'none'}; {', '.join(under)}"
    facts += [
        ("imports", f"{may}; less, where its opening says so"),
        ("is used by", shown(sorted(dict.fromkeys(users)))),
        ("tests", shown(tests, "those of who uses it")),
        ("page", page_of(path, verb)),
        ("try", f"pytest -q {tests[0]}" if tests else "make test"),
    ]
    return facts


def page_of(path: pathlib.Path, verb: str) -> str:
    """The guide of a verb, or the page of internals or reference that names the module most."""
    guide = ROOT / "doc" / "guide" / f"{verb}.md"
    if verb and guide.is_file():
        return str(guide.relative_to(ROOT))
    own = path.stem if path.parent == layers.PACKAGE else path.parent.name.lstrip("_")
    words = (
        [f"triton-runner {verb}\\b"]
        if verb
        else [f"{path.parent.name}/{path.name}", f"triton_runner.{own}\\b"]
    )
    places = ["doc/guide"] if verb else ["doc/internals", "doc/reference"]
    for word in words:
        count = {one: len(re.findall(word, (ROOT / one).read_text())) for one in grep(word, *places)}
        if count:
            return max(count, key=lambda one: count[one])
        if not verb and (PAGES / f"{own}.md").is_file():
            return f"doc/internals/{own}.md"
    return "doc/internals/architecture.md"


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
