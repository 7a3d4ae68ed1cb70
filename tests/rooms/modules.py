"""Tells where a module of the Python package stands, and which tests run it."""

import ast
import functools
import pathlib
import re

import layers

from rooms.bindings import of_binding
from rooms.cpp import ARCHITECTURE
from rooms.described import NO_PAGE, described, is_written, named_on
from rooms.imports import imports, known, may_import, packages
from rooms.rules import STUBS, names_in_python, writers
from rooms.tested import reached
from rooms.tree import PAGES, ROOT, Facts, grep, grouped, name_of, opening, plain, table, text_of, told

OUTSIDE = "python/bindings", "tools", "benchmark", "examples"  # of the package, whose modules they use
PUBLIC = ast.literal_eval(  # public name: the module that has it
    re.search(r"^_NAMES = (\{.*?^\})", (layers.PACKAGE / "__init__.py").read_text(), re.M | re.S)[1]
)
GUIDES = "doc/guide", "doc/internals", "doc/reference"
PARTS = layers.PARTS  # of a verb
MOST_NAMED = 4  # tests: what more of them are named as, or import, is the subject of none
TRIED = 2  # tests of a module in a command: it may make what two of them look at


def named(name: str) -> str:
    """The pattern of what uses a module of the package: an import of it, or a public name that it has."""
    if name == "triton_runner":
        return "^ *import triton_runner$"
    package, _, last = name.rpartition(".")
    dotted, room = re.escape(f"triton_runner.{name}"), re.escape(f"triton_runner.{package}".rstrip("."))
    names = [public for public, module in PUBLIC.items() if module == name]
    offered = rf"|\btriton_runner(\.| import .*\b)({'|'.join(names)})\b" if names else ""
    return rf"{dotted}($|[^.\w])|from {dotted} import|from {room} import .*\b{last}\b{offered}"


def words(path: pathlib.Path) -> set[str]:
    return {*re.findall("[a-z0-9]+", path.stem.removeprefix("test_"))}


def tests_of(path: pathlib.Path) -> list[str]:
    """The tests that a module names, and those that enter its functions (tests/coverage/reach.py): of these
    first the ones that are named as the module, then as its folder."""
    like = lambda one: (not words(path) & words(ROOT / one), path.parent.name not in words(ROOT / one))  # noqa: E731
    return list(dict.fromkeys([*told(path), *sorted(reached().get(name_of(path), []), key=like)]))


def also(path: pathlib.Path, name: str, own: list[str]) -> list[str]:
    """The other tests that are named as a module and say its folder (test_prove_ci.py of verify/ci.py), or
    import it; where few do."""
    by_name = grep("", f"tests/python/**/test_*{path.stem.strip('_')}*.py") if path.stem not in PARTS else []
    folder = re.compile(rf"\b{path.parent.name.strip('_')}\b")
    is_near = lambda one: words(path) <= words(one) and folder.search(text_of(one))  # noqa: E731
    by_name = [one for one in by_name if is_near(ROOT / one)]
    package, _, short = f"triton_runner.{name}".rpartition(".")
    importing = grep(rf"^ *from {re.escape(package)} import .*\b{short}\b|\b{re.escape(package)}\.{short}\b",
                     "tests/python/**/test_*.py")  # fmt: skip
    found = [one for few in (by_name, importing) if len(few) <= MOST_NAMED for one in few if one not in own]
    return list(dict.fromkeys(found))


def through(users: list[str]) -> tuple[str, list[str]]:
    """The first user of a module that tests enter, or else the first user of one, and these tests."""
    seen, following = set(), [user for user in users if user in known()]
    while following:
        for user in following:
            if tests := tests_of(known()[user]):
                return f"through {user}: ", tests
        seen |= {*following}
        following = [one for one in known() if one not in seen and seen & {*imports(one)}]
    return "", []


