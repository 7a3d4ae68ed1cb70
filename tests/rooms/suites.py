"""Tells where a file of tests stands: its folder, what it tests, what it may import, how it runs alone."""

import ast
import collections
import functools
import pathlib
import re
import sys

from rooms.cpp import folder_says
from rooms.described import named_on
from rooms.modules import PUBLIC, known
from rooms.modules import page as page_of_module
from rooms.tree import ROOT, Facts, grep, grouped, name_of, opening, shown, table, text_of

PAGES_OF_TESTS = "doc/internals", "doc/reference", "doc/guide"
PYTHON = ROOT / "tests" / "python"
FEW = 8  # tests: a module that more of them import is the subject of none
PLACES = "*.py", "Makefile", ".ci", "*.sh", "*.yml", "tests/python/*.txt", "*.dap", ":!python"
LISTING = "tests/rooms/", "tests/python/package/test_room.py"  # they name files of each kind
TOPS = (ROOT, ROOT / "tests", PYTHON)  # who takes all that is there is about none of it
TOP = ("doc", "examples", "tests", "tools", "src", "include", "benchmark", "README.md", "CONTRIBUTING.md")
MOST = 5  # tests in the command that runs what is shared


def of_test(path: pathlib.Path) -> Facts:
    """Tells a file of Python below tests."""
    folder = (
        folder_says(path.parent) if path.parent != ROOT / "tests" else "tests: what lint and the suite run"
    )
    imported, verbs = modules_of(path), verbs_of(path)
    is_test = path.name.startswith("test_")
    helpers = [one for one in shared_by(path) if one not in imported]
    modules = [one if one.startswith("_") or "." in one else f"triton_runner.{one}" for one in imported]
    checks = re.findall(r'\bcheck="\w+"', opening(path, whole=True))
    subject = [*checks, *(f"triton-runner {verb}" for verb in verbs), *modules, *helpers]
    users, by_way = users_of(path), [] if is_test else tests_through(path)
    facts = [("folder", folder)]
    if subject or "triton_runner" in text_of(path):
        whole = "the package by its public names"
        facts.append(("it tests" if is_test else "uses", shown(subject, whole)))
    if places := places_of(path):
        facts.append(("reads", shown(places)))
    facts.append(("imports", may_import(path, users)))
    by_pytest = ["pytest, for each test of its folder"] if path.stem == "conftest" else []
    by_way = [one for one in by_way if one not in users]
    used = grouped([("", [*users, *by_pytest]), ("and so by the tests ", by_way)])
    if used or not is_test:
        facts.append(
            ("is used by", used or "nobody by name" + "; a person runs it" * ("__main__" in text_of(path)))
        )
    facts += listed(path) if is_test else []
    facts.append(("page", page := page_of(path, imported)))
    facts += named_on(path, page)
    facts.append(("runs alone", alone(path, [*users, *by_way], is_test)))
    return facts


def may_import(path: pathlib.Path, users: list[str]) -> str:
    """Says what a file of tests may import: below tests/python what is installed for tests, and by its name
    what is on their path; elsewhere what files of the folder import, where that is installed."""
    read = [one for one in users if one.endswith(".py") and not imports(one, path)]
    by_path = users and len(read) == len(users) and path.is_relative_to(PYTHON)
    if path.is_relative_to(PYTHON) and not by_path:
        installed = re.findall(r"^([\w-]+)==", "".join(text_of(ROOT / f"requirements/{one}.txt")
                               for one in ("run", "check")), re.M)  # fmt: skip
        return (
            f"triton_runner, the standard library and what requirements/ has ({shown(installed, most=9)}); "
            "a file x.py of tests/, tests/corpus, examples/ or a folder of tests/python as `import x`"
        )
    begun = path.stem.partition("_")[0]
    like = f"{begun}_*.py" if by_path and "_" in path.stem else "*.py"
    near = [*path.parent.glob(like)]
    names = collections.Counter(name for one in near for name in {*imported_by(one)})
    own = {name: held for name in names if (held := file_of(name, path))}
    outside = [
        name for name, _ in names.most_common() if name not in own and name not in sys.stdlib_module_names
    ]
    what = name_of(path.parent) + (f"/{like}" if by_path else "")
    why = f"; {read[0]} gives its path to others, so that it runs without them" if by_path else ""
    of_tree = [f"{name} ({held})" for name, held in own.items() if not held.startswith(name_of(path.parent))]
    says = grouped([(f"what {what} has already: ", outside), ("of the tree ", of_tree)])
    return f"the standard library, its own folder; {says}{why}".removesuffix("; ")


