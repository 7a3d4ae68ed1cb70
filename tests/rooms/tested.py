"""Finds the tests of a file of C++: those that it names, those that enter it, and the cases of its rows."""

import functools
import pathlib
import re

from folders import library_of

from rooms.commands import MOST_OF_USERS
from rooms.sources import files_of_cpp, headers, implementers, included_by, room_of, rows_of
from rooms.tree import ROOT, grep, name_of, opening, text_of, told

DRIVER = "src/driver"


@functools.cache
def reached() -> dict[str, list[str]]:
    """The tests that enter a file of C++, as tests/coverage/reach.py found."""
    lines = text_of(ROOT / "tests" / "coverage" / "reached.txt").splitlines()
    rows = (line.partition(": ") for line in lines if not line.startswith("#"))
    return {file: tests.split() for file, _, tests in rows}


@functools.cache
def using(opcode: str, folder: str) -> list[str]:
    """The cases of a folder in which an instruction stands; of the driver the tests that name a function,
    with or without its version, but for those that run another library in the driver's place."""
    if folder == DRIVER:
        name = re.sub("_v[0-9]+$", "", opcode)
        found = grep(rf"\b{name}(_v[0-9]+)?\b", f"{folder}/*_test.cpp", "tests/python")
        return [one for one in found if not re.search(r"\bfake_(build|cuda|gpu)\b", text_of(ROOT / one))]
    return grep(rf"^\s*(@!?%?\w+\s+)?{re.escape(opcode)}(?![\w])", folder)


def cases_of_rows(path: pathlib.Path) -> list[str]:
    """The two cases of instructions that say most of the rows of a file, which few other cases have; of
    functions of the driver the tests."""
    at = next((f"tests/cases/{one}" for one in ("ptx", "amdgcn") if f"front/{one}" in name_of(path)), "")
    at = DRIVER if library_of(path) == "driver" else at
    scores: dict[str, float] = {}
    for row, _ in rows_of(path) if at else ():
        held = [one for one in using(row, at) if not re.search(r"/bad-|/random_", one)] or using(row, at)
        for one in held:
            is_named = row.partition(".")[0] in pathlib.Path(one).stem
            calls = len({*re.findall(r"\bcu[A-Z]\w+", text_of(ROOT / one))}) if at == DRIVER else 1
            scores[one] = scores.get(one, 0) + (1 + is_named) / len(held) / calls
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
    own_header = [one for one in headers(path)[:1] if one.stem == path.stem]
    own = [test for one in dict.fromkeys([*sources, *own_header]) for test in told(one)]
    cases = [case for _, case in rows_of(path) if case]
    named = named_in_openings(path)
    found = [*own, *named, *cases, *cases_of_rows(path)]
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
        run = folders_of_cases(f"src/{room_of(path)}") or folders_of_cases(f"src/{library_of(path)}")
        like = [one.replace("/bad-", "/").rpartition("-")[0] + "-*" for one in shown]
        like += [re.sub(r"(/bad-|/)([^/-]+)-[^/]*$", r"/\2-*", one) for one in shown]
        of_run = lambda found: [one for one in found if one.split("/")[2] in run and not is_report(one)]  # noqa: E731
        plain = of_run(grep("", f"tests/cases/*/{path.stem}-*")) or of_run(plain_cases(path))
        found = [*(plain or of_run(grep("", *like)))[:2], *found]
    users = [one for one in included_by().get(path, ()) if one.stem.endswith("_test")]
    users = [one for one in users if one.stem == f"{path.stem}_test"] or users
    found += [name_of(one) for one in users if path.suffix == ".h"]
    library = library_of(path)
    found += named_as_functions(path, found)
    if found and all("_test." in one and library_of(ROOT / one) != library for one in found):
        found += grep("", f"tests/python/*/test_{library}.py")  # all tests of the library enter it
        found.reverse()
    # First what the file names, and unit tests of another library last.
    far = lambda one: "_test." in one and library_of(ROOT / one) != library  # noqa: E731
    own += named
    found.sort(key=lambda one: (one not in own, one not in own and far(one)))
    return [one for one in dict.fromkeys(found) if (ROOT / one).exists() or one.startswith("build/")]


