"""Tells how a file of C++ is built otherwise than most, and what it alone may or may not do, as CMake and
lint have it."""

import functools
import pathlib
import re

import folders

from rooms.tree import ROOT, Facts, grep, name_of, opening, shown, text_of

STUBS = "tests/python/package/test_stubs.py"  # compares stubs, and the pages of the API
CMAKE = ROOT / "CMakeLists.txt"


@functools.cache
def _set(name: str, file: pathlib.Path) -> str:
    """The words of a variable of a CMake file."""
    found = re.search(rf'^set\({name} (?:"([^"]*)"|([^)]*))\)', text_of(file), re.M)
    return (found[1] or found[2]).replace("\\\\", "\\")


def of_rules(path: pathlib.Path) -> Facts:
    """The rows that say it of a file of src, include or python/bindings."""
    name = name_of(path)
    loud = [why for one, why in folders.MAY_BE_LOUD.items() if name.startswith(one)]
    facts = [("is written", f"by {one}: change that, and run it") for one in writers(path)]
    facts += [("is built", one) for one in _built(path)]
    facts += [("then run", f"python tools/stubs.py, which writes {one}") for one in stubs_of(path)]
    is_test = path.stem.endswith("_test")
    if path.suffix == ".cpp" and name.startswith("src/") and name not in _set("TABLES", CMAKE).split():
        beside = f"other {'tests' if is_test else 'files'} of {name_of(path.parent)}"
        together = "which are compiled together (tests/names.py)"
        facts.append(("own names", f"of types and constants must differ from those of {beside}, {together}"))
    for enum in enums(path):
        if asking := [one for one in by_order().get(enum, ()) if one != name and sees(one, path)]:
            facts.append(("order", f"of {enum}'s enumerators is asked for by {shown(asking)} (<, >=)"))
    for word, users in sized_by(path).items():
        facts.append(
            ("order", f"of the enumerators below {word} is that of arrays of {word} in {shown(users)}")
        )
    if not loud and not is_test and not name.startswith("python/"):
        facts.append(("may not", "print, throw, end the process or read its environment, as no library does"))
    loud = loud if path.suffix == ".cpp" else []
    facts += [
        ("may", f"print, read variables or end the process, as no other library does ({one})") for one in loud
    ]
    if path.suffix == ".cpp" and re.search(r"\bsigaction\(", text_of(path)):
        facts.append(("may not", "allocate, throw or wait for a lock in what its handler of signals calls"))
    return facts


def _built(path: pathlib.Path) -> list[str]:
    name = name_of(path)
    if path in folders.once_an_isa():
        return [
            "once for each instruction set too, as files of a folder simd include it: a function that they "
            "call must be always_inline, or so short that the compiler inlines it, or in the namespace "
            "SIMD_ISA, or defined in a .cpp (test_isas_built.py looks for one that is none of these)"
        ]
    if path.suffix != ".cpp" or path.stem.endswith("_test"):
        return []
    if str(path.parent.relative_to(ROOT)) in folders.ONCE_AN_ISA:
        return [
            "once for each instruction set, in the namespace SIMD_ISA (once_an_instruction_set in "
            "CMakeLists.txt)"
        ]
    if name in _set("TABLES", CMAKE).split():
        return ["by itself, and again in tests/unit/invented with rows of its own (TABLES in CMakeLists.txt)"]
    found = []
    cold, hot = (_set(one, CMAKE) for one in ("COLD", "HOT"))
    if re.search(cold, f"/{name}"):
        is_hot = re.search(hot, f"/{name}")
        found.append(
            "for speed, as handlers that run are here (HOT in CMakeLists.txt)" if is_hot else
            "at -O1 (COLD in CMakeLists.txt): a function that running kernels call goes into a file of HOT"
        )  # fmt: skip
    launch_path = _set("launch_path", ROOT / "python/bindings/CMakeLists.txt").split()
    if path.parent.name == "bindings":
        found.append(
            "for speed, as each launch comes through it (launch_path in CMakeLists.txt beside it)"
            if path.name in launch_path else
            "for size: what each launch runs through is in a file of launch_path (CMakeLists.txt beside it)"
        )  # fmt: skip
    return found


def names_in_python(path: pathlib.Path) -> tuple[str, list[str]]:
    """The submodule of _core that a binding fills, and the names that it gives it: those of functions and
    classes, and not of methods, which other objects have too."""
    text = text_of(path)
    names = re.findall(r'\b(?:(?<=\w\.)def|class_<[^(]*>|enum_<[^(]*>)\(\s*(?:\w+, )?"(\w+)"', text)
    module = re.search(r'def_submodule\("(\w+)"|_core\.(\w+)', text)
    return (module[1] or module[2]) if module else "", [
        name for name in dict.fromkeys(names) if not name.startswith("__")
    ]


