"""Says with which commands the tests of a file of C++ are run."""

import pathlib
import re

from folders import library_of

from rooms.rules import STUBS, stubs_of
from rooms.tree import ROOT, grep, text_of

MOST_CASES = 8  # in one command
MOST_OF_A_KIND = 16  # of one beginning
MOST_NAMES = 4  # of unit tests in a command
MOST_OF_USERS = 3  # with tests of their own; what more files use is tested by any of them


def makers(tests: list[str]) -> list[str]:
    """The modules that make the golden cases among some tests."""
    names = [pathlib.Path(one).stem for one in tests if one.startswith("build/golden/")]
    found = [grep(rf"[\"'(/]{re.escape(name)}\b", "tests/golden/*.py") for name in names[:4]]
    return list(dict.fromkeys(one[0] for one in found if one))


def beginning_of(case: str, cases: list[str], stem: str) -> str:
    """The beginning that a case shares with others of the list, "ptx/warp-" or "check/bad-hints-", or that
    has the stem of the file, where there are some more of that name and not too many: one of a kind notices
    what another does not."""
    for end in re.finditer("-", case):
        begun = case[: end.end()]
        those = sum(one.startswith(begun) for one in cases)
        is_shared = those > 1 or stem in re.split("[/-]", begun)
        if is_shared and those < len(grep("", f"tests/cases/{begun}*")) <= MOST_OF_A_KIND:
            return begun
    return case


def commands(tests: list[str], path: pathlib.Path, libraries: tuple[str, ...] = ()) -> str:
    """How the cases, and the first tests of each other kind, are run; of a header all unit tests of the
    libraries that include it, as each of them uses another part."""
    found, kinds, cases, made = [], set(), [], []
    others = lambda test: "_test." in test and library_of(ROOT / test) != library_of(path)  # noqa: E731
    tests = sorted(tests, key=others)  # of unit tests those of the file's own library first
    stubs = [STUBS] if stubs_of(path) else []
    by_pytest = [*[one for one in tests if one.endswith(".py")][:MOST_OF_USERS], *stubs]
    for test in [*tests, *stubs]:
        kind = "case" if "cases/" in test or test.startswith("build/") else pathlib.Path(test).suffix
        if (ROOT / test).is_dir() or (kind in kinds and kind != "case"):
            continue
        if kind == "case":
            place = test.removeprefix("tests/cases/").removeprefix("build/golden/")
            cases.append(name := str(pathlib.Path(place).with_suffix("")))
            made += [name] if test.startswith("build/") else []
        if kind in kinds:
            continue
        kinds.add(kind)
        if kind == "case":
            found.append("")  # of all of them, in the place of the first
        elif kind == ".py":
            found.append(f"pytest -q {' '.join(by_pytest)}")
        elif not libraries:
            found.append(unit(ROOT / test))
    if libraries:
        found.append(whole(libraries))
    if cases:
        cases = list(dict.fromkeys(beginning_of(one, cases, path.stem) for one in cases))
        shown = " ".join(cases[:MOST_CASES])
        more = " and the case of what you changed" if len(cases) > MOST_CASES else ""
        make = f"python tests/golden/make.py {' '.join(made[:MOST_CASES])}; " if made[:MOST_CASES] else ""
        found[found.index("")] = f"{make}python tests/run_cases.py {shown}{more}"
    if "simd" in path.parts or (library_of(path) in ("lanes", "num") and path.suffix == ".cpp"):
        found.append('make test PARTS="build isas"')
    public = ["ninja -C build/release public_headers"] if path.is_relative_to(ROOT / "include") else []
    if not found:
        return "; ".join([*public, 'make test PARTS="build unit' + ('"' if public else ' cases"')])
    return "; ".join(["make develop", *public, *found])


def whole(libraries: tuple[str, ...]) -> str:
    """The command that runs all unit tests of some libraries."""
    if len(libraries) > MOST_OF_USERS:
        return 'make test PARTS="build unit"'
    programs = [f"{one}_test" for one in libraries]
    return " && ".join(
        [f"ninja -C build/release {' '.join(programs)}", *(f"build/release/{one}" for one in programs)]
    )


def unit(path: pathlib.Path) -> str:
    """The command that runs the unit tests of a file: by the beginning that all their names have, or by the
    names of a few, or with those of the library."""
    names = re.findall(r"^TEST\((\w+)", text_of(path), re.M)
    common = names[0] if names else ""
    while common and not all(name.startswith(common) for name in names):
        common = common[:-1]
    library = library_of(path) or "invented"
    program = f"ninja -C build/release {library}_test && build/release/{library}_test"
    return f"{program} {common or (' '.join(names) if len(names) <= MOST_NAMES else '')}".rstrip()