def imported_by(path: pathlib.Path) -> list[str]:
    """The first words of what a file imports; of a name of the tree all."""
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [one.name.partition(".")[0] for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module.partition(".")[0])
    return found


def file_of(name: str, path: pathlib.Path) -> str:
    """The file or folder of tests, tools or examples that is imported by a bare name; "" of others."""
    places = (path.parent, *TOPS, ROOT / "tests/corpus", ROOT / "examples", ROOT / "tools", *PYTHON.iterdir())
    found = [one / f"{name}{end}" for one in places for end in (".py", "")]
    return next((name_of(one) for one in found if one.exists() and one != ROOT / name), "")


def listed(path: pathlib.Path) -> Facts:
    """The lists of conftest.py that name a test or its file: it is renamed there too."""
    text, name = text_of(PYTHON / "conftest.py"), path.stem
    own = {name, name.removeprefix("test_"), *re.findall(r"^def (test_\w+)", text_of(path), re.M)}
    found = [f"{word} ({one})" for word, body in re.findall(r"^([A-Z]+) = \[$(.*?)^\]", text, re.M | re.S)
             for one in re.findall(r'"(\w+)', body) if one in own]  # fmt: skip
    says = "of tests/python/conftest.py say when it runs; who renames it does so there"
    return [("listed", f"{shown(found)}: these {says}")] if found else []


def modules_of(path: pathlib.Path) -> list[str]:
    """The modules of the package and names of _core that a file imports, those first that it names most."""
    text = text_of(path)
    found: dict[str, int] = {}
    for node in nodes_of(path):
        names = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{one.name}" for one in node.names]
        for name in names:
            inner = name.removeprefix("triton_runner.")
            while name.startswith("triton_runner") and inner not in known() and "." in inner:
                inner = inner.rpartition(".")[0]
            if (inner in known() and inner != "triton_runner") or inner.startswith("_core"):
                last = name.rpartition(".")[2]
                found[inner] = found.get(inner, 0) + len(re.findall(rf"\b{last}\b", text))
    for public in re.findall(r"\btriton_runner\.(\w+)\(", text):  # triton_runner.dumping()
        if module := PUBLIC.get(public):
            found[module] = found.get(module, 0) + 1
    return sorted(found, key=lambda one: (-found[one], one))


def places_of(path: pathlib.Path) -> list[str]:
    """The files and folders of the tree that a file names beside what it imports, those first that it names
    most: pages, sources, programs."""
    strings = [one for one in strings_of(path) if re.fullmatch(r"[\w./*-]+", one)]
    strings += re.findall(r"\b(?:tests|doc|examples|src)/[\w./*-]*[\w*]", opening(path, whole=True))
    found = [one for one in strings if one in TOP or ("/" in one and one.split("/")[0] in TOP)]
    found = [one for one in found if "*" in one or (ROOT / one).exists()]
    return sorted(dict.fromkeys(found), key=lambda one: (-found.count(one), one))


def shared_by(path: pathlib.Path) -> list[str]:
    """The files of tests and examples that a file imports by their bare names."""
    found = [file_of(name, path) for name in imported_by(path)]
    return list(dict.fromkeys(one for one in found if one.endswith(".py")))