def stubs_of(path: pathlib.Path) -> list[str]:
    """The stub that has the names of a binding; of a table that of the binding which reads it."""
    bindings = [path] if path.parent.name == "bindings" and path.suffix == ".cpp" else []
    if path.suffix == ".def":
        bindings = [ROOT / one for one in grep(rf"#include .*/{path.name}>", "python/bindings")]
    found = []
    for module, names in map(names_in_python, bindings):
        given = rf"^(def|class) ({'|'.join(names)})\b"
        stubs = grep(given, "python/triton_runner/_core") if names else []
        found += [one for one in stubs if pathlib.Path(one).stem == module] or stubs
    return found[:1]


def writers(path: pathlib.Path) -> list[str]:
    """The program that writes a file, as one of the two says."""
    program = r"((?:tools|tests)/[\w/]+\.py)"
    writes = rf"[Ww]ritten by {program}|{program} (?:fit \(|writes (?:it|the rows))"
    own = re.search(writes, opening(path, whole=True))
    if own:
        return [own[1] or own[2]]
    return grep(rf'^"""(Writes|Prints) {re.escape(name_of(path))}\b', "tools", "tests/*.py")[:1]


def sees(one: str, header: pathlib.Path) -> bool:
    """Whether a file is of the library of a header, or includes one of it, or is of the front end for it."""
    library = folders.library_of(header)
    return library in one.split("/") or f"triton_runner/{library}/" in text_of(ROOT / one)


@functools.cache
def enums(path: pathlib.Path) -> list[str]:
    """The enumerations that a header has, or of which a table has the rows."""
    if path.suffix == ".h":
        return re.findall(r"\benum (?:class )?(\w+)", text_of(path))
    found = [] if path.suffix != ".def" else grep(re.escape(path.name), "src/*.h", "include/*.h")
    into = rf'\benum (?:class )?(\w+)[^{{;]*\{{[^}}]*#include [<"][^">]*{re.escape(path.name)}[">]'
    return [enum for one in found for enum in re.findall(into, text_of(ROOT / one))]


@functools.cache
def sized_by(path: pathlib.Path) -> dict[str, list[str]]:
    """The last enumerators of a header that are counts, with the files that fill an array of so many by
    place: kWords[kCounters] = {...}."""
    bodies = (
        re.findall(r"\benum (?:class )?\w+[^{;]*\{([^}]*)\}", text_of(path)) if path.suffix == ".h" else []
    )
    last = [re.findall(r"\b[A-Za-z]\w*", re.sub(r"//.*|=[^,]*", "", body))[-1:] for body in bodies]
    found = {}
    for (word,) in filter(None, last):
        filled = rf"\[(\w+::)*{word}\] *= *\{{[^}}]|\barray<[^;=]*\b{word}> \w+ *= *\{{[^}}]"
        users = [one for one in grep(filled, "src/*.cpp", "src/*.h", "include/*.h") if sees(one, path)]
        found |= {word: users} if users else {}
    return found


@functools.cache
def by_order() -> dict[str, list[str]]:
    """The files that compare enumerators of each enumeration by their order."""
    found: dict[str, list[str]] = {}
    operand = r"(?:\w+::)*([A-Z]\w+)::k?[A-Z]\w*"
    orders = re.compile(rf"[\w)\]] (?:<=?|>=?) {operand}|{operand} (?:<=?|>=?) \w"
                        rf"|static_cast<\w+>\([^()]*\) - static_cast<\w+>\({operand}\)")  # fmt: skip
    for one in grep(r" [<>]=? |\) - static_cast", "src/*.cpp", "src/*.h", "include/*.h", "python/bindings"):
        for words in orders.findall(text_of(ROOT / one)):
            held = found.setdefault(next(filter(None, words)), [])
            held += [one] if one not in held and not one.endswith("_test.cpp") else []
    return found


def lists_of(path: pathlib.Path) -> list[str]:
    """The macros of a header that hand each row of a list to another macro (#define ROWS(X) X(a) X(b)), and
    the types that they make (X(a, AType))."""
    text = text_of(path).replace("\\\n", " ")
    lists = [(name, body) for name, X, body in re.findall(r"^#define (\w+)\((\w+)\)(.*)$", text, re.M)
             if re.search(rf"\b{X}\(", body) and f"#undef {name}\n" not in text]  # fmt: skip
    calls = re.findall(r"^[A-Z_]+\((.*)\)$", text, re.M) if lists else []
    made = [word for held in [*(body for _, body in lists), *calls]
            for word in re.findall(r", ([A-Z][a-z]\w+)", held)]  # fmt: skip
    return [*(name for name, _ in lists), *dict.fromkeys(made)]
