"""Tells where a module of the Python package stands, and which tests run it."""

import ast
import collections
import functools
import itertools
import pathlib
import re

import layers

from rooms.bindings import names_in_python, of_binding
from rooms.cpp import ARCHITECTURE
from rooms.described import NO_PAGE, described, is_written, named_on
from rooms.imports import imports, known, may_import
from rooms.rules import writers
from rooms.tree import PAGES, ROOT, Facts, grep, grouped, name_of, opening, plain, table, text_of, told

OUTSIDE = "python/bindings", "tools", "benchmark", "examples"  # of the package, whose modules they use
PUBLIC = ast.literal_eval(  # public name: the module that has it
    re.search(r"^_NAMES = (\{.*?^\})", (layers.PACKAGE / "__init__.py").read_text(), re.M | re.S)[1]
)
GUIDES = "doc/guide", "doc/internals", "doc/reference"
MANY = 8  # verbs: a test that names more of them is of none
PARTS = layers.PARTS  # of a verb: no subject of a test


def named(name: str) -> str:
    """The pattern of what uses a module of the package: an import of it, or a public name that it has."""
    if name == "triton_runner":
        return "^ *import triton_runner$"
    package, _, last = name.rpartition(".")
    dotted, room = re.escape(f"triton_runner.{name}"), re.escape(f"triton_runner.{package}".rstrip("."))
    names = [public for public, module in PUBLIC.items() if module == name]
    offered = rf"|\btriton_runner(\.| import .*\b)({'|'.join(names)})\b" if names else ""
    return rf"{dotted}($|[^.\w])|from {dotted} import|from {room} import .*\b{last}\b{offered}"


@functools.cache
def said(test: str) -> tuple[list[ast.ImportFrom], collections.Counter, collections.Counter]:
    """The imports of names in a file of Python, and how often it says each name, and each name.attribute."""
    nodes = [*ast.walk(ast.parse(text_of(ROOT / test)))]
    names = collections.Counter(node.id for node in nodes if isinstance(node, ast.Name))
    attributes = collections.Counter(
        (node.value.id, node.attr) for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )  # fmt: skip
    return [node for node in nodes if isinstance(node, ast.ImportFrom)], names, attributes


@functools.cache
def runs(test: str, name: str) -> int:
    """How often a test names what it imports of a module; -1 where that are constants alone."""
    imported, names, attributes = said(test)
    dotted, _, last = f"triton_runner.{name}".rpartition(".")
    bound, of_module = set(), set()
    for node in imported:
        if node.module == f"triton_runner.{name}":
            bound |= {one.asname or one.name for one in node.names}
        elif node.module == dotted:
            of_module |= {one.asname or one.name for one in node.names if one.name == last}
        elif node.module == "triton_runner":
            bound |= {one.asname or one.name for one in node.names if PUBLIC.get(one.name) == name}
    count = sum(names[one] for one in bound if not one.isupper())
    for (base, attribute), times in attributes.items():
        is_public = base == "triton_runner" and PUBLIC.get(attribute) == name
        count += times * (is_public or (base in of_module and not attribute.isupper()))
    return count if count or not (bound or of_module) else -1


def tests_of(name: str, path: pathlib.Path) -> tuple[list[str], list[str]]:
    """The tests that name a module: those that have its name or that of its folder or verb, and others, by
    how often they use it; at the end those that read a constant of it alone."""
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
    others = verbs() - {verb} if verb else set()  # test_compare.py says nothing of a part of another verb
    is_others = lambda one: pathlib.Path(one).stem.split("_")[1] in others and f"/{verb}/" not in one  # noqa: E731
    found = [one for one in dict.fromkeys(found) if runs(one, name) or not is_others(one)]
    words = (f"_{alike}", f"/{verb}/", f"_{verb}") if verb else (f"_{alike}",)

    def rank(one: str) -> tuple:
        return runs(one, name) < 0, f"/test_{alike}" not in one, f"/{near}/" not in one, -runs(one, name), one

    found.sort(key=rank)
    own = [one for one in found if any(word in one for word in words) and runs(one, name) >= 0]
    return own, [one for one in found if one not in own]


@functools.cache
def starts(test: str) -> collections.Counter:
    """How often a test starts each verb: run("cache", "ls"), or a row of a table ("cache", "ls")."""
    row = r'[(\[]\s*"([a-z]+)"(?:,|\))' if "/cli/" in test else r'(?:\w\(|= )\[?\s*"([a-z]+)"(?:,|\))'
    words = re.findall(rf"{row}|\btriton-runner ([a-z]+)", text_of(ROOT / test))
    return collections.Counter(word for pair in words for word in pair if word in verbs())


@functools.cache
def verbs() -> frozenset[str]:
    return frozenset(name.split(".")[1] for name in known() if name.startswith("verbs."))


@functools.cache
def is_across(test: str) -> bool:
    """Whether a test of the command line goes through many verbs, and so is of none."""
    return "/cli/" in test and len(verbs() & {*re.findall(r'"([a-z]+)"', text_of(ROOT / test))}) > MANY


