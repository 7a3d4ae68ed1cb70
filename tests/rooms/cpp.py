"""Tells where a file of C++ stands, in src, include, python/bindings or tests."""

import functools
import pathlib
import re

import kinds
from folders import included, included_by_way, library_of

from rooms.commands import MOST_OF_USERS, commands, makers, unit
from rooms.described import named_on, page_of
from rooms.includes import may_include
from rooms.rules import lists_of, of_rules
from rooms.tree import (
    ROOT,
    Facts,
    grep,
    grouped,
    name_of,
    opening,
    plain,
    shown,
    table,
    text_of,
    told,
)

UMBRELLA = ROOT / "include" / "triton_runner" / "triton_runner.h"  # includes all, and uses nothing
TABLES = (  # of ops and opcodes, whose rows name what handles them, and the folders of src in which that is
    ("include/triton_runner/ir/ops.def", ("tile", "ir", "machine")),
    ("include/triton_runner/ptx/opcodes.def", ("simt/front/ptx",)),
    ("src/sass/internal/opcodes.def", ("simt/front/sass",)),
    ("src/amdgcn/internal/opcodes.def", ("simt/front/amdgcn",)),
    ("src/driver/functions.def", ("driver",)),
)
PREFIX = {"LOWER": "lower", "SHAPE": "shape", "FOLD": "fold", "SHADOW": "shadow", "RACE": "race",
          "HARDWARE": "hardware", "EXACT": "exact"}  # fmt: skip
ARCHITECTURE = "doc/internals/architecture.md"  # the page of what has none of its own
CALLERS = "src/**/*.cpp", "src/**/*.h", "python/bindings", "include"
MOST_BESIDE = 6  # files of one header that go with each other; what more have in common says little
SPECIFIC = 7  # characters of a name that is looked for beyond the files that include its header: at least


def outside(path: pathlib.Path) -> str:
    """The text of a file of C++ without its anonymous namespaces, whose names no other file has."""
    return re.sub(r"^namespace \{$.*?^\}  // namespace$", "", text_of(path), flags=re.M | re.S)


@functools.cache
def defined(path: pathlib.Path) -> tuple[str, ...]:
    """The functions and tables that a source file defines; of a class the members, as Class::member."""
    text = outside(path)
    # A definition stands in the first column, and a function has a type in front of its name.
    members = re.findall(r"^(?:\w[\w:<>*&, ]*?)??\b([A-Z]\w+::~?\w+)\([^;]*?\{", text, re.M)
    functions = re.findall(r"^\w[\w:<>*&, ]*[ *&](\w+)\([^;{]*\)[\w ]*\{", text, re.M)
    tables = re.findall(r"^(?:extern )?const [\w:<>]+ (\w+)(?:\[\w*\])? = ", text, re.M)
    return tuple(dict.fromkeys([*members, *functions, *tables]))


@functools.cache
def declared(path: pathlib.Path) -> tuple[str, ...]:
    """The types, functions and constants of a header."""
    text = outside(path)
    types = re.findall(r"^(?:class|struct|union|enum class|enum|using) (\w+)(?! *;)\b", text, re.M)
    functions = re.findall(r"^[^#/\s}][^(=]*[ *&](\w+)\(", text, re.M)
    constants = re.findall(r"^(?:inline |extern |static )*const(?:expr)? [\w:<> *]+ (\w+)", text, re.M)
    return tuple(dict.fromkeys([*types, *functions, *constants]))


@functools.cache
def classes_by_member() -> dict[str, set[str]]:
    """The classes that have a member of each name."""
    found: dict[str, set[str]] = {}
    for path in files_of_cpp():
        kind = ""
        for line in text_of(path).splitlines():
            if begins := re.match(r"(?:class|struct) (\w+)\b[^;]*\{", line):
                kind = begins[1]
            elif line.startswith("}"):
                kind = ""
            elif kind and (member := re.match(r"  (?:\w[^;=(]*[ *&])?(\w+)\(", line)):
                found.setdefault(member[1], set()).add(kind)
        for name in defined(path) if path.suffix == ".cpp" else ():
            if "::" in name:
                found.setdefault(name.split("::")[-1], set()).add(name.split("::")[0])
    return found


@functools.cache
def files_of_cpp() -> list[pathlib.Path]:
    places = (
        "src",
        "include",
        "python/bindings",
        "tests/unit",
        "tests/tools",
        "tests/gpu",
        "fuzz",
        "benchmark",
    )
    return [ROOT / one for one in grep("", *places) if one.endswith((".cpp", ".h", ".def", ".inc"))]