def verbs_of(path: pathlib.Path) -> list[str]:
    """The verbs that a test starts."""
    names = {name.split(".")[1] for name in known() if name.startswith("verbs.")}
    said = re.findall(r'\b(?:invoke|run|start|warm)\(\s*(?:\[\s*)?"([a-z]+)"', text_of(path))
    for node in nodes_of(path):  # a row of a table: ("dump", "kernel.ttir", ...)
        if (
            isinstance(node, ast.Tuple | ast.List)
            and len(node.elts) > 1
            and isinstance(node.elts[0], ast.Constant)
        ):
            said.append(node.elts[0].value)
    said += re.findall(r"\btriton-runner ([a-z]+)", text_of(path))
    return [name for name in dict.fromkeys(said) if name in names]


def users_of(path: pathlib.Path) -> list[str]:
    """The files that import a file of tests, or name it, and those that take it with the folder it is in."""
    word = path.parent.name if path.stem == "__init__" else path.stem
    found = (
        grep(rf"\b{word}\b", *PLACES) if path.suffix == ".py" else []
    )  # others are taken with their folder
    found = [one for one in found if one != name_of(path) and names(one, path)]
    folder = path.parent.name if path.parents[1] != PYTHON else "-"  # all tests there are taken by pytest
    top = "/".join(name_of(path).split("/")[: 3 if path.is_relative_to(PYTHON) else 2])
    near = [*grep(rf"[\"'/]{folder}[\"'/]", *PLACES), *grep(r"glob\(|import_module\(f", top)]
    near = [one for one in dict.fromkeys(near) if one != name_of(path) and one not in found]
    return found + [one for one in near if not one.startswith(LISTING) and takes(ROOT / one, path)]


@functools.cache
def nodes_of(path: pathlib.Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(text_of(path)))]


@functools.cache
def strings_of(path: pathlib.Path) -> list[str]:
    """The strings of a file of Python, without those that are statements of their own."""
    alone = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
    nodes = [one for one in nodes_of(path) if isinstance(one, ast.Constant) and id(one) not in alone]
    return [one.value for one in nodes if isinstance(one.value, str)]


def is_clear(one: str, path: pathlib.Path) -> bool:
    """Whether a file means another by its name alone: where several are named so, others say the folder."""
    return len(grep("", f"*/{path.name}")) < 2 or (ROOT / one).parent == path.parent


def imports(one: str, path: pathlib.Path) -> bool:
    """Whether a file imports a file of tests."""
    stem, package = path.stem, path.parent.name
    bare = (
        rf"import {stem}\b|from \.?{stem} import|from \. import .*\b{stem}\b|" if is_clear(one, path) else ""
    )
    pattern = rf"{bare}from {package} import .*\b{stem}\b|from {package}\.{stem} import"
    pattern = rf"(from|import) {package}\b" if stem == "__init__" else pattern
    return bool(re.search(rf"^ *({pattern})", text_of(ROOT / one), re.M))


def names(one: str, path: pathlib.Path) -> bool:
    """Whether a file imports a file of tests, or has its name in quotation marks or in a command."""
    text, stem, package = text_of(ROOT / one), path.stem, path.parent.name
    if not one.endswith(".py"):
        bare = "|(?<!/)" if one.startswith(name_of(path.parent)) else ""
        return bool(re.search(rf"(?<![\w-])({package}/{bare}){path.name}\b", text))
    if imports(one, path) or one.startswith(LISTING):
        return imports(one, path)
    said = rf"{package}/{stem}\.py\b" + (rf"|(?<![\w./-]){stem}\.py\b" if is_clear(one, path) else "")
    said += (
        rf"|[/.]{stem}$|^{stem}$" if "_" in stem and is_clear(one, path) else ""
    )  # "lines" is a word of many files
    if not re.search(rf"\b{stem}(\.py\b|[\"'])", text):
        return False
    if is_clear(one, path) and re.search(rf'"-[pm]", "{stem}"', text):
        return True
    return any(re.search(said, it) for it in strings_of(ROOT / one)) or f'"{package}" / "{path.name}"' in text


