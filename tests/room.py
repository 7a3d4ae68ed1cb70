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
OUTSIDE = "python/bindings", "tools", "benchmark", "examples"  # of the package, whose modules they use
CASES = {  # golden cases and Python tests that reach a folder of src, beside unit tests: of the longest name
    "ir": ["tests/cases/bad-input", "tests/cases/op", "tests/python/tile/test_ir.py",
           "tests/releases/test_ir.py"],
    "ptx": ["tests/cases/ptx"], "lanes": ["tests/cases/ptx"], "simt": ["tests/cases/ptx"],
    "simt/front/ptx": ["tests/cases/ptx", "tests/python/ptx/test_ptx_arithmetic.py"],
    "sass": ["tests/python/sass/test_rows.py", "tests/python/ptx/test_sass_pairs.py",
             "tests/python/ptx/test_hazards.py", "tests/cases/sass"],
    "simt/front/sass": ["tests/cases/ptx (run again as machine code)", "tests/python/ptx/test_sass.py",
                        "tests/python/ptx/test_sass_pairs.py"],
    "probe/sass": ["tests/cases/sass"],  # where registers hold values: nothing of it is executed
    "amdgcn": ["tests/cases/amdgcn"], "simt/front/amdgcn": ["tests/cases/amdgcn"],
    "tile": ["tests/cases/op", "tests/cases/tile"],
    "tile/check": ["tests/cases/check", "tests/python/checks"],
    "tile/machine": ["tests/cases/op", "tests/cases/tile-gpu"], "probe/insert": ["tests/cases/insert"],
    "num": ["tests/cases/op"], "machine": ["tests/cases/tile-gpu", "tests/cases/ptx"],
    "layout": ["tests/golden/layouts.txt"],
}  # fmt: skip
PUBLIC = ast.literal_eval(  # public name: the module that has it
    re.search(r"^_NAMES = (\{.*?^\})", (layers.PACKAGE / "__init__.py").read_text(), re.M | re.S)[1]
)
PARTS = ("command", "run", "text", "results")  # of a verb: no subject of a test
PAGE = {
    "num": "numerics.md",
    "layout": "layouts.md",
    "lanes": "simt.md",
    "machine": "hardware.md",
    "deploy": "devices.md",
    "amdgcn": "simt-amdgcn.md",
    "sass": "simt-sass.md",
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


def opening(path: pathlib.Path, whole: bool = False) -> str:
    """The first paragraph of a file's docstring or leading comment; or the whole of it."""
    text = path.read_text()
    if path.suffix == ".py":
        words = ast.get_docstring(ast.parse(text)) or ""
        return " ".join((words if whole else words.split("\n\n")[0]).split())
    lines = re.match(r"(?://[^\n]*\n)*", text)[0].splitlines()
    return " ".join(" ".join(line[2:].strip() for line in lines).split())


def grep(pattern: str, *places: str) -> list[str]:
    """The files of the tree under some places in which a pattern is found."""
    command = ["git", "grep", "-lE", pattern, "--", *places]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split()


def told(path: pathlib.Path) -> list[str]:
    """The tests that a file itself names: "It is tested through tests/python/launch/test_jit.py"."""
    found = re.search(r"\btested (?:by|through) (.*?)(?:\. |\.?$|\"\"\")", opening(path, whole=True))
    return re.findall(r"\btests/[\w/.-]*\w", found[1]) if found else []


def outside(path: pathlib.Path) -> str:
    """The text of a file of C++ without its anonymous namespaces, whose names no other file has."""
    return re.sub(r"^namespace \{$.*?^\}  // namespace$", "", path.read_text(), flags=re.M | re.S)


def defined(path: pathlib.Path) -> list[str]:
    """The classes whose members a source file defines; else its functions."""
    text = outside(path)
    classes = re.findall(r"^[\w:<>*& ]*\b([A-Z]\w+)::~?\w+\([^;]*\{$", text, re.M)
    return list(dict.fromkeys(classes or re.findall(r"^[\w:<>*&, ]+[ *&](\w+)\([^;]*\{$", text, re.M)))


def headers(path: pathlib.Path) -> list[pathlib.Path]:
    """A header itself; of a source file the header beside it, else those that declare what it defines."""
    if path.suffix in (".h", ".def"):
        return [path]
    if path.with_suffix(".h").is_file():
        return [path.with_suffix(".h")]
    library = path.relative_to(ROOT / "src").parts[0]
    places = [f"src/{library}", f"include/triton_runner/{library}"]
    staged = [*(ROOT / places[0]).glob(f"internal/{path.stem}.h"), *(ROOT / places[1]).glob(f"{path.stem}.h")]
    names = "|".join(defined(path)) or "-"
    declared = [ROOT / one for one in grep(rf"^(class|struct) ({names})\b[^;]*\{{", *places)]
    declared += (
        [ROOT / one for one in grep(rf"^[^#/]*[ *&]({names})\([^{{]*;", *places)] if not declared else []
    )
    return staged or [one for one in dict.fromkeys(declared) if one.suffix == ".h"]


def users_of(path: pathlib.Path) -> list[str]:
    """The files that include a file's own header. Of one that shares its header those that name its class,
    and of the other files of that class those that call what this one defines; or that name its functions."""
    near = headers(path)
    if path in near or any(one.stem == path.stem for one in near):
        return [name for header in near for name in includers(header) if ROOT / name != path]
    names, library = "|".join(defined(path)) or "-", path.relative_to(ROOT / "src").parts[0]
    calls = "|".join(re.findall(r"^[\w:<>*& ]*\b[A-Z]\w+::(\w+)\(", outside(path), re.M)) or "-"
    found = grep(rf"\b({names})\b", f"src/{library}") if near else []
    for name in dict.fromkeys([*found, *(name for header in near for name in includers(header))]):
        text = (ROOT / name).read_text()
        is_part = re.search(rf"^[\w:<>*& ]*\b({names})::\w+\([^;]*\{{$", text, re.M)
        pattern = rf"\b({calls})\(" if is_part else rf"\b({names})\b"
        if ROOT / name in (path, *near) or not re.search(pattern, text):
            found = [one for one in found if one != name]
        elif name not in found:
            found.append(name)
    return found


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
    users = users_of(path)
    tests = [*told(path), *(name for name in users if name.endswith("_test.cpp"))]
    tests += [str(beside.relative_to(ROOT)) for beside in path.parent.glob(f"{path.stem}_test.cpp")]
    folder = [str(one.relative_to(ROOT)) for one in sorted(path.parent.glob("*_test.cpp"))]
    nearest = max((name for name in CASES if f"{inside.parent}/".startswith(f"{name}/")), key=len, default="")
    cases = CASES.get(nearest, [])
    handlers = re.findall(r"^[\w:<>*& ]+ lower_(\w+)\([^;]*\{$", outside(path), re.M)
    python = [one for one in [*tests, *cases] if one.startswith("tests/python/")]
    facts += [
        ("includes", may),
        ("is used by", shown([n for n in users if n not in tests] or [f"the row of {n}" for n in handlers])),
        (
            "tests",
            grouped([("", tests), ("of the folder: ", [] if tests else folder), ("", cases)])
            or "those of who uses it",
        ),
        ("page", page_naming([path, *(one for one in headers(path) if one.stem == path.stem)], page)),
        (
            "try",
            "; ".join(['make test PARTS="build unit cases"', *(f"pytest -q {one}" for one in python[:2])]),
        ),
    ]
    return facts


def page_naming(files: list[pathlib.Path], otherwise: str) -> str:
    """The page of a room, unless only another one of internals names a file of it."""
    names = "|".join(re.escape(str(one.relative_to(ROOT))) for one in files)
    pages = [one for one in grep(rf"\b({names})", "doc/internals") if not one.endswith("architecture.md")]
    page = str((PAGES / otherwise).resolve().relative_to(ROOT))
    return pages[0] if pages and page not in pages else page


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
    package, _, short = name.rpartition(".")
    beneath = re.escape(f"triton_runner.{package}".rstrip("."))
    users = [
        other for other, there in known.items()
        if not (is_room and there.is_relative_to(path.parent))
        if re.search(rf"{beneath}(\.{short}\b| import)", there.read_text())  # the others need no parser
        for imported in [{imported for imported, *_ in layers.Module(there, known).imports}]
        if name in imported or (is_room and any(one.startswith(f"{name}.") for one in imported))
    ]  # fmt: skip
    if path.stem not in ("__init__", *PARTS):
        started = grep(rf'["/]{path.name}"', "python/triton_runner")
        users += [one.removeprefix("python/triton_runner/")[:-3].replace("/", ".") for one in started]
    verb = name.split(".")[1] if room == "verbs" and "." in name else ""
    users = sorted(dict.fromkeys(users))
    own, use = tests_of(name, path)
    own = list(dict.fromkeys([*told(path), *own]))
    tests = [("", own), ("that use it: ", [one for one in use if one not in own])]
    if not own:
        through = ((user, tests_of(user, known[user])[0]) for user in users if user in known)
        tests += [(f"through {user}: ", found[:3]) for user, found in through if found][:2]
    every = [one for _, found in tests for one in found if one.startswith("tests/python/")]
    under = [one for _, held in layers.LAYERS[:rank] for one in held.split()]
    inner = " (its folders have an order, with which the row above ends)" if room == "_kernel" else ""
    may = f"its own room{inner or f' ({room})'}, and {', '.join(under) or 'the standard library'}"
    if verb:
        others = [f"verbs.{to}, for {why}" for (one, to), why in layers.BETWEEN.items() if one == verb]
        may = f"its own folder, and of other verbs {'; '.join(others) or 'none'}; {', '.join(under)}"
    facts += [
        ("imports", f"{may}; less, where its opening says so"),
        (
            "is used by",
            grouped([("", users), ("", [one for place in OUTSIDE for one in grep(named(name), place)])])
            or "nobody by name",
        ),
        ("tests", grouped(tests) or "those of who uses it"),
        ("page", page_of(path, verb)),
        ("try", f"pytest -q {every[0]}" if every else "make test"),
    ]
    return facts


def named(name: str) -> str:
    """The pattern of what uses a module of the package: an import of it, or a public name that it has."""
    if name == "triton_runner":
        return "^ *import triton_runner$"
    package, _, last = name.rpartition(".")
    dotted, room = re.escape(f"triton_runner.{name}"), re.escape(f"triton_runner.{package}".rstrip("."))
    names = [public for public, module in PUBLIC.items() if module == name]
    offered = rf"|\btriton_runner(\.| import .*\b)({'|'.join(names)})\b" if names else ""
    return rf"{dotted}($|[^.\w])|from {dotted} import|from {room} import .*\b{last}\b{offered}"


def tests_of(name: str, path: pathlib.Path) -> tuple[list[str], list[str]]:
    """The tests of a module, which have its name or that of its folder or verb, and others that use it."""
    verb = name.split(".")[1] if name.startswith("verbs.") else ""
    last = verb if path.stem in PARTS else path.parent.name if path.stem == "__init__" else path.stem
    near = verb or (path.parent.name if path.parent != layers.PACKAGE else last).lstrip("_")
    last = last.lstrip("_")[:7]  # test_translate.py is of _pipeline.translation
    found = [one for one in grep(named(name), "tests") if "/test_" in one]
    if verb and not found:
        found = [*grep("", f"tests/python/{near}/test_*"), *grep("", f"tests/python/*/test_{near}.py")]
        found = found or [one for one in grep(f'"{verb}"', "tests/python") if "/test_" in one]
        last = ""  # they are of each module of the verb
    found += grep("", f"tests/python/*/test_{last}.py")
    found = sorted(set(found), key=lambda one: (f"/test_{last}" not in one, f"/{near}/" not in one, one))
    words = (f"_{last}", f"/{verb}/", f"_{verb}") if verb else (f"_{last}",)
    own = [one for one in found if any(word in one for word in words)]
    return own, [one for one in found if one not in own]


def page_of(path: pathlib.Path, verb: str) -> str:
    """The guide of a verb, or the page of internals or reference that names the module most."""
    guide = ROOT / "doc" / "guide" / f"{verb}.md"
    if verb and guide.is_file():
        return str(guide.relative_to(ROOT))
    if verb:
        shows = [
            one for one in grep(rf"^\$ .*triton-runner {verb}\b", "doc") if one != "doc/reference/cli.md"
        ]
        return ", ".join(["doc/reference/cli.md", *shows[:2]])
    own = path.stem if path.parent == layers.PACKAGE else path.parent.name.lstrip("_")
    for word in (f"{path.parent.name}/{path.name}", f"triton_runner.{own}\\b"):
        places = grep(word, "doc/internals", "doc/reference")
        if places:
            return max(places, key=lambda one: len(re.findall(word, (ROOT / one).read_text())))
        if (PAGES / f"{own}.md").is_file():
            return f"doc/internals/{own}.md"
    return "doc/internals/architecture.md"


def shown(names: list[str], otherwise: str = "nobody by name", most: int = 6) -> str:
    """Names in a line, the first of them."""
    names = list(dict.fromkeys(names))
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else otherwise


def grouped(groups: list[tuple[str, list[str]]]) -> str:
    """Groups of names in a line, each with the words that stand before it."""
    return "; ".join(words + shown(names) for words, names in groups if names)


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
