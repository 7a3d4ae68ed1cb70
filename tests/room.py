"""Says where a file stands: what its room holds, what it may include or import, who uses it, which page
describes the room, and which tests reach the file. Ask it before you edit a file that you do not know:

    $ python tests/room.py src/simt/ops/warp.cpp

All of it is read from what the tree says already: the tables of doc/internals, CMakeLists.txt, the layers of
tests/layers.py and the rooms of tests/folders.py, which lint compares with the code."""

import ast
import functools
import itertools
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
    "ptx": ["tests/cases/ptx"], "replay": ["tests/python/profile/test_replay.py"],
    "lanes": ["src/ptx/alu_test.cpp", "src/ptx/approx_test.cpp", "tests/cases/ptx", "tests/cases/amdgcn",
              "tests/python/ptx/test_ptx_arithmetic.py"],
    "simt": ["tests/cases/ptx (run again as machine code)", "tests/cases/amdgcn"],
    "simt/front/ptx": ["tests/cases/ptx", "tests/python/ptx/test_ptx_arithmetic.py"],
    "sass": ["tests/python/sass/test_rows.py", "tests/python/ptx/test_sass_pairs.py",
             "tests/python/ptx/test_hazards.py", "tests/cases/sass"],
    "simt/front/sass": ["tests/cases/ptx (run again as machine code)", "tests/python/ptx/test_sass.py",
                        "tests/python/ptx/test_sass_pairs.py"],
    "probe/sass": ["tests/cases/sass"],  # where registers hold values: nothing of it is executed
    "amdgcn": ["tests/cases/amdgcn", "tests/python/amdgcn"],
    "simt/front/amdgcn": ["tests/cases/amdgcn", "tests/python/amdgcn"],
    "tile": ["build/golden/op (made by tests/golden)", "tests/cases/op", "tests/cases/tile"],
    "tile/check": ["tests/cases/check", "tests/python/checks"],
    "tile/machine": ["build/golden/op and build/golden/tile-gpu (made by tests/golden)",
                     "tests/cases/tile-gpu", "tests/cases/op", "tests/cases/bad-input", "tests/cases/tile"],
    "probe/insert": ["tests/cases/insert"],
    "artifact": ["tests/python/artifact", "tests/python/amdgcn/test_hsaco.py"],
    "deploy": ["tests/python/artifact/test_deploy.py"],
    "report": ["tests/python/see/test_source_map.py"],
    "device": ["tests/python/launch/test_amd_launch.py", "tests/python/launch/test_device_fake.py",
               "tests/python/launch/test_gpu_launch.py"],
    "launch": ["tests/python/launch/test_gpu_launch.py", "tests/python/launch/test_amd_launch.py"],
    "num": ["build/golden/op (made by tests/golden)", "tests/cases/op", "tests/cases/tile"],
    "machine": ["tests/cases/tile-gpu", "tests/cases/ptx"],
    "layout": ["src/tile/machine/encoding_test.cpp (on tests/golden/layouts.txt)",
               "tests/python/see/test_layout.py", "tests/python/cli/mistakes/layout.txt"],
}  # fmt: skip
PUBLIC = ast.literal_eval(  # public name: the module that has it
    re.search(r"^_NAMES = (\{.*?^\})", (layers.PACKAGE / "__init__.py").read_text(), re.M | re.S)[1]
)
TABLES = {  # whose rows name the handlers of a folder
    "tile": "include/triton_runner/ir/ops.def",
    "simt/front/ptx": "include/triton_runner/ptx/opcodes.def",
    "simt/front/sass": "src/sass/internal/opcodes.def",
    "simt/front/amdgcn": "src/amdgcn/internal/opcodes.def",
}
UMBRELLA = ROOT / "include" / "triton_runner" / "triton_runner.h"  # includes all, and uses nothing
PARTS = ("command", "run", "text", "results")  # of a verb: no subject of a test
PAGE = {
    "num": "numerics.md",
    "layout": "layouts.md",
    "lanes": "simt.md",
    "machine": "hardware.md",
    "artifact": "devices.md",
    "device": "devices.md",
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
    """The tests that a file names itself: "It is tested through tests/python/launch/test_jit.py"."""
    found = re.search(r"\btested (?:by|through) (.*?)(?:\. |\.?$|\"\"\")", opening(path, whole=True))
    return re.findall(r"\b(?:tests|src)/[\w/.-]*\w", found[1]) if found else []


def described(path: pathlib.Path) -> str:
    """The page that a file names itself, or its folder: "It is described in doc/guide/shapes.md"."""
    openings = [opening(one, whole=True) for one in (path, path.parent / "__init__.py") if one.is_file()]
    found = (re.search(r"\bdescribed in (doc/[\w/.-]+\.md)", words) for words in openings)
    return next((one[1] for one in found if one), "")


def outside(path: pathlib.Path) -> str:
    """The text of a file of C++ without its anonymous namespaces, whose names no other file has."""
    return re.sub(r"^namespace \{$.*?^\}  // namespace$", "", path.read_text(), flags=re.M | re.S)


def defined(path: pathlib.Path) -> list[str]:
    """The classes whose members a source file defines; else its functions and tables."""
    text = outside(path)
    classes = re.findall(r"^[\w:<>*& ]*\b([A-Z]\w+)::~?\w+\([^;]*\{", text, re.M)
    functions = re.findall(r"^[\w:<>*&, ]+[ *&](\w+)\([^;{]*\)[\w ]*\{", text, re.M)
    tables = re.findall(r"^(?:extern )?const [\w:<>]+ (\w+)(?:\[\w*\])? = ", text, re.M)
    return list(dict.fromkeys(classes or [*functions, *tables]))


def declared(path: pathlib.Path) -> list[str]:
    """The types, functions and constants of a header."""
    text = outside(path)
    types = re.findall(r"^(?:class|struct|union|enum class|enum|using) (\w+)", text, re.M)
    functions = re.findall(r"^[^#/\s}][^(=]*[ *&](\w+)\(", text, re.M)
    constants = re.findall(r"^(?:inline |extern |static )*const(?:expr)? [\w:<> *]+ (\w+)", text, re.M)
    return list(dict.fromkeys([*types, *functions, *constants]))


@functools.cache
def files_of_cpp() -> list[pathlib.Path]:
    places = "src", "include", "python/bindings", "tests/unit", "tests/gpu", "fuzz", "benchmark"
    return [ROOT / one for one in grep("", *places) if one.endswith((".cpp", ".h", ".def"))]


@functools.cache
def included_by() -> dict[pathlib.Path, list[pathlib.Path]]:
    """The files that include each header, as it lies or as its folder stages it."""
    staged, found = {}, {}
    for header in files_of_cpp():
        name = str(header.relative_to(ROOT)).replace("/internal/", "/")
        staged[re.sub("^(src|include/triton_runner)/", "", name)] = header
    for file in files_of_cpp():
        library = str(file.relative_to(ROOT)).split("/")[1]
        for mark, name in re.findall(r'#include (["<])([^">]+)', file.read_text()):
            beside, short = file.parent / name, name.removeprefix("triton_runner/")
            if mark == "<" and short == name:
                continue  # the system's
            header = beside if beside.is_file() else staged.get(short) or staged.get(f"{library}/{short}")
            found.setdefault(header, []).append(file)
    return found


def headers(path: pathlib.Path) -> list[pathlib.Path]:
    """A header itself; of a source file the header beside it, else those that declare what it defines."""
    if path.suffix in (".h", ".def"):
        return [path]
    library = path.relative_to(ROOT).parts[:2]
    near = [one for one in files_of_cpp() if one.suffix == ".h" and library[1] in one.parts]
    names = set(defined(path))
    same = [one for one in near if one.stem == path.stem]
    same = [one for one in same if one.parent == path.parent] or [
        one for one in same if one.parent.name == "internal" or names & set(declared(one))
    ]
    rest = names - {name for one in same[:1] for name in declared(one)}
    rest = {name for name in rest if not same or name[0].islower()}  # members of a class that others define
    return same[:1] + [one for one in near if one not in same[:1] and rest & set(declared(one))]


def users_of(path: pathlib.Path) -> list[str]:
    """The files that use a header, or what a source file defines: those that call its functions come first,
    then those that name its types. Of one of the files that define a class, those that call its members."""
    near = headers(path)
    own = path in near or any(one.stem == path.stem for one in near)
    names = {*defined(path)}
    if own:
        near_names = [(header, name) for header in near for name in declared(header)]
        names = {name for header, name in near_names if header.stem == path.stem or name in names}
    if not near and names:  # a macro declares them
        among = str(path.parent if "front" in path.parts else ROOT / "src" / path.relative_to(ROOT).parts[1])
        return [one for one in grep(rf"\b({'|'.join(names)})\b", among) if ROOT / one != path]
    members = {*re.findall(r"^[\w:<>*& ]*\b[A-Z]\w+::(\w+)\(", outside(path), re.M)}
    direct = {one for header in near if header.stem == path.stem for one in included_by().get(header, ())}
    found, reached, at = {}, {*near, path, UMBRELLA}, {*near}
    for distance in itertools.count():
        including = {one for header in at for one in included_by().get(header, ())}
        at = including - reached
        if not at:
            return sorted(found, key=lambda one: (found[one], one))
        reached |= at
        for one in at:
            text = one.read_text()
            words = {*re.findall(r"\w+", text)}
            is_part = not own and re.search(rf"^[\w:<>*& ]*\b({'|'.join(names)})::\w+\([^;]*\{{", text, re.M)
            used = words & (members if is_part else names)
            if used or (one in direct and (one.suffix == ".cpp" or not names)):
                is_called = any(re.search(rf"\b{name}\(", text) for name in used if name[0].islower())
                found[str(one.relative_to(ROOT))] = (not is_called, distance, one.suffix == ".h")


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
    may = ", ".join([f"src/{library}", *below(library, rows)])
    if library == "simt":
        room = folders.simt_room(path)
        inner, _ = table("simt.md")[room]
        under = ", ".join(folders.SIMT_ROOMS[: folders.SIMT_ROOMS.index(room)]) or "no other room"
        facts.append(("room", f"src/simt/{room}: {plain(inner[-1])}"))
        may = f"its own room; of src/simt {under}; {', '.join(below(library, rows))}"
        page = "simt-amdgcn.md" if "amdgcn" in room else "simt-sass.md" if "sass" in room else "simt.md"
    elif library == "tile":
        room = path.parent.name if path.parent.name in folders.MAY_INCLUDE else ""
        holds = table("tile-engine.md")[room][0][1] if room else "the core, and what makes up a launch"
        facts.append(("room", f"src/tile{room and '/'}{room}: {plain(holds)}"))
        under = ", ".join(sorted(folders.MAY_INCLUDE[room])) or "no other folder"
        if not room and path.stem in folders.ON_TOP:
            under = "all folders of src/tile, above which it stands"
        page = "tile-engine.md"
        core = f"the core (src/tile but for {', '.join(sorted(folders.ON_TOP))})"
        may = f"its own folder, {core} and {under}; {', '.join(below(library, rows))}"
    elif len(inside.parts) > 2 and inside.parts[-2] != "internal":
        facts.append(("room", f"src/{inside.parent}: {plain(rows[str(inside.parent)][0][-1])}"))
    users = users_of(path)
    tests = [*told(path), *(name for name in users if name.endswith("_test.cpp"))]
    tests += [str(beside.relative_to(ROOT)) for beside in path.parent.glob(f"{path.stem}_test.cpp")]
    folder = [str(one.relative_to(ROOT)) for one in sorted(path.parent.glob("*_test.cpp"))]
    nearest = max((name for name in CASES if f"{inside.parent}/".startswith(f"{name}/")), key=len, default="")
    cases = CASES.get(nearest, [])
    handlers = rows_of(path)
    parts = "build unit isas cases" if inside.parts[1] == "simd" else "build unit cases"
    python = [one for one in [*tests, *cases] if one.startswith("tests/python/")]
    facts += [
        ("includes", may),
        ("is used by", shown([*handlers, *(one for one in users if one not in tests)])),
        (
            "tests",
            grouped([("", [*tests, *cases]), ("of the folder: ", [] if tests else folder)])
            or "those of who uses it",
        ),
        ("page", page_naming([path, *(one for one in headers(path) if one.stem == path.stem)], page)),
        (
            "try",
            "; ".join([f'make test PARTS="{parts}"', *(f"pytest -q {one}" for one in python[:2])]),
        ),
    ]
    return facts


def rows_of(path: pathlib.Path) -> list[str]:
    """The rows of a table of ops or opcodes that the handlers of a file have: "the row of tt.splat"."""
    table = next((one for folder, one in TABLES.items() if path.is_relative_to(ROOT / "src" / folder)), "")
    if not table:
        return []
    handlers = set(re.findall(r"^(?:void|bool) lower_(\w+)\([^;]*?\) \{", outside(path), re.M))
    found = []
    for row in re.split(r"^OP\(", (ROOT / table).read_text(), flags=re.M)[1:]:
        quoted, plain_text = re.findall(r'"([^"]*)"', row), re.sub(r'"[^"]*"', "", row.partition("\n\n")[0])
        words = re.findall(r"\bLOWER\((\w+)\)", plain_text) or re.findall(r"\w+", plain_text)
        if handlers & {*words}:
            named = quoted[0] if table.startswith("include/") else re.match(r"\w+", row)[0]
            found.append(f"the row of {named}")
    return found


def page_naming(files: list[pathlib.Path], otherwise: str) -> str:
    """The page of a room, unless only another one of internals names a file of it."""
    if described(files[0]):
        return described(files[0])
    paths = [str(one.relative_to(ROOT)) for one in files]
    staged = [one.removeprefix("src/").replace("/internal/", "/") for one in paths if "/internal/" in one]
    names = "|".join(map(re.escape, [*paths, *staged]))
    pages = grep(rf"\b({names})", "doc/internals")
    pages += ["doc/reference/checks.md"] if files[0].parent.name == "check" else []
    page = str((PAGES / otherwise).resolve().relative_to(ROOT))
    return ", ".join([*pages[:1], page]) if pages and page not in pages else page


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
        started = grep(rf'["/]{path.name}"', str(path.parent.relative_to(ROOT)))  # as a program, by its room
        users += [one.removeprefix("python/triton_runner/")[:-3].replace("/", ".") for one in started]
    verb = name.split(".")[1] if room == "verbs" and "." in name else ""
    users = sorted(dict.fromkeys(users))
    own, use = tests_of(name, path)
    of_folder = told(folder) if folder.is_file() else []
    own = list(dict.fromkeys([*told(path), *own, *sorted(of_folder, key=lambda one: one not in use)]))
    tests = [("", own), ("that use it: ", [one for one in use if one not in own])]
    words = set(re.findall("[a-z]+", name))
    of_the_verb = [one for one in of_verb(verb, path) if one not in own] if verb else []
    if not own:
        tests += through(users, words, known)[:2]
    near = of_the_verb and words - {verb} & set(re.findall("[a-z]+", of_the_verb[0]))
    tests.insert(1 if near or len(tests) < 3 else len(tests), ("of the verb: ", of_the_verb))
    every = [one for _, found in tests for one in found if one.startswith("tests/python/")]
    under = [one for _, held in layers.LAYERS[:rank] for one in held.split()]
    inner = " (its folders have an order, with which the row above ends)" if room == "_kernel" else ""
    may = f"its own room{inner or f' ({room})'}, and {', '.join([*under, '_core'])}"
    if verb:
        others = [f"verbs.{to}, for {why}" for (one, to), why in layers.BETWEEN.items() if one == verb]
        others = "; ".join(others) or "none"
        may = f"{within(verb, path)}of other verbs {others}; {', '.join(under)}, _core"
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


def through(
    users: list[str], words: set[str], known: dict, deeper: bool = True
) -> list[tuple[str, list[str]]]:
    """The tests of a module's users, or else of their users: those first that have most words of its name."""
    named_users = [user for user in users if user in known]
    found = [(user, [*itertools.chain(*tests_of(user, known[user]))]) for user in named_users]
    found = [(user, tests) for user, tests in found if tests]
    if not found and deeper:
        above = [
            other for user in named_users for other, there in known.items()
            if user in {imported for imported, *_ in layers.Module(there, known).imports}
        ]  # fmt: skip
        return through(list(dict.fromkeys(above)), words, known, deeper=False)
    found.sort(key=lambda one: (-len(words & set(re.findall("[a-z]+", one[0]))), -len(one[1])))
    return [(f"through {user}: ", tests[:3]) for user, tests in found]


def within(verb: str, path: pathlib.Path) -> str:
    """Which folders of its verb a module may import: its own, and those that import nothing of its own."""
    top = layers.PACKAGE / "verbs" / verb
    files = {top: [one for one in top.glob("*.py") if one.stem != "command"]} | {
        one: [*one.rglob("*.py")] for one in sorted(top.iterdir()) if one.is_dir() and [*one.glob("*.py")]
    }
    own = next((one for one, held in files.items() if path in held), top)

    def imports(one: pathlib.Path, other: pathlib.Path) -> bool:
        wanted = rf"triton_runner\.{str(other.relative_to(layers.PACKAGE)).replace('/', '[.]')}"
        beneath = [n.name for n in files if n != other and n.is_relative_to(other)]
        wanted += rf"(?!\.({'|'.join(beneath)})\b)\b" if beneath else r"\b"
        return any(re.search(wanted, held.read_text()) for held in files[one])

    free = [str(one.relative_to(layers.PACKAGE)) for one in files if one != own and not imports(one, own)]
    return "its own folder, " + "".join(f"{one}, " for one in free)


def of_verb(verb: str, path: pathlib.Path) -> list[str]:
    """The tests of a verb: those first that have most words in common with the path of a module."""
    places = f"tests/python/{verb}/test_*.py", f"tests/python/{path.parent.name}/test_*.py"
    found = [*grep("", *places), *grep("", f"tests/python/*/test_{verb}.py")]
    found = found or [one for one in grep(f'"{verb}"', "tests/python") if "/test_" in one]
    others = {f"test_{one.name}.py" for one in (layers.PACKAGE / "verbs").iterdir() if one.name != verb}
    found = [one for one in found if pathlib.Path(one).name not in others]
    words = set(re.findall("[a-z]+", str(path.relative_to(layers.PACKAGE / "verbs" / verb)))) - {"py"}
    return sorted(found, key=lambda one: (-len(words & set(re.findall("[a-z]+", one))), one))


def tests_of(name: str, path: pathlib.Path) -> tuple[list[str], list[str]]:
    """The tests that name a module: those that have its name or that of its folder or verb, and others."""
    verb = name.split(".")[1] if name.startswith("verbs.") else ""
    last = verb if path.stem in PARTS else path.parent.name if path.stem == "__init__" else path.stem
    near = verb or (path.parent.name if path.parent != layers.PACKAGE else last).lstrip("_")
    last = last.lstrip("_")
    alike = last[: max(7, len(last) - 3)]  # test_translate.py is of _pipeline.translation
    found = [one for one in grep(named(name), "tests") if "/test_" in one]
    near_ones = {str(pathlib.Path(one).parent) for one in of_verb(verb, path)} if verb else set()
    found += [
        one for one in grep("", f"tests/python/*/test_{alike}*.py")
        if (not verb or f"/{verb}" in one or str(pathlib.Path(one).parent) in near_ones)
        and (pathlib.Path(one).stem == f"test_{last}" or len(alike) > 6)
    ]  # fmt: skip
    last = alike
    found = sorted(set(found), key=lambda one: (f"/test_{last}" not in one, f"/{near}/" not in one, one))
    words = (f"_{last}", f"/{verb}/", f"_{verb}") if verb else (f"_{last}",)
    own = [one for one in found if any(word in one for word in words)]
    return own, [one for one in found if one not in own]


def of_binding(path: pathlib.Path) -> list[tuple[str, str]]:
    """Tells a file of python/bindings: (word, fact) a row. Its users are the modules that take its names."""
    rows = table("architecture.md")
    text = path.read_text()
    names = re.findall(r'\b(?:def|class_<[^(]*>|enum_<[^(]*>)\(\s*(?:\w+, )?"(\w+)"', text)
    found = "|".join(name for name in dict.fromkeys(names) if not name.startswith("__")) or "-"
    module = re.search(r'def_submodule\("(\w+)"|_core\.(\w+)', text)
    pattern = rf"\b{module[1] or module[2]}\.({found})\b" if module else rf"_core\b.*\b({found})\b"
    users = [] if found == "-" else grep(pattern, "python/triton_runner/*.py")
    known = layers.modules()
    modules = [name for name, there in known.items() if str(there.relative_to(ROOT)) in users]
    users = [] if modules else users_of(path)
    tests = [one for name in modules if name in known for one in tests_of(name, known[name])[0]]
    tests = sorted(dict.fromkeys([*told(path), *tests]), key=lambda one: path.stem not in one)
    return [
        ("library", f"python/bindings: {plain(rows['python/bindings'][0][1])}"),
        ("includes", "src (all of it), and Python's headers: nothing of src includes it"),
        ("is used by", shown(modules or users)),
        ("tests", shown(tests, "those of who uses it")),
        ("page", page_naming([path], "architecture.md")),
        ("try", f"make develop; pytest -q {tests[0]}" if tests else "make test"),
    ]


def page_of(path: pathlib.Path, verb: str) -> str:
    """The page that the module names, the guide of a verb, or the page of internals or reference that names
    the module most."""
    if described(path):
        return described(path)
    guide = ROOT / "doc" / "guide" / f"{verb}.md"
    if verb and guide.is_file():
        return str(guide.relative_to(ROOT))
    if verb:
        shows = [
            one for one in grep(rf"^\$ .*triton-runner {verb}\b", "doc") if one != "doc/reference/cli.md"
        ]
        return ", ".join(["doc/reference/cli.md", *shows[:2]])
    own = path.stem if path.parent == layers.PACKAGE else path.parent.name.lstrip("_")
    public = () if path.parent.name.startswith("_") else (f"triton_runner.{own}\\b",)
    for word in (f"{path.parent.name}/{path.name}", f"`{path.parent.name}/?`", *public):
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
        elif path.is_relative_to(ROOT / "python" / "bindings"):
            facts = of_binding(path)
        elif path.is_relative_to(layers.PACKAGE):
            facts = of_module(path)
        else:
            print(f"{argument}: not in src or python, whose rooms this tells", file=sys.stderr)
            return 2
        print(f"{path.relative_to(ROOT)}: {opening(path)}")
        print("".join(f"  {word:<11} {fact}\n" for word, fact in facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