@functools.cache
def included_by() -> dict[pathlib.Path, list[pathlib.Path]]:
    """The files that include each header or table."""
    found: dict[pathlib.Path, list[pathlib.Path]] = {}
    for file in files_of_cpp():
        for header in included(file):
            found.setdefault(header, []).append(file)
    return found


@functools.cache
def headers(path: pathlib.Path) -> tuple[pathlib.Path, ...]:
    """The headers that declare what a source file defines, that of its own name first; a header itself."""
    if path.suffix != ".cpp":
        return (path,)
    library = library_of(path) or path.parent.name
    near = [one for one in files_of_cpp() if one.suffix == ".h" and library in one.parts]
    near = [one for one in near if "front" not in one.parts or one.parent == path.parent]  # each names alike
    names = {name.split("::")[0] for name in defined(path)}
    same = [one for one in near if one.stem == path.stem]
    declare = [one for one in near if names & {*declared(one)}]  # a namesake may declare none of them
    same = [one for one in same if one.parent == path.parent] or [
        one for one in same if one in declare or (one.parent.name == "internal" and not declare)
    ]
    rest = names - {name for one in same[:1] for name in declared(one)}
    # A short name may be another one's, but for that in a header which the file includes.
    long = {name for name in rest if "_" in name or len(name) > 8 or not name[0].islower()}
    with_it = lambda one: rest if path in included_by().get(one, ()) else long  # noqa: E731
    return (*same[:1], *(one for one in near if one not in same[:1] and with_it(one) & {*declared(one)}))


@functools.cache
def implementers(path: pathlib.Path) -> tuple[pathlib.Path, ...]:
    """The source files that define what a header declares: that of its own name first."""
    if path.suffix != ".h" or not library_of(path):
        return ()
    names = {*declared(path)}
    near = [
        one for one in files_of_cpp()
        if one.suffix == ".cpp" and library_of(one) == library_of(path) and not one.stem.endswith("_test")
        and path in headers(one) and names & {name.split("::")[0] for name in defined(one)}
    ]  # fmt: skip
    return tuple(sorted(near, key=lambda one: (one.stem != path.stem, str(one))))


def room_of(path: pathlib.Path) -> str:
    """The folder below src that a file lies in, and a header of internal is implemented in."""
    parts = path.relative_to(ROOT).parts
    if parts[0] == "src" and parts[-2] not in ("internal",):
        return "/".join(parts[1:-1])
    rooms = ["/".join(one.relative_to(ROOT).parts[1:-1]) for one in implementers(path)]
    is_one = len({*rooms}) == 1 or (rooms and parts[0] == "src")
    return rooms[0] if is_one else library_of(path)  # a public header of several rooms has none


def users_of(path: pathlib.Path) -> list[str]:
    """The files that use a header, or what a source file defines. Those that call its functions come first,
    of these the ones of other rooms, then those that include its header."""
    near, own_names = headers(path), {name.split("::")[-1] for name in defined(path)}
    of_class = {name.split("::")[-1]: name.split("::")[0] for name in defined(path) if "::" in name}
    is_source = path.suffix == ".cpp"
    names = own_names if is_source else {*declared(path)}
    same = [one for one in near if one.stem == path.stem]
    specific = [name for name in defined(path) if len(name) >= SPECIFIC]
    if names and (not near or (is_source and not same and not specific)):
        # A macro declares them, or their names are short: callers in other libraries write the namespace.
        library = library_of(path)
        among = name_of(path.parent) if "front" in path.parts else f"src/{library}"
        bare = "|".join(name for name in names if len(name) >= SPECIFIC)  # "load" is a word of many files
        found = grep(rf"\b({bare})\b", among) if bare else []
        found += grep(rf"\b{library}::({'|'.join(names)})\(", *CALLERS) if library else []
        return [one for one in dict.fromkeys(found) if ROOT / one not in (path, UMBRELLA, *near)]
    direct = {one for header in same for one in included_by().get(header, ())}
    types = {name for header in same for name in declared(header) if name[0].isupper()}
    others = {
        name for one in files_of_cpp() if one.suffix == ".h" and one not in near for name in declared(one)
    }
    own = {name for name in names if name not in others and len(name) >= SPECIFIC}
    reached = {*direct, *(one for header in near for one in included_by().get(header, ()))}
    at = {*reached}
    while at := {one for header in at for one in included_by().get(header, ())} - reached:
        reached |= at
    done = {*implementers(path)} if not is_source else {path}
    found = {}
    for one in reached - {*near, path, UMBRELLA} - done:
        text = text_of(one)
        words = {*re.findall(r"\w+", text)}
        used = words & (names | types if one in direct else own)
        # A member that other classes have too is this one's where the file names the class.
        used = {
            name for name in used
            if name not in of_class or of_class[name] in words or len(classes_by_member()[name]) == 1
        }  # fmt: skip
        called = "[(>]" if is_source else r"\("  # a handler is an argument: emit<run_box_load>
        is_called = any(re.search(rf"\b{name}{called}", text) for name in used)
        if one not in direct and not (is_called if is_source else used):
            continue
        if is_source and not used:
            continue
        is_near = room_of(one) == room_of(path) if library_of(one) else False
        found[name_of(one)] = (not is_called, one not in direct, is_near, one.suffix == ".h")
    return sorted(found, key=lambda one: (found[one], one))


