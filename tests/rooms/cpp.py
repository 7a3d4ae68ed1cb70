"""Tells where a file of C++ stands, in src, include, python/bindings or tests."""

import pathlib
import re

import kinds
from folders import included, library_of

from rooms.commands import MOST_OF_USERS, commands, makers, unit
from rooms.described import named_on, page_of
from rooms.includes import below, may_include
from rooms.rules import of_rules
from rooms.sources import (
    declared,
    defined,
    goes_with,
    headers,
    implementers,
    included_by,
    operations_of,
    room_of,
    rows_of,
    through_lines,
    through_table,
    users_of,
)
from rooms.tested import libraries_that_include, of_kinds, tests_of, tests_of_users, tests_through
from rooms.tree import ROOT, Facts, grep, grouped, name_of, plain, shown, table, text_of

ARCHITECTURE = "doc/internals/architecture.md"  # the page of what has none of its own


def of_source(path: pathlib.Path) -> Facts:
    """Tells a file of src or include."""
    if path.stem.endswith("_test"):
        return of_unit_test(path)
    library = library_of(path)
    if not library:
        return of_umbrella(path)
    page = table("architecture.md")[library][1]
    facts = stands_in(path)
    done = [one for one in implementers(path) if one != path]
    room = room_of(path)
    room_page = described_room(path, room)[1]
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
    of_lines = through_lines(path)
    with_lines = [test for one in of_lines[:MOST_OF_USERS] for test in tests_of(ROOT / one)[:1]]
    of_users += [one for one in with_lines if one not in (*tests, *of_beside, *of_users)]
    is_public = path.is_relative_to(ROOT / "include") and path.suffix == ".h"
    if is_public and not tests:  # any program that includes it tests it: none of them more than another
        user, others = "", []
    said = [
        ("", tests),
        ("of what it goes with: ", of_beside),
        ("of its users: ", of_users),
        (f"none of its own; those of {user}, which uses it: ", others),
    ]
    of_library = re.findall(r"`(tests/[\w/.]+)`", table("architecture.md")[library][0][1])
    # A file without tests of its own is tested by those of its library first.
    place, none = (2, "none of its own; ") if others else (len(said), "")
    said.insert(place, (f"{none}of its library: ", [one for one in of_library if one not in tests]))
    if none and of_library:
        said[-1] = (f"those of {user}, which uses it: ", others)
    said.append(("its golden cases are made by ", makers(tests or others)))
    users = [one for one in users if "_test." not in one]
    of_many = is_public and len({room_of(one) for one in done}) > 1
    place = path.parent if path.suffix == ".cpp" else ROOT / "src" / library
    would_be = f"{name_of(place)}/{path.stem}_test.cpp"
    pages_for = [path] if of_many else [path, *done, *headers(path)]
    facts += [("implemented", "in " + shown([name_of(one) for one in done]))] if done else []
    with_it = [f"{name_of(one)} ({kind})" for one, kind in beside.items()]
    facts += [("goes with", shown(with_it))] if beside else []
    if name_of(path) in kinds.REASONS:
        named = "TRANSLATED" if kinds.REASONS[name_of(path)][0] == kinds.TRANSLATED else "REASONS"
        facts.append(("names ops", f"by their kinds: one more needs a word in {named} of tests/kinds.py"))
    tried = [*tests, *of_beside, *of_users] or [*of_library, *others]
    facts += [
        ("includes", may_include(path, room)),
        *of_rules(path),
        ("is used by", grouped([("", handlers), ("", users), ("by its table: ", through_table(path)),
                                ("by its lines of PTX: ", of_lines)])
         or "nobody by name"),
        ("tests", grouped(said) or f"none of its own; {would_be} would be its test"),
        ("page", page := page_of(pages_for, names_for_page(path), page)),
        *named_on(path, page),
        ("try", commands(tried, path, libraries_that_include(path))),
    ]  # fmt: skip
    return facts