def users_of(name: str, path: pathlib.Path) -> list[str]:
    """The modules that import a module, or start it as a program; of a command those that find the verbs."""
    is_room = path.stem == "__init__" and path.parent != layers.PACKAGE  # used by who imports a module of it
    package, _, short = name.rpartition(".")
    beneath = re.escape(f"triton_runner.{package}".rstrip("."))
    near = lambda there: there.parent == path.parent and "from ." in text_of(there)  # noqa: E731
    users = [
        other for other, there in known().items()
        if not (is_room and there.is_relative_to(path.parent))
        if re.search(rf"{beneath}(\.{short}\b| import)", text_of(there)) or near(there)
        if name in imports(other) or (is_room and any(one.startswith(f"{name}.") for one in imports(other)))
    ]  # fmt: skip
    if path.stem not in ("__init__", *PARTS):
        started = grep(rf'["/]{path.name}"', str(path.parent.relative_to(ROOT)))  # as a program, by its room
        if path.stem == "__main__":
            started = grep(r'"-m", "triton_runner"', "python/triton_runner/**/*.py")
        users += [one.removeprefix("python/triton_runner/")[:-3].replace("/", ".") for one in started]
    asked = rf'"{re.escape(name)}"' if "." in name else "(?!)"
    asked += rf'|\w\("{short}"[,)]|"do": "{short}"' if layers.apart(name) else ""
    users += [one for one in requests(asked) if one != name]  # a request to a worker names who answers it
    public = [
        word
        for word, module in PUBLIC.items()
        if module == name or (is_room and module.startswith(f"{name}."))
    ]
    users += ["programs, as " + ", ".join(f"triton_runner.{word}" for word in public[:6])] if public else []
    if path.stem in ("command", "__init__") and re.fullmatch(r"verbs\.\w+(\.command)?", name):
        users.append("_cli (imports the command of each verb)")
    return sorted(
        dict.fromkeys(users), key=lambda one: (layers.folder_of(one) == layers.folder_of(name), one)
    )


@functools.cache
def requests(pattern: str) -> list[str]:
    """The modules in which a pattern of names in quotation marks stands, but for the list of public names."""
    found = [ROOT / one for one in grep(pattern, "python/triton_runner/*.py")]
    return [name for name, there in known().items() if there in found and name != "triton_runner"]


def modules_in(folder: pathlib.Path) -> list[tuple[str, str]]:
    """A row a module of a folder of the package, and a folder of it: what it opens with."""
    inner = [one / "__init__.py" for one in sorted(folder.iterdir()) if (one / "__init__.py").is_file()]
    files = [one for one in sorted(folder.glob("*.py")) if one.stem != "__init__"]
    return [
        ("holds", f"{one.parent.name + '/' if one.stem == '__init__' else one.stem}: "
         + re.split(r"(?<=[.?!])\s", opening(one), maxsplit=1)[0])
        for one in [*inner, *files]
    ]  # fmt: skip


