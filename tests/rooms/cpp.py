"""Tells where a file of C++ stands, in src, include, python/bindings or tests."""

import pathlib
import re

import kinds
from folders import library_of

from rooms.commands import MOST_OF_USERS, commands, makers, unit
from rooms.described import named_on, page_of
from rooms.includes import may_include
from rooms.rules import of_rules
from rooms.sources import (
    declared,
    defined,
    files_of_cpp,
    goes_with,
    headers,
    implementers,
    included_by,
    operations_of,
    room_of,
    rows_of,
    through_table,
    users_of,
)
from rooms.tested import of_kinds, tests_of, tests_of_users, tests_through
from rooms.tree import ROOT, Facts, grep, grouped, name_of, plain, shown, table, text_of

ARCHITECTURE = "doc/internals/architecture.md"  # the page of what has none of its own


def of_source(path: pathlib.Path) -> Facts:
    """Tells a file of src or include."""
    if path.stem.endswith("_test"):
        return of_unit_test(path)
    library = library_of(path)
    if not library:
        return of_umbrella(path)
    cells, page = table("architecture.md")[library]
    facts = [("library", f"src/{library}: {plain(cells[1])}")]
    if path.is_relative_to(ROOT / "include"):
        name = path.relative_to(ROOT / "include")
        facts.append(("public", f"programs in C++ include it as <{name}>, and its names are promised"))
    elif path.parent.name == "internal":
        facts.append(("internal", f"other libraries include it as <triton_runner/{library}/{path.name}>"))
    done = [one for one in implementers(path) if one != path]
    room = room_of(path)
    holds, room_page = described_room(path, room)
    if holds:
        facts.append(("room", f"src/{room}: {holds}"))
    users = users_of(path)
    ops = [op for op, _ in rows_of(path)] or operations_of(path)
    if path.suffix == ".h" and done:  # a rule that a row names is bound to what the header declares
        own = {*declared(path)}
        ops = [op for one in done for op, _ in rows_of(one, own)]
    handlers = [f"the row{'s' * (len(ops) > 1)} of {shown(ops, most=8)}"] if ops else []
    tests = tests_of(path)
    page = room_page if room_page not in ("", ARCHITECTURE) else page
    page = page_of_users(path, users) or page
    beside = goes_with(path)
    entered = list(dict.fromkeys(test for one in beside for test in of_kinds(tests_of(one))))
    of_beside = [test for test in entered if test not in tests][:MOST_OF_USERS]
    user, others = ("", []) if tests or of_beside else tests_through(path, users)
    of_users = tests_of_users(path, users, [*tests, *of_beside]) if tests and not of_beside else []
    is_public = path.is_relative_to(ROOT / "include") and path.suffix == ".h"
    if is_public and not tests:  # any program that includes it tests it: none of them more than another
        user, others = "", []
    said = [
        ("", tests),
        ("of what it goes with: ", of_beside),
        ("of its users: ", of_users),
        (f"none of its own; through {user}: ", others),
    ]
    said.append(("its golden cases are made by ", makers(tests or others)))
    users = [one for one in users if "_test." not in one]
    of_many = is_public and len({room_of(one) for one in done}) > 1
    place = path.parent if path.suffix == ".cpp" else ROOT / "src" / library
    would_be = f"{name_of(place)}/{path.stem}_test.cpp"
    pages_for = [path] if of_many else [path, *done, *headers(path)]
    facts += [("has its code", shown([name_of(one) for one in done]))] if done else []
    with_it = [f"{name_of(one)} ({kind})" for one, kind in beside.items()]
    facts += [("goes with", shown(with_it))] if beside else []
    if name_of(path) in kinds.REASONS:
        named = "TRANSLATED" if kinds.REASONS[name_of(path)][0] == kinds.TRANSLATED else "REASONS"
        facts.append(("names ops", f"by their kinds: one more needs a word in {named} of tests/kinds.py"))
    facts += [
        ("includes", may_include(path, room)),
        *of_rules(path),
        ("is used by", grouped([("", handlers), ("", users), ("by its table: ", through_table(path))])
         or "nobody by name"),
        ("tests", grouped(said) or f"none of its own; {would_be} would be its test"),
        ("page", page := page_of(pages_for, names_for_page(path), page)),
        *named_on(path, page),
        ("try", commands([*tests, *of_beside, *of_users] or others, path)),
    ]  # fmt: skip
    return facts


def page_of_users(path: pathlib.Path, users: list[str]) -> str:
    """The page of those users of a header, where all lie in one folder below it: in src/probe/debug."""
    users = [one for one in users if "_test." not in one]
    places = {(ROOT / one).parent for one in users}
    if path.suffix != ".h" or len(places) != 1 or path.parent not in next(iter(places)).parents:
        return ""
    pages = [dict(of_source(ROOT / one))["page"].partition(" (")[0] for one in users]
    return max(pages, key=pages.count)