def place(node: ast.AST, path: pathlib.Path, names: dict[str, ast.AST]) -> pathlib.Path | None:
    """The path that an expression of a file of Python is: HERE / "programs", Path(__file__).parents[2]."""
    inner = lambda node: place(node, path, names)  # noqa: E731
    match node:
        case ast.Name(id="__file__"):
            return path
        case ast.Name(id=name) if name in names:
            return place(names[name], path, {one: names[one] for one in names if one != name})
        case ast.Name(id="ROOT"):
            return ROOT
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=str(word))):
            return there / word if (there := inner(left)) else None
        case ast.Call(args=[argument]):
            return inner(argument)
        case (
            ast.Call(func=ast.Attribute(value=value, attr="resolve"))
            | ast.Attribute(value=value, attr="parents")
        ):
            return inner(value)
        case ast.Attribute(value=value, attr="parent"):
            return there.parent if (there := inner(value)) else None
        case ast.Subscript(value=value, slice=ast.Constant(value=int(n))):
            return there.parents[n] if (there := inner(value)) else None
    return None


def takes(one: pathlib.Path, path: pathlib.Path) -> bool:
    """Whether a file takes another with a folder: by a pattern (HERE.glob("issue_*.py"), f"cases_{name}"),
    which is tried, or, of tests that pytest finds by themselves, by the folder's name."""
    if one.suffix != ".py":
        return False
    names = {node.targets[0].id: node.value for node in ast.parse(text_of(one)).body
             if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}  # fmt: skip
    is_test = path.stem == "conftest" or path.stem.startswith("test_")
    for node in nodes_of(one):
        match node:
            case ast.Call(
                func=ast.Attribute(value=value, attr="glob" | "rglob" as by),
                args=[ast.Constant(value=str(pattern))],
            ):
                folder = place(value, one, names)
                if folder and folder.is_dir() and folder not in TOPS and path in getattr(folder, by)(pattern):
                    return True
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.JoinedStr(values=parts)]):
                pattern = "".join(
                    getattr(part, "value", "") if isinstance(part, ast.Constant) else "*" for part in parts
                )
                beside = f"{name_of(one.parent)}/" if "." not in pattern else ""
                if pattern.strip("*.") and path.match(f"{beside}{pattern.replace('.', '/')}.py"):
                    return True
            case ast.BinOp() | ast.Constant() if is_test and one.parent != path.parent:
                folder = (
                    place(node, one, names) if isinstance(node, ast.BinOp) else ROOT / str(node.value)[:99]
                )
                if folder and folder.is_relative_to(ROOT) and folder not in TOPS and folder in path.parents:
                    return True
    return False


def tests_through(path: pathlib.Path) -> list[str]:
    """The tests that use a file of tests, or a file of its folder or of tests/python that uses it."""
    seen, at, found = {path}, [path], []
    while at:
        users = [ROOT / one for file in at for one in users_of(file) if ROOT / one not in seen]
        seen |= {*users}
        users = [*dict.fromkeys(users)]
        found += [name_of(one) for one in users if one.name.startswith("test_")]
        near = [one for one in users if one.parent == path.parent or one.is_relative_to(PYTHON)]
        at = [one for one in near if not one.name.startswith("test_")]
    return found


@functools.cache
def importing() -> collections.Counter:
    """How many tests import each module: one that few import is what a test is about."""
    tests = [ROOT / one for one in grep("", "tests/python/*/test_*.py")]
    return collections.Counter(name for one in tests for name in modules_of(one))


