"""Tells where a file of python/bindings stands, with what it gives Python."""

import pathlib
import re

from folders import library_of

from rooms.commands import commands
from rooms.cpp import ARCHITECTURE, described_room, linked, names_for_page
from rooms.described import named_on, naming, page_of
from rooms.rules import of_rules
from rooms.sources import files_of_cpp, included_by, room_of, users_of
from rooms.tested import reached, tests_through
from rooms.tree import Facts, grouped, name_of, plain, table, told


def of_binding(path: pathlib.Path, python_tests: dict[str, list[str]]) -> Facts:
    """Tells a file of python/bindings. Its users are the modules that take its names (`python_tests`: each
    with its tests), or the other bindings that call it."""
    modules, users = list(python_tests), users_of(path)
    found = [*told(path), *reached().get(name_of(path), [])]
    found += [one for tests in python_tests.values() for one in tests if path.stem in one or not found]
    found = [one for one in found if not one.startswith("src/")]
    user, others = ("", []) if found else tests_through(path, users)
    own = {
        path,
        *(one for one in files_of_cpp() if path in included_by().get(one, ()) and not library_of(one)),
    }
    near = [one for one in files_of_cpp() if library_of(one) and own & {*included_by().get(one, ())}]
    pages: dict[str, int] = {}
    for one in near:
        _, page = described_room(one, room_of(one))
        page = page or table("architecture.md")[library_of(one)][1]
        named = {*path.stem.split("_")} & {*re.split("[_/]", room_of(one))}
        pages[page] = pages.get(page, 0) + 1 + 3 * is_same(path, one) + 4 * len(named)
    page = max(pages, key=lambda one: (one != ARCHITECTURE, pages[one]), default=ARCHITECTURE)
    page = next((one for one in naming(path) if one.startswith("doc/internals/")), page)
    library = plain(table("architecture.md")["python/bindings"][0][1])
    return [
        ("library", f"python/bindings: {library}"),
        ("includes", '"x.h" of python/bindings; Python\'s and nanobind\'s; <triton_runner/LIBRARY/x.h> of '
         f"{', '.join(linked(path.with_name('CMakeLists.txt'), '_core'))}: public headers and those of "
         "src/LIBRARY/internal"),
        *of_rules(path),
        ("is used by", grouped([("", modules), ("", users)]) or "nobody by name"),
        ("tests", grouped([("", found), (f"none of its own; those of {user}, which uses it: ", others)])
         or "those of who uses it"),
        ("page", page := page_of([path], names_for_page(path), page)),
        *named_on(path, page),
        ("try", commands(found or others, path)),
    ]  # fmt: skip


def is_same(path: pathlib.Path, header: pathlib.Path) -> bool:
    """Whether a binding is about a header, by its name: probe_debugger.cpp is about probe/debugger.h."""
    return header.stem in path.stem or path.stem in header.stem