def of_verb(verb: str, path: pathlib.Path) -> list[str]:
    """The tests of a verb: those first that have most words in common with the path of a module."""
    places = f"tests/python/{verb}/test_*.py", f"tests/python/{path.parent.name}/test_*.py"
    found = [*grep("", *places), *grep("", f"tests/python/*/test_{verb}.py")]
    found = found or [
        one for one in grep(f'"{verb}"', "tests/python") if "/test_" in one and starts(one)[verb]
    ]
    others = {f"test_{one}.py" for one in verbs() - {verb}}
    found = [one for one in found if pathlib.Path(one).name not in others or starts(one)[verb] > 3]
    words = set(re.findall("[a-z]+", str(path.relative_to(layers.PACKAGE / "verbs" / verb)))) - {"py"}
    asked = {one: len(re.findall(rf'"{verb}"|triton-runner {verb}\b', text_of(ROOT / one))) for one in found}
    words_of = {one: len(words & set(re.findall("[a-z]+", one))) for one in found}
    return sorted(found, key=lambda one: (-words_of[one], f"_{verb}" not in one, -asked[one], one))


@functools.cache
def code_words(path: pathlib.Path) -> frozenset[str]:
    """The words that a file of Python writes: names and strings, without those of fewer than four letters."""
    return frozenset(re.findall(r"[a-z]{4,}", text_of(path).lower().replace("_", " ")))


@functools.cache
def words_of_tests() -> collections.Counter:
    """In how many tests each word is written."""
    tests = grep("", "tests/python/*/test_*.py")
    return collections.Counter(word for one in tests for word in code_words(ROOT / one))


@functools.cache
def likeness(test: str, path: pathlib.Path) -> float:
    """How much a test, with what it imports from beside it, writes of what a module writes: rare words
    count."""
    beside = [ROOT / test, *((ROOT / test).with_name(f"{name}.py") for name in
              re.findall(r"^(?:import|from) (\w+)", text_of(ROOT / test), re.M))]  # fmt: skip
    own = frozenset().union(*(code_words(one) for one in beside if one.is_file()))
    count, shared = words_of_tests(), code_words(path) & own
    return sum(1 / count[word] for word in shared if count[word]) / (len(own) ** 0.5 or 1)


def alike(word: str, other: str) -> bool:
    """Whether two words are forms of one: compile, compiling."""
    return word == other or (word[:5] == other[:5] and min(len(word), len(other)) > 3)


def by_subject(tests: list[str], name: str, path: pathlib.Path, users: tuple[str, ...] = ()) -> list[str]:
    """Tests in the order in which they say most of a module: those that are named as it is; those that are
    named as its folder or verb, or lie in the folder of that name; others; and at the end those that are
    named as a module or verb that does not use it. Of equals first what names the module itself, and then
    what writes most of its words."""
    verb = name.split(".")[1] if name.startswith("verbs.") else ""
    stems = {path.stem, path.parent.name.lstrip("_"), verb} - {"", *PARTS, "__init__"}
    own = {word for stem in stems for word in re.findall("[a-z]+", stem)}
    others = {word for one in known() for word in re.findall("[a-z]+", one.rpartition(".")[2])}
    others |= {one.name for one in (layers.PACKAGE / "verbs").iterdir()}
    has_own = not verb or grep("", *(f"tests/python/{one}.py" for one in
                                    (f"{verb}/test_*", f"*/test_{verb}", f"*/test_{verb}_*")))  # fmt: skip
    of_users = {word for one in users for word in re.findall("[a-z]+", one)}
    others = {one for one in others if not any(alike(one, word) for word in of_users)}

    def rank(test: str) -> tuple:
        words = re.findall("[a-z]+", pathlib.Path(test).stem.removeprefix("test_"))
        named = "" if path.stem in PARTS else path.stem
        of_it = any(alike(word, one) for word in words for one in re.findall("[a-z]+", named))
        near = any(alike(word, one) for word in [*words, pathlib.Path(test).parent.name] for one in own)
        is_anothers = not near and any(alike(word, one) for word in words for one in others)
        calls = max(runs(test, name), runs(test, f"verbs.{verb}.run"), 0)
        own_starts = 0 if has_own else -starts(test)[verb] - 9 * calls
        at_large = "/cli/" in test and not near
        last = runs(test, name) <= 0, -likeness(test, path), test
        across = is_across(test) and not near
        return not of_it, across, own_starts, at_large, is_anothers, not near, *last

    return sorted(dict.fromkeys(tests), key=rank)


def by_words(path: pathlib.Path) -> list[str]:
    """The two tests that write most of the rare words of a module."""
    tests = [one for one in grep("", "tests/python/*/test_*.py") if "/package/" not in one]
    return sorted(tests, key=lambda one: -likeness(one, path))[:2]


