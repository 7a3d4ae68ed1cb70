"""Reads what a file of C++ defines, who uses that, and which files and rows of tables go with it."""

import functools
import pathlib
import re

from folders import included, included_by_way, library_of

from rooms.rules import lists_of
from rooms.tree import ROOT, grep, name_of, opening, text_of

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
    for one in [] if is_source or not types else [*found]:  # a member of its type is called in source files
        if one.endswith(".h") and path.is_relative_to(ROOT / "src"):
            place = found[one]
            found |= {caller: found.get(caller, place) for caller in holding(ROOT / one, types)}
    own_headers = {name_of(one) for one in included(path)} if is_source else {}
    for one in [one for one in found if one in own_headers or (is_source and one.endswith(".h"))]:
        callers = {} if one in own_headers else callers_through(ROOT / one, same)
        if one in own_headers or callers:
            place = found.pop(one)
            found |= {caller: found.get(caller, place) for caller in callers}
    return sorted(found, key=lambda one: (found[one], one))


def holding(header: pathlib.Path, types: set[str]) -> list[str]:
    """The source files that include a header and call its members of some types: silence_.meet()."""
    member = rf"\b(?:{'|'.join(types)})\b[^;()\n]*?(\w+_)(?: = .*|\{{.*)?;"
    held = re.findall(member, text_of(header))
    called = re.compile(rf"\b(?:{'|'.join(held)})(?:\.|->)\w+\(")
    users = [one for one in included_by().get(header, ()) if held and one.suffix == ".cpp"]
    return [name_of(one) for one in users if called.search(text_of(one))]


def through_lines(path: pathlib.Path) -> list[str]:
    """The files that lower machine code by lines of PTX which a file lowers: those of the opcodes in its
    opening, or else of its rows."""
    if name_of(path.parent) != "src/simt/front/ptx" or path.suffix != ".cpp":
        return []
    said = re.findall(r"(?<![\w./])[a-z]\w*(?:\.[a-z]\w*)+", opening(path, whole=True))
    ends = ("h", "cpp", "def", "md", "py")
    said = [one for one in said if one.rpartition(".")[2] not in ends] or [row for row, _ in rows_of(path)]
    lines = "|".join(re.escape(one) for one in said)
    return grep(rf'"(?:@\S+ )?(?:{lines})[. "]', "src/simt/front/sass/*.cpp") if said else []


def callers_through(header: pathlib.Path, same: list[pathlib.Path]) -> list[str]:
    """The source files that include a header and call a member of a class that headers of `same` declare."""
    members = "|".join(
        name for one in same for name in re.findall(r"^  [\w:<>*&, ]*[ *&](\w{7,})\(", text_of(one), re.M)
    )
    called = re.compile(rf"(?:\.|->)(?:{members or '(?!)'})\(")
    return [
        name_of(one) for one in included_by().get(header, ())
        if one.suffix == ".cpp" and called.search(text_of(one))
    ]  # fmt: skip


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