def stands_in(path: pathlib.Path) -> Facts:
    """The rows of a file's library and room, and of who may include it."""
    library, room = library_of(path), room_of(path)
    facts = [("library", f"src/{library}: {plain(table('architecture.md')[library][0][1])}")]
    if path.is_relative_to(ROOT / "include"):
        name = path.relative_to(ROOT / "include")
        facts.append(("public", f"programs in C++ include it as <{name}>, and its names are promised"))
    elif path.parent.name == "internal":
        facts.append(("internal", f"other libraries include it as <triton_runner/{library}/{path.name}>"))
    if holds := described_room(path, room)[0]:
        facts.append(("room", f"src/{room}: {holds}"))
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
    library, room = library_of(path), room_of(path)
    own = [one for one in included(path) if library_of(one) == library]
    subject = path.with_name(f"{path.stem.removesuffix('_test')}.cpp")
    same = [one for one in own if one.stem == path.stem.removesuffix("_test")]
    what = [name_of(subject)] if subject.is_file() else []
    page = described_room(path, room)[1] or table("architecture.md")[library][1]
    page = page_of([subject if subject.is_file() else path, *same], [], page)
    return [
        *stands_in(path),
        ("it tests", shown([*what, *(name_of(one) for one in [*same, *own])])),
        ("includes", f'"test.h" (TEST, CHECK), and what it needs of {", ".join([library, *below(library)])}, '
         f"with which CMake links {library}_test: lint leaves a test's includes alone"),
        *of_rules(path),
        ("page", page),
        *named_on(subject if subject.is_file() else path, page),
        ("runs alone", unit(path)),
        ("new test", "is a TEST(name) in the file; CMake finds a new x_test.cpp beside x.cpp by itself"),
    ]  # fmt: skip


def of_test_tool(path: pathlib.Path) -> Facts:
    """Tells a program in C++ of tests, fuzz or benchmark, or a header of one."""
    folder = name_of(path.parent)
    places = (path.parent, path.parents[1], ROOT)
    cmakes = [one / "CMakeLists.txt" for one in places if (one / "CMakeLists.txt").is_file()]
    own = path.stem.partition("_")[2]  # fuzz_${target}.cpp
    sources = "|".join(
        re.escape(one.name) for one in [path, *included_by().get(path, ())] if one.suffix != ".h"
    )
    target, cmake = next(
        ((name, cmake) for cmake in cmakes for name, files in re.findall(
            r"add_executable\((\w+)([^)]*)\)", text_of(cmake).replace("${target}", own or "-"))
         if re.search(rf"[\s/}}](?:{sources})", files)),
        ("", None))  # fmt: skip
    pattern = rf"\b{re.escape(path.name)}\b" + (
        rf"|[\"'/ ]{target}\b" if target and path.suffix != ".h" else ""
    )
    users = [name_of(one) for one in included_by().get(path, ())]
    places = "tests/*.py", "tests/*.sh", "Makefile", "tools", ".ci", "fuzz/*.py", "benchmark/*.py"
    started = grep(pattern, *places, ":!tests/rooms", ":!tests/python/package/test_room.py")
    users += [one for one in started if one not in users]
    tests = [one for one in users if re.match("tests/python/.*/test_", one)]
    program = f"{name_of(cmake.parent)}/" if cmake and cmake.parent != ROOT else ""
    starts = "make fuzz LIMIT=60" if folder == "fuzz" else f"build/release/{program}{target}"
    starts = "python tests/run_cases.py" if target == "case_tool" else starts
    tried = [f"ninja -C build/release {target}; {starts}"] if target else []
    links = linked(cmake, target) if cmake else []
    within = (
        re.findall(rf"target_include_directories\({target} PRIVATE ([^)]*)\)", text_of(cmake))
        if cmake
        else []
    )
    beside = ", ".join(["its own folder", "tests/unit", *re.findall(r"\bsrc/\w+", " ".join(within))])
    of_what = ", ".join(links) or "the libraries that it is linked with"
    return [
        ("folder", folder_says(path.parent)),
        ("includes", f'"x.h" of {beside}; <triton_runner/LIBRARY/x.h> of {of_what}'),
        ("is built by", f"{name_of(cmake)}, as {target}" if target else next(
            (name_of(one) for one in cmakes if path.name in text_of(one)), "those that use it")),
        ("is used by", shown(users)),
        ("page", page := "tests/README.md"),
        *named_on(path, page),
        ("try", "; ".join(tried or [f"pytest -q {one}" for one in tests[:1]]) or "that which includes it"),
    ]  # fmt: skip


def linked(cmake: pathlib.Path, target: str) -> list[str]:
    """The libraries of src that CMake links a target with, and those that these may include."""
    text = text_of(cmake).replace("${target}", target.partition("_")[2])
    words = re.findall(rf"target_link_libraries\({target} (?:PRIVATE|PUBLIC) ([^)]*)\)", text)
    own = [one for one in " ".join(words).split() if (ROOT / "src" / one).is_dir()]
    return list(dict.fromkeys([*own, *(inner for one in own for inner in below(one))]))


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