@functools.cache
def reached() -> dict[str, list[str]]:
    """The tests that enter a file of C++, as tests/coverage/reach.py found."""
    lines = text_of(ROOT / "tests" / "coverage" / "reached.txt").splitlines()
    rows = (line.partition(": ") for line in lines if not line.startswith("#"))
    return {file: tests.split() for file, _, tests in rows}


@functools.cache
def using(opcode: str, folder: str) -> list[str]:
    """The cases of a folder in which an instruction stands."""
    return grep(rf"^\s*(@!?%?\w+\s+)?{re.escape(opcode)}(?![\w])", folder)


def cases_of_rows(path: pathlib.Path) -> list[str]:
    """The two cases of instructions that say most of the rows of a file: which few other cases have."""
    at = next((f"tests/cases/{one}" for one in ("ptx", "amdgcn") if f"front/{one}" in name_of(path)), "")
    scores: dict[str, float] = {}
    for row, _ in rows_of(path) if at else ():
        held = [one for one in using(row, at) if "/bad-" not in one] or using(row, at)
        for one in held:
            is_named = row.partition(".")[0] in pathlib.Path(one).stem
            scores[one] = scores.get(one, 0) + (1 + is_named) / len(held)
    return sorted(scores, key=lambda one: (-scores[one], one))[:2]


@functools.cache
def words_of_opening(path: pathlib.Path) -> frozenset[str]:
    """The words of four letters and more with which a file, or a test and its functions, say what it is."""
    text = opening(path, whole=True)
    if path.suffix == ".py":
        text += " ".join(re.findall(r"^def (test_\w+)", text_of(path), re.M))
    return frozenset(word[:6] for word in re.findall("[a-z]{4,}", text.lower().replace("_", " ")))


def tests_of(path: pathlib.Path) -> list[str]:
    """The tests of a file of C++: those that it names itself, or what implements it names, or else the tests
    that were seen to enter these; beside them the cases of its rows, and the unit test beside it."""
    sources = [path, *implementers(path)]
    own = [test for one in sources for test in told(one)]
    cases = [case for _, case in rows_of(path) if case]
    found = [*own, *cases, *cases_of_rows(path)]
    for one in sources:
        beside = one.with_name(f"{one.stem}_test.cpp")
        found += [name_of(beside)] if beside.is_file() else []
        words = {*re.findall("[a-z]+", name_of(one))} - {"src", "tests", "python", "test", "cpp", "h"}
        entered = [] if own else reached().get(name_of(one), [])
        # A handler of ops is tested by the cases of its rows; that a Python test enters it says little.
        entered = [test for test in entered if not (cases and test.startswith("tests/python/"))]
        found += sorted(  # of Python tests that first which is named as the file is
            entered,
            key=lambda test: (
                test.startswith("tests/python/") - test.startswith(("tests/cases/", "build/")),
                test.endswith(".py") and not words & {*re.findall("[a-z]+", test.rpartition("test_")[2])},
                -len(words_of_opening(one) & words_of_opening(ROOT / test)) if test.endswith(".py") else 0,
            ),
        )
    is_report = lambda one: pathlib.Path(one).stem.startswith(("check-", "bad-"))  # noqa: E731
    shown = [one for one in found if one.startswith("tests/cases/")]
    if shown and all(map(is_report, shown)) and "check" not in path.parts:  # what it computes before faults
        plain = [one for one in grep("", f"tests/cases/*/{path.stem}-*") if not is_report(one)]
        found = [*plain[:2], *found]
    users = [one for one in included_by().get(path, ()) if one.stem.endswith("_test")]
    users = [one for one in users if one.stem == f"{path.stem}_test"] or users
    found += [name_of(one) for one in users if path.suffix == ".h"]
    library = library_of(path)
    if found and all("_test." in one and library_of(ROOT / one) != library for one in found):
        found += grep("", f"tests/python/*/test_{library}.py")  # all tests of the library enter it
        found.reverse()
    # First what the file names, and unit tests of another library last.
    far = lambda one: "_test." in one and library_of(ROOT / one) != library  # noqa: E731
    found.sort(key=lambda one: (one not in own, one not in own and far(one)))
    return [one for one in dict.fromkeys(found) if (ROOT / one).exists() or one.startswith("build/")]