def names_for_page(path: pathlib.Path) -> list[str]:
    """The types that a header declares, or whose members a source file defines."""
    names = [name.split("::")[0] for name in defined(path)] if path.suffix == ".cpp" else declared(path)
    return [name for name in dict.fromkeys(names) if name[0].isupper()]


def described_room(path: pathlib.Path, room: str) -> tuple[str, str]:
    """The words of the row of a folder within a library, and the page that it links to."""
    library, _, inner = room.partition("/")
    if library == "simt":
        cells, page = table("simt.md").get(inner.removesuffix("/simd"), ([""], ""))
        return plain(cells[-1]), page
    if library == "tile":
        cells, page = table("tile-engine.md")[inner or "tile"]
        return plain(cells[1]), page
    cells, page = table("architecture.md").get(room, ([""], "")) if inner else ([""], "")
    return plain(cells[-1]), page


def of_umbrella(path: pathlib.Path) -> Facts:
    """Tells triton_runner.h, which belongs to no library."""
    users = [name_of(one) for one in included_by().get(path, ())]
    users += [
        one for one in grep(r"#include <triton_runner/triton_runner\.h>", "examples") if one not in users
    ]
    return [
        ("public", "the whole API in one header; tests/folders.py wants every public header in it"),
        ("includes", "every header of include/triton_runner, and nothing else"),
        ("is used by", shown(users)),
        ("tests", "each public header compiles alone (the target public_headers)"),
        (
            "page",
            "doc/guide/cpp.md" if (ROOT / "doc/guide/cpp.md").is_file() else "doc/internals/architecture.md",
        ),
        ("try", "ninja -C build/release public_headers"),
    ]


def of_unit_test(path: pathlib.Path) -> Facts:
    """Tells the unit tests of a file: what they test, and how they run alone."""
    library = library_of(path)
    own = [one for one in files_of_cpp() if path in included_by().get(one, ()) and library_of(one) == library]
    subject = path.with_name(f"{path.stem.removesuffix('_test')}.cpp")
    same = [one for one in own if one.stem == path.stem.removesuffix("_test")]
    what = [name_of(subject)] if subject.is_file() else []
    room = room_of(path)
    page = described_room(path, room)[1] or table("architecture.md")[library][1]
    return [
        ("tests", shown([*what, *(name_of(one) for one in [*same, *own])])),
        ("includes", f"tests/unit/test.h (TEST, CHECK), and what src/{library} may include: all rooms of it"),
        ("runs alone", unit(path)),
        ("page", page_of([subject if subject.is_file() else path, *same], [], page)),
        ("new test", "a TEST(name) in the file; a file x_test.cpp beside x.cpp needs no entry elsewhere"),
    ]  # fmt: skip


def of_test_tool(path: pathlib.Path) -> Facts:
    """Tells a program in C++ of tests, fuzz or benchmark."""
    folder = name_of(path.parent)
    cmake = next((one for one in (path.parent / "CMakeLists.txt", path.parents[1] / "CMakeLists.txt",
                                  ROOT / "CMakeLists.txt")
                  if one.is_file() and path.name in text_of(one)), None)  # fmt: skip
    users = [name_of(one) for one in included_by().get(path, ())]
    pattern = rf"\b{re.escape(path.stem)}\b"
    builds = re.findall(r"add_executable\((\w+)([^)]*)\)", text_of(cmake) if cmake else "")
    tests = [name for name, files in builds if path.name in files and name.endswith("_test")]
    program = f"build/release/{tests[0] if tests else 'invented_test'}"
    program = "python tests/run_cases.py" if "tools" in folder else program
    users += [one for one in grep(pattern, "tests/*.py", "Makefile", "tools", ".ci") if one not in users]
    return [
        ("folder", folder_says(path.parent)),
        ("includes", "src (all of it), and the headers of its own folder and of tests/unit"),
        ("is built by", name_of(cmake) if cmake else f"CMakeLists.txt takes what {folder} has"),
        ("is used by", shown(users)),
        ("page", "tests/README.md"),
        ("try", f"ninja -C build/release && {program}"),
    ]  # fmt: skip


def folder_says(folder: pathlib.Path) -> str:
    """The row of a folder of tests in tests/README.md, or of the one above."""
    readme = text_of(ROOT / "tests" / "README.md")
    for one in (folder, *folder.parents):
        if not one.is_relative_to(ROOT / "tests") or one == ROOT / "tests":
            break
        name = str(one.relative_to(ROOT / "tests"))
        if row := re.search(rf"^\|[^|]*`{re.escape(name)}/`[^|]*\| ([^|]*) \|", readme, re.M):
            return f"tests/{name}: {plain(row[1])}"
    return name_of(folder)