def of_module(path: pathlib.Path) -> Facts:
    """Tells a module of the Python package: (word, fact) a row."""
    name = next(name for name, there in known().items() if there == path)
    room = layers.folder_of(name)
    row = table("architecture.md").get(room)
    folder = path.parent / "__init__.py"
    rank, every = layers.RANKS[room], [one for one, _ in layers.LAYERS]
    around = [
        f"above {', '.join(every[:rank])}" * (rank > 0),
        f"below {', '.join(every[rank + 1 :])}" * (every[-1] != every[rank]),
    ]
    facts = [("layer", f"{every[rank]}, {', and '.join(filter(None, around))}")]
    if path.parent == layers.PACKAGE and not name.startswith("_"):
        facts.append(("room", f"triton_runner.{room}: programs import it, and its names are promised"))
    elif row:
        facts.append(("room", f"{room}: {plain(row[0][-1])}"))
    if path.parent != layers.PACKAGE and path.parent.name != room and folder.is_file() and folder != path:
        facts.append(("folder", f"{path.parent.relative_to(layers.PACKAGE)}: {opening(folder)}"))
    if path == folder and path.parent != layers.PACKAGE:
        facts += modules_in(path.parent)
    verb = name.split(".")[1] if room == "verbs" and "." in name else ""
    users = users_of(name, path)
    used = grouped([("", users), ("", [*used_outside(name), *scripts_of(path)])]) or "nobody by name"
    imported = may_import(name, path)
    if path == folder and verb:  # what a verb does, its parts do
        path = next(one for part in ("run", "command") if (one := path.with_name(f"{part}.py")).is_file())
    own = tests_of(path)
    small_use = [one for one in [f"tests/python/cli/verbs/{verb}.txt"] if (ROOT / one).is_file()]
    tests = [("", own), ("of the folder: ", told(folder) if folder != path and folder.is_file() else [])]
    tests.insert(1, ("also ", also(path, name, own)))
    if path.stem in ("__init__", *PARTS):
        tests.append(("its words and what a stranger mistypes, by test_mistakes.py: ", small_use))
    if not own:
        tests.insert(0, through(users))
    every = [one for _, found in tests for one in found if re.fullmatch(r"tests/python/.*\.py", one)]
    shown = docstrings_on(name)
    every = [*dict.fromkeys(every[:TRIED]), *([STUBS] if shown else [])]
    alone = f"pytest -q {' '.join(every)}" if every else "make test"
    if small_use and not own:
        alone = f"pytest -q tests/python/cli/test_mistakes.py -k {verb}"
    if not imported.startswith("nothing"):
        imported += "; of other modules no private names (_x)"
    facts += [
        ("imports", imported),
        *([] if layers.apart(name) or imported.startswith("nothing") else [("packages", packages(name))]),
        *(("is written", f"by {one}: change that, and run it") for one in writers(path)),
        *(
            [("then run", f"python tools/api_page.py, which writes docstrings of it into {shown}")]
            if shown
            else []
        ),
        ("is used by", used),
        ("tests", grouped(tests) or "those of who uses it"),
        ("page", on := ", ".join(dict.fromkeys([page(path, verb, row), *internals(path)]))),
        *named_on(path, on),
        ("try", alone),
    ]
    return facts


def internals(path: pathlib.Path) -> list[str]:
    """The page of doc/internals that is named as a folder of a module, or as the module."""
    names = [one.strip("_") for one in (*path.relative_to(layers.PACKAGE).parts[:-1], path.stem)]
    found = [PAGES / f"{one}.md" for one in reversed(names)]
    return [name_of(one) for one in found if one.is_file() and one.name not in NO_PAGE][:1]


def scripts_of(path: pathlib.Path) -> list[str]:
    """The scripts of the page that read what a module of its folder gives, by keys that few of them read."""
    scripts = {}
    for key in re.findall(r'"(\w{4,})":', text_of(path)):
        reading = grep(rf"[.{{ ]{key}\b", f"{name_of(path.parent)}/assets/*.js")
        for one in reading if len(reading) <= TRIED else ():
            scripts[one] = scripts.get(one, 0) + 1
    most = max(scripts.values(), default=0)
    return sorted((one for one in scripts if 2 * scripts[one] > most), key=lambda one: (-scripts[one], one))


def used_outside(name: str) -> list[str]:
    """The files beside the package that use a module of it: bindings, tools, examples, harnesses of tests."""
    found = [one for place in OUTSIDE for one in grep(named(name), place)]
    return [*found, *(one for one in grep(named(name), "tests/*.py") if "/test_" not in one)]


def docstrings_on(name: str) -> str:
    """The pages of the API that show docstrings of a module, as the tables of tools/api_page.py say."""
    body = ast.parse(text_of(ROOT / "tools/api_page.py")).body
    tables = {one.targets[0].id: one.value for one in body if isinstance(one, ast.Assign)}
    api_page = lambda word: ast.literal_eval(tables[word])  # noqa: E731
    public = {one for one, module in PUBLIC.items() if module == name}
    sections = {title for title, names in api_page("SECTIONS").items() if public & {*names}}
    apart = sections & {*api_page("APART")}
    pages = {"api.md": sections - apart, "looking.md": apart, "modules.md": name in api_page("MODULES"),
             "objects.md": name in api_page("RESULTS").values()}  # fmt: skip
    return ", ".join(f"doc/reference/{page}" for page, is_on in pages.items() if is_on)