def tests_of_users(path: pathlib.Path, users: list[str], tests: list[str]) -> list[str]:
    """A test of each user in the same room that the tests of a file leave out: of each check that keeps marks
    in check/shadow.cpp one."""
    found = []
    for user in users:
        of_user = tests_of(ROOT / user) if library_of(ROOT / user) and "_test." not in user else []
        near = room_of(ROOT / user) == room_of(path) if of_user else False
        if near and user.endswith(".cpp") and of_user[0] not in {*tests, *found}:
            found.append(of_user[0])
    return found[:MOST_OF_USERS]


def tests_through(path: pathlib.Path, users: list[str]) -> tuple[str, list[str]]:
    """The user that has tests, of a file that nothing was seen to enter, and these tests."""
    # The nearest first: of the same library, and of those what has most of the file's name in it.
    users = sorted(users, key=lambda one: -text_of(ROOT / one).count(path.stem))
    users = sorted(users, key=lambda one: library_of(ROOT / one) != library_of(path))
    for user in users:
        if (ROOT / user).suffix in (".cpp", ".h") and (found := tests_of(ROOT / user)):
            return user, found
    return "", []


def of_kinds(tests: list[str]) -> list[str]:
    """The first case, the first Python test and the first unit test of some tests."""
    found: dict[str, str] = {}
    for one in tests:
        is_case = one.startswith(("tests/cases/", "build/"))
        found.setdefault("case" if is_case else pathlib.Path(one).suffix, one)
    return [*found.values()]


def operations_of(path: pathlib.Path) -> list[str]:
    """The operations over lanes of which a file has rows, each with the files of other libraries that ask for
    it: they find it by its name."""
    if path.parent != ROOT / "src" / "lanes" / "simd":
        return []
    known = re.findall(r"^OPERATION\((\w+)\)", text_of(ROOT / "src/lanes/internal/functions.def"), re.M)
    rows = [name for name in known if re.search(rf"^[^/\n]*\(({name}),", text_of(path), re.M)]
    places = "src/ptx/*.cpp", "src/amdgcn", "src/sass", "src/simt", "src/tile"
    asking = {name: grep(rf"\b{name}\b", *places)[:3] for name in rows}
    return [f"{name} ({', '.join(asking[name]) or 'by its name in PTX'})" for name in rows]


def through_table(path: pathlib.Path) -> list[str]:
    """The files that call what a file of a folder simd has by a member of the table of functions of its
    instruction set: Steps::take_half in tables.h, as steps().take_half."""
    table = next((one for one in included(path) if one.name == "tables.h"), None)
    if path.parent.name != "simd" or path.suffix != ".cpp" or not table:
        return []
    text = re.sub(r"//.*", "", text_of(table))
    members = re.findall(r"\(\*(\w+)\)\(", text)
    for row in re.findall(r"^  (?:const )?\w*Handler\*?\s+([\w, \n]+);", text, re.M):
        members += re.findall(r"\w+", row)
    own = [name for name in members if re.search(rf"\b{name}\b", outside_comments(path))]
    places = "src/*.cpp", f":!{name_of(path.parent)}", ":!*_test.cpp"
    asked = rf"(?:\(\)\.|[Tt]ables\w*(?:\.|->|\(\)\.))({'|'.join(own)})\b"
    return [one for one in grep(asked, *places) if table in included_by_way(ROOT / one)] if own else []


def outside_comments(path: pathlib.Path) -> str:
    return re.sub(r"//.*", "", text_of(path))