def page_of(path: pathlib.Path, imported: list[str]) -> str:
    """The page on which a test's docstring says that it stands; that of the verb by whose name the test goes;
    that of the module which it tests most; or that which is named as its folder."""
    text, rooms = opening(path, whole=True), table("architecture.md")
    pages = [one for one in re.findall(r"\bdoc/[\w/.-]*\w", text) if (ROOT / one).exists()]
    within = path.relative_to(PYTHON).parts if path.is_relative_to(PYTHON) else ()
    words = {*re.findall("[a-z]+", path.stem), *within[:1]}
    for verb in verbs_of(path) if within else ():
        module = known().get(f"verbs.{verb}.run") or known().get(f"verbs.{verb}")
        if verb in words and module:
            pages.append(page_of_module(module, verb, rooms.get("verbs")))
    if within and not pages:
        named = lambda one: len(re.findall(rf"\b{one.rpartition('.')[2]}\b", text_of(path)))  # noqa: E731
        own = [one for one in imported if one in known() and importing()[one] <= FEW]
        for one in sorted(own, key=lambda one: -named(one) / (importing()[one] or 1))[:1]:
            room, _, rest = one.partition(".")
            verb = rest.partition(".")[0] if room == "verbs" else ""
            pages.append(page_of_module(known()[one], verb, rooms.get(room)))
        alike = rf"(?:\w+-)?{within[0]}(?:e?s|-engine)?"  # launches.md, simt-amdgcn.md
        held = [one for place in PAGES_OF_TESTS for one in sorted((ROOT / place).glob("*.md"))]
        pages += [name_of(one) for one in held if re.fullmatch(alike, one.stem)][:1]
    folder = path.parent.relative_to(ROOT / "tests") if path.is_relative_to(ROOT / "tests") else ""
    row = re.search(
        rf"^\| `{folder}/` .*\]\(\.\./(doc/[\w/.-]+)", text_of(ROOT / "tests" / "README.md"), re.M
    )
    pages += [row[1]] if row else []  # of the subject of all tests of the folder
    return ", ".join(dict.fromkeys([*pages, "tests/README.md"]))


def alone(path: pathlib.Path, users: list[str], is_test: bool) -> str:
    """The command that runs a file alone, or what uses it."""
    name, text = name_of(path), text_of(path)
    if is_test and path.is_relative_to(PYTHON):
        return f"pytest -q {name}"
    own = set(re.findall(r"^(?:def |class )?([A-Za-z]\w+)(?: *=|\(|:)", text, re.M))
    uses = lambda one: len(own & set(re.findall(r"\w+", text_of(ROOT / one))))  # noqa: E731
    tests = sorted(
        (one for one in users if re.search(r"^tests/python/.*/test_", one)), key=uses, reverse=True
    )
    lines = text_of(ROOT / "tests" / "README.md").splitlines()
    said = [f"`python {name} ", f"`python {name}`"]  # its own row, or the nearest folder's
    top = path.relative_to(ROOT / "tests").parents  # its own folder first
    said += [] if path.is_relative_to(PYTHON) else [f"`{folder}/`" for folder in top]
    row = next((line for one in said for line in lines if one in line), "")
    command = (re.findall(r"`((?:python|make|pytest|PATH)[^`]*)`", row) or [""])[-1]
    command = with_own(command, path)
    if "__main__" in text and name not in command:
        command = f"python {name}" + (f"; {command}" if command else "")
    if tests and (not command or path.is_relative_to(PYTHON)):
        more = f" (and {len(tests) - MOST} more that use it)" if len(tests) > MOST else ""
        return f"pytest -q {' '.join(tests[:MOST])}{more}"
    return command or "what uses it"


def with_own(command: str, path: pathlib.Path) -> str:
    """A command of tests/README.md that runs one file of a folder, for another one: the last word of it that
    is part of a file's name becomes that of `path`."""
    first, _, last = command.rpartition(" ")
    word = last.strip('"')
    top = path.parent if path.parents[1] == ROOT / "tests" else path.parents[1]
    names = [one.stem if one.suffix else one.name for one in top.rglob("*") if one.suffix in (".py", "")]
    held = [name for name in names if word and word in name]
    if not held or path.stem == "run":
        return command
    prefix = min(held, key=len).removesuffix(word) if min(held, key=len).endswith(word) else ""
    prefix = prefix if path.stem.startswith(prefix) and prefix.endswith("_") and len(held) == 1 else ""
    return f"{first} {last.replace(word, path.stem.removeprefix(prefix))}"
