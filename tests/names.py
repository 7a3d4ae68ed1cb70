"""The names of types and constants that a C++ file keeps to itself are its folder's: the files of a folder
are compiled together (compile_in_groups in CMakeLists.txt). tests/lint.py calls check().

    namespace {
    constexpr int kMostBits = 26;    // in two files of src/tile/check: an error as soon as one group has both

Functions are not looked at: those of one name and other parameters are overloads, and of the others the
compiler tells.
"""

import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
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


def check() -> list[str]:
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
