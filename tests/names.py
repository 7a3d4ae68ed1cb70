"""The files of a folder of C++ are compiled together (compile_in_groups in CMakeLists.txt). So the names of
types and constants that a file keeps to itself are its folder's, and a file may use what only another one
includes, until the groups change. tests/lint.py calls check(), which finds both:

    namespace {
    constexpr int kMostBits = 26;    // in two files of src/tile/check: an error as soon as one group has both

    amdgcn::left_by(in)              // and no header that this file includes, itself or by way, has left_by

Functions of one name and other parameters are overloads, and of the others the compiler tells. Names without
their namespace are left to `make test PARTS=apart`, which compiles each file by itself.
"""

import collections
import functools
import pathlib
import re
import subprocess

import folders

ROOT = folders.ROOT
# clang-format leaves what stands in a namespace at the first column.
_NAME = re.compile(
    r"(?:struct|class|enum class|enum) (\w+)(?: final)? ?(?::[^;]*)?\{"
    r"|(?:inline |static )?(?:constexpr|constinit|thread_local|const) [^=({;]*?\b(\w+)(?:\[\w*\])?(?: =|;|\{)"
)


def local_names(text: str):
    """(line, name) of the types, constants and variables in a text's unnamed namespaces."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside and (found := _NAME.match(line)):
            yield number, next(filter(None, found.groups()))


LIBRARIES = "|".join(sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir()))
_USED = re.compile(rf"(?<![\w:])(?:triton_runner::)?({LIBRARIES})::(\w+)")
_SAID = re.compile(r'"[^"\n]*"|//.*')  # strings and comments


@functools.cache
def words_of(header: pathlib.Path) -> tuple[frozenset[str], frozenset[str], tuple[str, ...]]:
    """The namespaces that a header opens, its words (with those of other libraries that it takes over by
    `using enum num::Comparison`), and those of them to which a macro adds others (elementwise_##name)."""
    text = _SAID.sub("", header.read_text())
    spaces = re.findall(r"\w+", " ".join(re.findall(r"\bnamespace ([\w:]+) \{", text)))
    spaces += [folders.library_of(header)]
    made = tuple(re.findall(r"\b(\w+)##", text))
    if re.search(r"^using (enum )?\w+::", text, re.M):
        text += "".join(one.read_text() for one in folders.included_by_way(header))
    return frozenset(spaces), frozenset(re.findall(r"\w+", text)), made


def unreached(path: pathlib.Path, text: str) -> list[str]:
    """The names of other libraries that a file with that text uses, and that no header has which it includes:
    "amdgcn::left_by"."""
    text, found = _SAID.sub("", text), []
    way = [words_of(header) for header in folders.included_by_way(path)]
    for library, name in dict.fromkeys(_USED.findall(text)):
        if library == folders.library_of(path):
            continue
        is_forward = re.search(rf"\b(?:class|struct|enum(?: class)?) {name}\b", text)
        has = any(
            name in words or name.startswith(begun) for spaces, words, begun in way if library in spaces
        )
        if not (is_forward or has or f"{name}##" in text):
            found.append(f"{library}::{name}")
    return found


def check() -> list[str]:
    """Returns what is wrong, a line each."""
    files = folders.sources(ROOT / "src") + folders.sources(folders.PUBLIC)
    files += folders.sources(ROOT / "python" / "bindings")
    return taken_twice() + [
        f"{path.relative_to(ROOT)}: uses {name}, and no header that it includes has that name"
        for path in files
        for name in unreached(path, path.read_text())
    ]


def taken_twice() -> list[str]:
    """The names that two files of one folder keep to themselves, a line each."""
    files = subprocess.run(
        ["git", "ls-files", "--", "src/*.cpp", "python/bindings/*.cpp"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    owners: dict[tuple, list[str]] = collections.defaultdict(list)
    for name in files:
        path = pathlib.Path(name)
        if path.parent.name == "simd" or not (ROOT / name).is_file():  # compiled one by one
            continue
        for line, local in local_names((ROOT / name).read_text()):
            owners[path.parent, name.endswith("_test.cpp"), local].append(f"{name}:{line}")
    twice = {key[2]: places for key, places in owners.items() if len({p.split(":")[0] for p in places}) > 1}
    return [
        f"{', '.join(places)}: {local} is a name in two files of one folder; rename one of them"
        for local, places in sorted(twice.items())
    ]