def names_taken(user: str, name: str) -> int:
    """How many names of a module another one uses."""
    tree = ast.parse(text_of(known()[user]))
    last, used = name.rpartition(".")[2], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == f"triton_runner.{name}":
            used |= {one.name for one in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == last:
            used.add(node.attr)
    return len(used)


def through(name: str, users: list[str], words: set[str], deeper: bool = True) -> list[tuple[str, list[str]]]:
    """The tests of a module's users, or else of their users: those first that have most words of its name,
    and of these the users that take most names of it."""
    named_users = [user for user in users if user in known()]
    found = [(user, [*itertools.chain(*tests_of(user, known()[user]))]) for user in named_users]
    found = [(user, tests) for user, tests in found if tests]
    if not found and deeper:
        above = [other for user in named_users for other in known() if user in imports(other)]
        return through(name, list(dict.fromkeys(above)), words, deeper=False)
    shared = {user: len(words & set(re.findall("[a-z]+", user))) for user, _ in found}
    found.sort(key=lambda one: (-shared[one[0]], -names_taken(one[0], name), -len(one[1])))
    return [(f"through {user}: ", tests[:3]) for user, tests in found]


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
    facts = [("layer", layers.LAYERS[layers.RANKS[room]][0])]
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
    used = grouped([("", users), ("", used_outside(name))]) or "nobody by name"
    imported = may_import(name, path)
    if path == folder and verb and path.with_name("run.py").is_file():  # what a verb does, its run does
        path, name = path.with_name("run.py"), f"{name}.run"
    own, use = tests_of(name, path)
    of_folder = told(folder) if folder.is_file() else []
    own = list(dict.fromkeys([*told(path), *of_folder, *own]))
    tests = [("", own), ("that use it: ", [one for one in use if one not in own])]
    words = set(re.findall("[a-z]+", name))
    of_the_verb = [one for one in of_verb(verb, path) if one not in own] if verb else []
    if not own:
        seen = {*use, *of_the_verb[:1]}
        tests += [one for one in through(name, users, words)[:3] if not {*one[1]} <= seen][:2]
    constant = not own and all(runs(one, name) < 0 for one in use)
    near = of_the_verb and words - {verb} & set(re.findall("[a-z]+", of_the_verb[0]))
    is_run = any(runs(one, name) > 0 for one in use)  # by its own name
    most = max((one for one in users if one in known()), key=lambda one: names_taken(one, name), default="")
    is_run = is_run or bool(most and verb and f"through {most}: " not in dict(tests))
    at = 2 if is_run else 1 if near or len(tests) < 3 else len(tests)
    tests.insert(at, ("of the verb: ", of_the_verb))
    small_use = f"tests/python/cli/verbs/{verb}.txt"
    if path.stem in ("__init__", "command", "run", "results") and (ROOT / small_use).is_file():
        tests.append(("its small use: ", [small_use]))
    if constant:  # those that read a constant come last
        tests = [*(one for one in tests if one[0] != "that use it: "), ("for a constant of it: ", use)]
    if not own and not is_run and not of_the_verb:
        tests.append(("that write its words: ", by_words(path)))
    tests = [
        (said, by_subject(held, name, path, tuple(users)) if said and held != [small_use] else held)
        for said, held in tests
    ]
    every = [one for _, found in tests for one in found if re.fullmatch(r"tests/python/.*\.py", one)]
    if not own:
        every = by_subject(every, name, path, tuple(users))
    alone = f"pytest -q {every[0]}" if every else "make test"
    if verb and (not every or is_across(every[0])) and (ROOT / small_use).is_file():
        alone = f"pytest -q tests/python/cli/test_mistakes.py -k {verb}"
    facts += [
        ("imports", imported),
        *(("is written", f"by {one}: change that, and run it") for one in writers(path)),
        ("is used by", used),
        ("tests", grouped(tests) or "those of who uses it"),
        ("page", on := page(path, verb, row)),
        *named_on(path, on),
        ("try", alone),
    ]
    return facts


def used_outside(name: str) -> list[str]:
    """The files beside the package that use a module of it: bindings, tools, examples, harnesses of tests."""
    found = [one for place in OUTSIDE for one in grep(named(name), place)]
    return [*found, *(one for one in grep(named(name), "tests/*.py") if "/test_" not in one)]


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
    return otherwise


def of_file_of_bindings(path: pathlib.Path) -> Facts:
    """Tells a file of python/bindings, with the modules that take its names, and their tests."""
    module, names = names_in_python(path)
    found = "|".join(names) or "-"
    pattern = rf"(\b|_core_){module}\.({found})\b" if module else rf"_core\b.*\b({found})\b"
    users = [] if found == "-" else grep(pattern, "python/triton_runner/*.py")
    modules = [name for name, there in known().items() if name_of(there) in users]
    facts = of_binding(path, {name: tests_of(name, known()[name])[0] for name in modules})
    if ("page", ARCHITECTURE) in facts and modules:  # that of the module that uses most of it
        most = max(modules, key=lambda one: len(re.findall(pattern, text_of(known()[one]))))
        verb = most.split(".")[1] if most.startswith("verbs.") else ""
        page_of_it = page(known()[most], verb, table("architecture.md").get(layers.folder_of(most)))
        facts[facts.index(("page", ARCHITECTURE))] = ("page", page_of_it)
    return facts