def page(path: pathlib.Path, verb: str, row) -> str:
    """The page that the module names, the guide of a verb, or the page that names the module most."""
    is_flat = path.parent == layers.PACKAGE
    guide = ROOT / "doc" / "guide" / f"{path.stem if is_flat else verb}.md"
    if described(path):
        return described(path)
    reference = ROOT / "doc" / "reference" / guide.name
    if (verb or is_flat) and (guide.is_file() or reference.is_file()):
        return name_of(guide if guide.is_file() else reference)
    if verb:
        pattern = rf"^\$ .*triton-runner {verb}\b"
        counts = {one: len(re.findall(pattern, text_of(ROOT / one), re.M)) for one in grep(pattern, "doc")}
        counts.pop("doc/reference/cli.md", None)
        shows = sorted(counts, key=lambda one: (path.stem not in one, -counts[one], one))
        return ", ".join(["doc/reference/cli.md", *shows[:2]])
    own = path.stem if path.parent == layers.PACKAGE else path.parent.name.lstrip("_")
    reference = ROOT / "doc" / "reference" / f"{path.stem}.md"
    if reference.is_file() and reference.name not in NO_PAGE and not (PAGES / f"{own}.md").is_file():
        return name_of(reference)
    otherwise = f"doc/internals/{own}.md" if (PAGES / f"{own}.md").is_file() else ""
    otherwise = otherwise or (row[1] if row else "doc/internals/architecture.md")
    public = () if path.parent.name.startswith("_") else (rf"triton_runner.{own}\b",)
    name = next((name for name, there in known().items() if there == path), "")
    offered = "|".join(public for public, module in PUBLIC.items() if module == name and public.islower())
    if offered and path.parent != layers.PACKAGE:
        pattern = rf"\btriton_runner\.({offered})\b"
        shown = [one for one in grep(pattern, *GUIDES) if not is_written(ROOT / one)]
        counts = {one: len(re.findall(pattern, text_of(ROOT / one))) for one in shown}
        if counts:
            return max(counts, key=lambda one: (counts[one], one))
    for word in (f"{path.parent.name}/{path.name}", f"`{path.parent.name}/?`", *public):
        places = grep(word, "doc/internals", "doc/reference")
        places = [one for one in places if pathlib.Path(one).name not in NO_PAGE]
        places = [one for one in places if not is_written(ROOT / one)]
        if places:
            return max(places, key=lambda one: len(re.findall(word, text_of(ROOT / one))))
    users = [
        there for one in users_of(name, path) if (there := known().get(one)) and there.parent == path.parent
    ]
    if otherwise == (row[1] if row else "") and len(users) == 1 and not verb:  # that of its only user
        return page(users[0], verb, row)
    return otherwise


def of_file_of_bindings(path: pathlib.Path) -> Facts:
    """Tells a file of python/bindings, with the modules that take its names, and their tests."""
    module, names = names_in_python(path)
    found = "|".join(names) or "-"
    pattern = rf"(\b|_core_){module}\.({found})\b" if module else rf"_core\b.*\b({found})\b"
    users = [] if found == "-" else grep(pattern, "python/triton_runner/*.py")
    modules = [name for name, there in known().items() if name_of(there) in users]
    facts = of_binding(path, {name: tests_of(known()[name]) for name in modules})
    if ("page", ARCHITECTURE) in facts and modules:  # that of the module that uses most of it
        most = max(modules, key=lambda one: len(re.findall(pattern, text_of(known()[one]))))
        verb = most.split(".")[1] if most.startswith("verbs.") else ""
        page_of_it = page(known()[most], verb, table("architecture.md").get(layers.folder_of(most)))
        facts[facts.index(("page", ARCHITECTURE))] = ("page", page_of_it)
    return facts