@functools.cache
def definers() -> dict[tuple[str, str], list[pathlib.Path]]:
    """The source files that define members of each class of a library."""
    found: dict[tuple[str, str], list[pathlib.Path]] = {}
    for path in files_of_cpp():
        if path.suffix == ".cpp" and library_of(path):
            for kind in dict.fromkeys(name.split("::")[0] for name in defined(path) if "::" in name):
                found.setdefault((library_of(path), kind), []).append(path)
    return found


def goes_with(path: pathlib.Path) -> dict[pathlib.Path, str]:
    """The other source files that define members of the classes of a source file, or what its header
    declares, each with the class: what one of them gets, another may have to keep, copy or show; in front of
    them the header of the class, where that is not named as the file. Of a header those that expand a list of
    its rows."""
    if not library_of(path):
        return {}
    if path.suffix != ".cpp":
        lists = lists_of(path)
        expand = {one: [name for name in lists if re.search(rf"\b{name}\b", text_of(one))]
                  for one in files_of_cpp() if lists and one != path}  # fmt: skip
        return {one: ", ".join(names) for one, names in expand.items() if names}
    found: dict[pathlib.Path, str] = {}
    for kind in dict.fromkeys(name.split("::")[0] for name in defined(path) if "::" in name):
        of_kind = [one for one in headers(path) if kind in declared(one) and one.stem != path.stem]
        found |= dict.fromkeys(of_kind, kind)
        for one in definers().get((library_of(path), kind), ()):
            found.setdefault(one, kind)
    own = headers(path)
    rest = implementers(own[0]) if not found and own else ()
    found |= {one: own[0].name for one in rest if len(rest) <= MOST_BESIDE}
    found.pop(path, None)
    return found


def rows_of(path: pathlib.Path, among: set[str] | None = None) -> list[tuple[str, str]]:
    """(op, its golden case) of the rows of ops and opcodes of which a file has the handler or a rule; those
    whose names are `among` some, if there are any."""
    folder = "/".join(path.relative_to(ROOT).parts[1:])
    own = {*re.findall(r"^(?:\w[\w:<>*& ]*?)\b([a-z]+_\w+)\([^;]*?\) \{", outside(path), re.M)}
    own |= {name.split("::")[-1] for name in defined(path)}
    own &= among if among is not None else own
    found = []
    for file, places in TABLES:
        if path.suffix != ".cpp" or not folder.startswith(tuple(f"{place}/" for place in places)):
            continue
        for row in re.split(r"^(?:OP|FUNCTION|STREAM)\(", text_of(ROOT / file), flags=re.M)[1:]:
            if file.startswith("src/driver"):  # the symbol is the name of the function
                name, suffix = (one.strip() for one in row.split(",")[:2])
                found += [(name + suffix, "")] if name + suffix in own else []
                continue
            quoted, words = re.findall(r'"([^"]*)"', row), re.sub(r'"[^"]*"', "", row.partition("\n\n")[0])
            handlers = {f"{PREFIX[kind]}_{name}" for kind, name in re.findall(r"\b([A-Z]+)\((\w+)\)", words)
                        if kind in PREFIX}  # fmt: skip
            handlers |= (
                set()
                if file.startswith("include/triton_runner/ir")
                else {f"lower_{name}" for name in re.findall(r"\w+", words)}
            )
            if own & handlers:
                is_op = file.endswith("ops.def")
                name = quoted[0] if file.startswith("include/") else re.match(r"\w+", row)[0]
                found.append((name, case_of(quoted[-1]) if is_op and own & {*map_lower(words)} else ""))
    return found


def map_lower(words: str) -> list[str]:
    """The handler of a row of ops.def."""
    return [f"lower_{name}" for name in re.findall(r"\bLOWER\((\w+)\)", words)]


@functools.cache
def case_of(name: str) -> str:
    """The file of the golden case that ops.def calls "op/tt.dot"."""
    made = {line.partition(" ")[0] for line in text_of(ROOT / "tests/golden/digests.txt").splitlines()}
    for suffix in (".ttgir", ".ttir"):
        if (ROOT / "tests" / "cases" / f"{name}{suffix}").is_file():
            return f"tests/cases/{name}{suffix}"
        if f"{name}{suffix}" in made:
            return f"build/golden/{name}{suffix}"
    return f"build/golden/{name}.ttir"


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
        ("tests", grouped(said) or f"none of its own; src/{library}/{path.stem}_test.cpp would be its test"),
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
