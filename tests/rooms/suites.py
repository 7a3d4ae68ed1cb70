"""Tells where a file of tests stands: its folder, what it tests, what it may import, how it runs alone."""

import ast
import collections
import functools
import pathlib
import re

from rooms.cpp import folder_says
from rooms.described import named_on
from rooms.modules import PUBLIC, known
from rooms.modules import page as page_of_module
from rooms.tree import ROOT, Facts, grep, name_of, opening, shown, table, text_of

PAGES_OF_TESTS = "doc/internals", "doc/reference", "doc/guide"
PYTHON = ROOT / "tests" / "python"
FEW = 8  # tests: a module that more of them import is the subject of none
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
    at_large = (
        "the package as its users see it"
        if "triton_runner" in text_of(path)
        else "nothing of the package by name"
    )
    facts.append(("tests" if is_test else "uses", shown(subject, at_large)))
    if places := places_of(path):
        facts.append(("reads", shown(places)))
    if path.is_relative_to(PYTHON):
        facts.append(("imports", BARE))
    else:
        facts.append(("imports", OTHERS))
    users = users_of(path)
    if not is_test:
        facts.append(("is used by", shown(users)))
    facts.append(("page", page := page_of(path, imported)))
    facts += named_on(path, page)
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
        pattern += rf"|from {package}\.{stem} import)"
    places = "tests", "tools", "Makefile", ".ci", "fuzz", "benchmark"
    found = grep(pattern, *places)
    if stem != "__init__":  # those that start it, and not those that show it
        started = grep(rf"\b{stem}\.py\b", *places, ":!tests/rooms", ":!tests/cases")
        found = list(dict.fromkeys([*found, *started]))
    if len(grep("", f"*/{path.name}")) > 1 and stem != "__init__":  # others say of which folder it is
        near = rf"\b{package}[./]{stem}\b|\bfrom {package} import .*\b{stem}\b"
        beside = [one for one in found if (ROOT / one).parent == path.parent]
        found = [one for one in found if one in beside or re.search(near, text_of(ROOT / one))]
    listed = "tests/python/package/test_room.py"  # names files of each kind
    found = [one for one in found if one not in (name_of(path), listed) and not one.endswith(".md")]
    # By those who take all of its folder, or all files there that are named as it is (cases_fla.py).
    begun = re.match(r"[a-z]+_", stem)
    above = path.parents[1].name
    bare = rf'"{stem}"|' if "_" in stem else ""  # "lines" is a word of many files
    for pattern in (
        rf'{bare}"[\w/]*/{stem}"|"{package}"\S* ?(/ f"|.*glob\()|/ "{package}"$',
        rf'f?"{begun[0]}(\*|\{{)' if begun else "(?!)",
        rf'"{above}"\)?\.r?glob\(|glob\("{above}/\*',
    ):
        taking = [one for one in grep(pattern, "tests/*.py") if not one.startswith("tests/rooms/")]
        found = found or [one for one in taking if one not in (name_of(path), listed)]
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
    said = [f"`python {name} ", f"`python {name}`"]  # its own row, or the nearest folder's
    said += [f"`{folder.name}/`" for folder in path.parents]
    row = next((line for one in said for line in lines if one in line), "")
    command = (re.findall(r"`((?:python|make|pytest|PATH)[^`]*)`", row) or [""])[-1]
    command = with_own(command, path)
    if "__main__" in text:
        return command if name in command else f"python {name}" + (f"; {command}" if command else "")
    if users_alone and not command:
        return f"no: pytest -q {users_alone[0]}"
    return command or "no: its users run it"


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