def named_as_functions(path: pathlib.Path, tests: list[str]) -> list[str]:
    """The Python test whose functions are named with a word of a function of a file, where no other test has
    that word and some of its folder enter the file: what every test enters is tested by one of them."""
    folders = {str(pathlib.Path(one).parent) for one in tests if one.startswith("tests/python/")}
    folders = folders if path.suffix == ".cpp" else set()
    names = re.findall(r"^\w[\w:<>&* ]* (?:\w+::)?(\w+)\(", text_of(path), re.M)
    words = {word for name in names for word in re.findall("[a-z]{5,}", name.lower())}
    found = []
    for word in sorted(words) if folders else ():
        held = grep(rf"^def test_(\w+_)?{word}(_|\()", "tests/python/*/test_*.py")
        found += held if len(held) == 1 and str(pathlib.Path(held[0]).parent) in folders else []
    return [one for one in dict.fromkeys(found) if one not in tests][:1]


@functools.cache
def folders_of_cases(place: str) -> set[str]:
    """The folders of cases that enter files of a folder of src: those of its engine."""
    entered = [test for file, tests in reached().items() if file.startswith(f"{place}/") for test in tests]
    return {one.split("/")[2] for one in entered if one.startswith("tests/cases/")}


@functools.cache
def named_in_openings(path: pathlib.Path) -> list[str]:
    """The tests whose opening names a file, and few others beside it; of a table that is invented again the
    unit tests with such rows."""
    if sum(one.name == path.name for one in files_of_cpp() if library_of(one)) > 1:
        return []  # nobody knows which is meant
    places = "tests/python/**/test_*.py", "tests/unit/*_test.cpp", "src/*_test.cpp"
    found = grep(rf"\b{re.escape(path.name)}\b", *places)
    found = [one for one in found if one != "tests/python/package/test_room.py"]
    files = {one: re.findall(r"\b\w+\.(?:cpp|h|def)\b", opening(ROOT / one, whole=True)) for one in found}
    found = [one for one in found if path.name in files[one] and len({*files[one]}) <= MOST_OF_USERS]
    invented = ROOT / "tests" / "unit" / "invented" / "invented_test.cpp"
    is_invented = path.suffix == ".def" and invented.with_name(path.name).is_file()
    return [*found, *([name_of(invented)] if is_invented else [])]


def plain_cases(path: pathlib.Path) -> list[str]:
    """The cases named as the first word of a file's name is, those first that have most words of its opening;
    none of them reports a fault."""
    words = {*re.findall("[a-z0-9]{3,}", f"{opening(path)} {path.stem}".lower())}
    like = lambda one: len(words & {*pathlib.Path(one).stem.split("-")})  # noqa: E731
    cases = [one for one in grep("", f"tests/cases/*/{path.stem.partition('_')[0]}-*") if like(one) > 1]
    return sorted(cases, key=lambda one: (-like(one), len(one), one))


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
    if len(users) <= 2 * MOST_OF_USERS:  # before them one whose test has that name
        users.sort(key=lambda one: not any(path.stem in test for test in reached().get(one, ())))
    for user in users:
        if (ROOT / user).suffix in (".cpp", ".h") and (found := tests_of(ROOT / user)):
            return user, found
    return "", []


def libraries_that_include(path: pathlib.Path) -> tuple[str, ...]:
    """The libraries with unit tests of which files include a header, its own first."""
    users = [library_of(one) for one in included_by().get(path, ())] if path.suffix == ".h" else []
    found = dict.fromkeys([library_of(path), *sorted(one for one in users if one)] if users else ())
    return tuple(one for one in found if grep("", f"src/{one}/*_test.cpp"))


def of_kinds(tests: list[str]) -> list[str]:
    """The first case, the first Python test and the first unit test of some tests."""
    found: dict[str, str] = {}
    for one in tests:
        is_case = one.startswith(("tests/cases/", "build/"))
        found.setdefault("case" if is_case else pathlib.Path(one).suffix, one)
    return [*found.values()]
