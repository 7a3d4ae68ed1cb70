"""Tells where a file of tests stands: its folder, what it tests, what it may import, how it runs alone."""

import ast
import pathlib
import re

from rooms.cpp import folder_says
from rooms.modules import PUBLIC, known
from rooms.modules import page as page_of_module
from rooms.tree import ROOT, Facts, grep, name_of, shown, table, text_of

PAGES_OF_TESTS = "doc/internals", "doc/reference", "doc/guide", "doc/measurements", "CONTRIBUTING.md"
PYTHON = ROOT / "tests" / "python"
TOP = ("doc", "examples", "tests", "tools", "src", "include", "benchmark", "README.md", "CONTRIBUTING.md")
BARE = (
    "triton_runner, all of it; the standard library; what is installed for tests (pytest, numpy, torch, "
    "triton, ml_dtypes, ...); and by their bare names what tests/, tests/corpus, examples/ and each folder "
    "of tests/python have"
)
OTHERS = (
    "the standard library, triton_runner, and the modules of its own folder; what several harnesses share is "
    "in tests/suite"
)


def of_test(path: pathlib.Path) -> Facts:
    """Tells a file of Python below tests."""
    folder = (
        folder_says(path.parent) if path.parent != ROOT / "tests" else "tests: what lint and the suite run"
    )
    imported = modules_of(path)
    verbs = verbs_of(path)
    is_test = path.is_relative_to(PYTHON) and path.name.startswith("test_")
    is_shared = path.is_relative_to(PYTHON) and not is_test
    helpers = [one for one in shared_by(path) if one not in imported]
    modules = [one if one.startswith("_") or "." in one else f"triton_runner.{one}" for one in imported]
    subject = [*(f"triton-runner {verb}" for verb in verbs), *modules, *helpers]
    facts = [("folder", folder)]
    facts.append(("tests" if is_test else "uses", shown(subject, "the package as its users see it")))
    if places := places_of(path):
        facts.append(("reads", shown(places)))
    if path.is_relative_to(PYTHON):
        facts.append(("imports", BARE))
    else:
        facts.append(("imports", OTHERS))
    users = users_of(path)
    if not is_test:
        facts.append(("is used by", shown(users)))
    facts.append(("page", page_of(path, imported)))
    facts.append(("runs alone", alone(path, users, is_test, is_shared)))
    return facts


def modules_of(path: pathlib.Path) -> list[str]:
    """The modules of the package and names of _core that a file imports, those first that it names most."""
    text = text_of(path)
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(text)):
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
    texts = [node.value for node in ast.walk(ast.parse(text_of(path))) if isinstance(node, ast.Constant)]
    texts = [one for one in texts if isinstance(one, str) and re.fullmatch(r"[\w./*-]+", one)]
    found = [one for one in texts if one in TOP or ("/" in one and one.split("/")[0] in TOP)]
    found = [one for one in found if "*" in one or (ROOT / one).exists()]
    return sorted(dict.fromkeys(found), key=lambda one: (-found.count(one), one))


def shared_by(path: pathlib.Path) -> list[str]:
    """The files of tests and examples that a file imports by their bare names."""
    names = re.findall(r"^ *(?:import|from) (\w+)", text_of(path), re.M)
    found = [
        grep("", f"tests/python/*/{name}.py", f"examples/{name}.py", f"tests/{name}.py") for name in names
    ]
    return list(dict.fromkeys(one for places in found for one in places))


def verbs_of(path: pathlib.Path) -> list[str]:
    """The verbs that a test starts."""
    names = {name.split(".")[1] for name in known() if name.startswith("verbs.")}
    said = re.findall(r'\b(?:invoke|run|start|warm)\(\s*(?:\[\s*)?"([a-z]+)"', text_of(path))
    for node in ast.walk(ast.parse(text_of(path))):  # a row of a table: ("dump", "kernel.ttir", ...)
        if (
            isinstance(node, ast.Tuple | ast.List)
            and len(node.elts) > 1
            and isinstance(node.elts[0], ast.Constant)
        ):
            said.append(node.elts[0].value)
    said += re.findall(r"\btriton-runner ([a-z]+)", text_of(path))
    return [name for name in dict.fromkeys(said) if name in names]


def users_of(path: pathlib.Path) -> list[str]:
    """The files that import a file of tests, or start it."""
    stem, package = path.stem, path.parent.name
    if stem == "__init__":
        pattern = rf"^ *(from|import) {package}\b"
    else:
        pattern = rf"^ *(import {stem}\b|from {stem} import|from \.{stem} import"
        pattern += rf"|from (\.|{package}) import .*\b{stem}\b"
        pattern += rf"|from {package}\.{stem} import)|\b{stem}\.py\b"
    found = grep(pattern, "tests", "tools", "Makefile", ".ci", "fuzz", "benchmark")
    listed = "tests/python/package/test_room.py"  # names files of each kind
    found = [one for one in found if one not in (name_of(path), listed) and not one.endswith(".md")]
    return found or grep(rf'"{package}"\S* ?(/ f"|.*glob\()', "tests")  # by those who take all of its folder


def page_of(path: pathlib.Path, imported: list[str]) -> str:
    """The page on which the test stands, or that of the module which it tests most."""
    named = grep(re.escape(name_of(path)), *PAGES_OF_TESTS)
    own = [one for one in imported if one in known()]
    pages = []
    if own and path.is_relative_to(PYTHON):
        room = own[0].split(".")[0]
        verb = own[0].split(".")[1] if room == "verbs" and "." in own[0] else ""
        pages.append(page_of_module(known()[own[0]], verb, table("architecture.md").get(room)))
    folder = path.parent.relative_to(ROOT / "tests") if path.is_relative_to(ROOT / "tests") else ""
    row = re.search(
        rf"^\| `{folder}/` .*\]\(\.\./(doc/[\w/.-]+)", text_of(ROOT / "tests" / "README.md"), re.M
    )
    own = [row[1]] if row else []  # of the subject of all tests of the folder
    named = [one for one in named if pathlib.Path(one).name != "one-of-each.md"]
    return ", ".join(dict.fromkeys([*named[:1], *own, *pages, "tests/README.md"]))


def alone(path: pathlib.Path, users: list[str], is_test: bool, is_shared: bool) -> str:
    """The command that runs a file alone, or what uses it."""
    name, text = name_of(path), text_of(path)
    if is_test:
        return f"pytest -q {name}"
    own = set(re.findall(r"^(?:def |class )?([A-Za-z]\w+)(?: *=|\(|:)", text, re.M))
    uses = lambda one: len(own & set(re.findall(r"\w+", text_of(ROOT / one))))  # noqa: E731
    users_alone = sorted((one for one in users if "/test_" in one), key=uses, reverse=True)
    if is_shared or path.name == "conftest.py":
        return f"no: it is shared; pytest -q {users_alone[0] if users_alone else 'tests/python'}"
    lines = text_of(ROOT / "tests" / "README.md").splitlines()
    folders = [f"`{folder.name}/`" for folder in path.parents]  # the nearest that has a row
    row = next((one for folder in folders for one in lines if folder in one), "")
    command = (re.findall(r"`((?:python|make|pytest|PATH)[^`]*)`", row) or [""])[-1]
    if "__main__" in text:
        return f"python {name}" + (f"; {command}" if command else "")
    if users_alone and not command:
        return f"no: pytest -q {users_alone[0]}"
    return command or "no: its users run it"
