"""Finds which tests enter the functions of each file of C++ and of each module of the package, and writes
reached.txt, which tests/room.py tells. Nothing is compiled for it but entries.c, which puts a breakpoint at
each function of the release build: the first call of a function marks it and takes the breakpoint away;
entries.py notes the functions of Python. A golden case, a file of Python tests and a file of unit tests count
by themselves; a case of PTX that tests/run_cases.py runs as machine code too is run both ways.

    python tests/coverage/reach.py                      runs what has no marks in build/reach yet, and writes
    python tests/coverage/reach.py --only debug dump    runs again what has one of these words in its path
    python tests/coverage/reach.py --only               runs nothing, and writes
    python tests/coverage/reach.py --python             the modules alone, with the release build as it is

`make develop`, `ninja -C build/release` and `python tests/golden/make.py` come before. A file of tests has
LIMIT seconds (--limit): what it would enter later counts as not reached.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import math
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import run_cases  # noqa: E402
from suite.site import package_site  # noqa: E402

BUILD, INTO = ROOT / "build" / "release", ROOT / "build" / "reach"
OUT = HERE / "reached.txt"
LIMIT = 200
COMMON = {"tests", "test", "python", "bindings", "cases"}  # words of paths that liken nothing
EVERYTHING = "tests/python/package/"  # these tests are of the package as a whole, and enter most of it
KINDS = {"case": 2, "python": 2, "unit": 1}  # how many tests of each kind a file of C++ gets
OF_MODULE = 4  # how many a module gets
MORE = 3  # how many more, which enter functions that these do not
SHARE = 0.25  # of the best test's score: what another needs to be told beside it
ALIKE = 0.6  # likeness that a test needs which enters nothing but what most tests do


@dataclasses.dataclass
class Program:
    """A program or library whose functions are watched: how its path ends, and its functions by address."""

    path: pathlib.Path
    names: list[str]

    @classmethod
    def read(cls, path: pathlib.Path) -> "Program":
        table = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
        found: dict[int, str] = {}
        for words in map(str.split, table.splitlines()):
            if len(words) == 3 and words[1] in "tTwW":
                found.setdefault(int(words[0], 16), words[2])
        rows = sorted(found.items())
        (INTO / f"{path.name}.list").write_text("".join(f"{at:x} {name}\n" for at, name in rows))
        return cls(path, [name for _, name in rows])


@dataclasses.dataclass
class Test:
    """A test: its kind, what names it, the program that it runs in, and its command."""

    kind: str
    name: str
    program: Program | None  # None: only functions of Python are looked at
    command: list[str]

    @property
    def marks(self) -> pathlib.Path:
        return INTO / "marks" / self.name.replace("/", "@")

    @property
    def lines(self) -> pathlib.Path:
        """The functions of Python, one a line."""
        return self.marks.with_name(f"{self.marks.name}.txt")

    def run(self, limit: float) -> None:
        """Runs it, and says so where it did not end within the limit."""
        self.lines.unlink(missing_ok=True)
        environment = os.environ | {"REACH_PYTHON": str(self.lines), "PYTHONPATH": str(INTO / "site")}
        if self.program:
            self.marks.unlink(missing_ok=True)
            environment |= {
                "LD_PRELOAD": str(INTO / "entries.so"), "REACH_MARKS": str(self.marks),
                "REACH_LIST": str(INTO / f"{self.program.path.name}.list"),
                "REACH_FILE": "/" + self.program.path.name,
            }  # fmt: skip
        process = subprocess.Popen(
            self.command, cwd=ROOT, env=environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            print(f"{self.name}: stopped after {limit:g} s", flush=True)

    def entered(self) -> set[str]:
        """The names of the functions that it entered; of a test that was not run none."""
        marks = self.marks.read_bytes() if self.marks.is_file() else b""
        return {name for name, mark in zip(self.program.names, marks, strict=False) if mark}

    def entered_in_python(self) -> set[str]:
        return set(self.lines.read_text().splitlines()) if self.lines.is_file() else set()


def core() -> pathlib.Path:
    """The extension with the names of its functions, which a release leaves out: linked again without -s."""
    extension = next((BUILD / "python" / "bindings").glob("_core*.so"))
    into = INTO / "python" / "bindings" / extension.name
    into.parent.mkdir(parents=True, exist_ok=True)
    name = str(extension.relative_to(BUILD))
    commands = ["ninja", "-C", str(BUILD), "-t", "commands", name]
    link = subprocess.run(commands, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    link = link.replace("-Wl,-s ", "").replace(f"-o {name}", f"-o {into}")
    subprocess.run(link, shell=True, cwd=BUILD, check=True)
    return into


def make_site(build: pathlib.Path) -> None:
    """The package that tests import, whose processes begin with entries.py."""
    site = package_site(ROOT, build, INTO / "site")
    with (site / "sitecustomize.py").open("a") as file:
        file.write((HERE / "entries.py").read_text())


def of_case(path: pathlib.Path, tool: Program) -> Test:
    """A golden case, one of PTX as what is written and as machine code."""
    text = path.read_text()
    is_ptx = run_cases.tool_of(path, text) == "ptx"
    assembled = run_cases.machine_code(path, text) if is_ptx else None
    ways = [[], ["--assembled", *map(str, assembled)]] if assembled else [[]]
    runs = "; ".join(shlex.join([str(tool.path), *way, str(path)]) for way in ways)
    return Test("case", str(path.relative_to(ROOT)), tool, ["bash", "-c", runs])


def python_tests(extension: Program | None) -> list[Test]:
    tests, pytest = [], [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    held = sorted((ROOT / "tests" / "python").rglob("test_*.py"))
    for path in [None, *(one for one in held if EVERYTHING not in str(one))]:
        if path is None:  # the functions that every import enters
            command = [sys.executable, "-c", "import triton_runner; triton_runner.jit"]
        else:
            command = [*pytest, str(path)]
        tests.append(Test("python", str(path.relative_to(ROOT)) if path else "import", extension, command))
    return tests


def all_tests() -> list[Test]:
    tool = Program.read(BUILD / "tests" / "tools" / "case_tool")
    cases = [
        path for top in (ROOT / "tests" / "cases", ROOT / "build" / "golden") for path in top.rglob("*")
        if path.suffix in (".ttir", ".ttgir", ".ptx", ".amdgcn")
    ]  # fmt: skip
    tests = [of_case(path, tool) for path in sorted(cases)]
    extension = core()
    make_site(INTO)
    tests += python_tests(Program.read(extension))
    for binary in sorted(BUILD.glob("*_test")):
        program = Program.read(binary)
        for path in sorted((ROOT / "src" / binary.name.removesuffix("_test")).rglob("*_test.cpp")):
            names = re.findall(r"^TEST\((\w+)", path.read_text(), re.M)
            run = "; ".join(f"{binary} {name}" for name in names)
            tests.append(Test("unit", str(path.relative_to(ROOT)), program, ["bash", "-c", run]))
    return tests


def functions_in(text: str) -> list[str]:
    """The functions that a source file defines, of a class as Class::member. A constructor has no type in
    front of its name."""
    ends = r"\((?:[^;{}()]|\([^()]*\)|\{\})*\)[^;{}=]*(?::[^;]*?)?\{"
    return re.findall(rf"^ ?(?:[A-Za-z][^\n;={{}}#/()]*?[ *&>:])??((?:\w+::)?~?\w+){ends}", text, re.M)


class Sources:
    """The files of C++ by the functions that they define: a file has a function if its text defines the name,
    and it was compiled into an object that has the symbol."""

    def __init__(self, symbols: set[str]) -> None:
        self._files: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
        self._objects: dict[str, set[str]] = collections.defaultdict(set)  # symbol: files compiled together
        for path in sorted([*(ROOT / "src").rglob("*.cpp"), *(ROOT / "python" / "bindings").glob("*.cpp")]):
            if not path.name.endswith("_test.cpp"):
                self._add(path)
        for path in BUILD.rglob("*.o"):
            self._add_object(path)
        listed = sorted(symbols)
        plain = subprocess.run(["c++filt", "-p"], input="\n".join(listed), capture_output=True, text=True)
        self._names = dict(zip(listed, plain.stdout.splitlines(), strict=True))

    def _add(self, path: pathlib.Path) -> None:
        name, text = str(path.relative_to(ROOT)), path.read_text()
        library = name.split("/")[1]
        for function in functions_in(text):
            self._files[library, function].add(name)
        kind = ""
        for line in text.splitlines():
            if begins := re.match(r"(?:class|struct) (\w+)\b[^;]*\{", line):
                kind = begins[1]
            elif line.startswith("}"):
                kind = ""
            elif kind and (member := re.match(r"  (?:\w[^;=(]*[ *&])?(~?\w+)\(", line)):
                self._files[library, f"{kind}::{member[1]}"].add(name)

    def _add_object(self, path: pathlib.Path) -> None:
        together = path.with_suffix("")  # of a group of files that are compiled together
        if together.suffix == ".cxx":
            files = re.findall(r'#include "([^"]+\.cpp)"', together.read_text())
            files = [str(pathlib.Path(file).relative_to(ROOT)) for file in files]
        else:
            files = re.findall(r"(?:src|bindings)/.*\.cpp$", str(together)) or [together.name]
            files = [f"python/{file}" if file.startswith("bindings") else file for file in files]
            files = [file.replace("bindings/CMakeFiles/_core.dir", "bindings") for file in files]
        if not all(file.startswith(("src/", "python/")) and (ROOT / file).is_file() for file in files):
            return  # of tests
        table = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
        for words in map(str.split, table.splitlines()):
            if len(words) == 3 and words[1] in "tT":
                self._objects[words[2]].update(files)

    def functions(self, file: str) -> str:
        """The names of the functions that a file alone has."""
        own = (name for (_, name), files in self._files.items() if files == {file})
        return " ".join(name.rpartition("::")[2] for name in own)

    def of(self, symbol: str) -> set[str]:
        """The file of a function; none where names do not tell which."""
        found: set[str] = set()
        name_of = self._names.get(symbol, "")
        for name in re.findall(r"triton_runner::((?:\w+::|\(anonymous namespace\)::)*~?\w+)", name_of):
            parts = name.replace("(anonymous namespace)::", "").split("::")
            for at in range(len(parts), 1, -1):
                library = parts[0] if (ROOT / "src" / parts[0]).is_dir() else "bindings"
                files = self._files.get((library, "::".join(parts[at - 2 : at])))
                files = files or self._files.get((library, parts[at - 1]), set())
                files = files if len(files) == 1 else files & self._objects[symbol]
                if len(files) == 1:
                    found |= files
                    break
        return found or (self._objects[symbol] if len(self._objects[symbol]) == 1 else set())


@functools.cache
def words(text: str) -> frozenset[str]:
    """The words of a path or a name of C++, without those that many paths have."""
    found = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", text).lower())
    return frozenset(word for word in found if len(word) > 3) - COMMON


class Likeness:
    """Says how much the names of a file and of a test have in common, from 0 to about 1 a word: a word counts
    by how few tests have it, in any of its forms (count.cpp and test_counts.py)."""

    def __init__(self, tests: list[str]) -> None:
        self._tests = {test: words(test) for test in tests}
        self._held = collections.defaultdict(set)  # the first four letters: [(word, test)]
        for test, own in self._tests.items():
            for word in own:
                self._held[word[:4]].add((word, test))

    def of(self, named: frozenset[str]) -> dict[str, float]:
        """The likeness of tests to a file with these words; tests without one are left out."""
        found: dict[str, float] = collections.defaultdict(float)
        seen = set()
        for word in named:
            forms = [
                one for one in self._held[word[:4]] if one[0].startswith(word) or word.startswith(one[0])
            ]
            tests = {test for _, test in forms}
            for form, test in forms:
                if (form, test) not in seen:  # of two words of the file that one of the test is a form of
                    seen.add((form, test))
                    found[test] += math.log(len(self._tests) / len(tests)) / math.log(len(self._tests))
        return found


def chosen(entered: dict[str, set[str]], files_of, functions_of, most: int) -> dict[str, list[tuple]]:
    """(score, own functions, test) of the tests of one kind that say most about each file, the best first.
    `entered`: the functions that each test enters. files_of(function): the files that have it.
    functions_of(file): their names.

    A function counts by how few other tests enter it, beside how much else the test enters; a test whose name
    is like the file's counts more. Where every function of a file is entered by most tests, each of them is
    as good as another: then only those are chosen that are named as the file or a function of it. Beside them
    stand tests that enter functions which they do not."""
    count = collections.Counter(name for names in entered.values() for name in names)
    ran = sum(map(bool, entered.values()))
    weight = {name: math.log(ran / n) for name, n in count.items()}
    likeness = Likeness(list(entered))
    scores: dict[str, dict[str, tuple]] = collections.defaultdict(dict)
    held: dict[str, dict[str, set]] = collections.defaultdict(lambda: collections.defaultdict(set))
    for test, names in entered.items():
        whole = sum(weight[name] ** 2 for name in names) ** 0.2 or 1
        for name in names:
            for file in files_of(name):
                score, functions = scores[file].get(test, (0, 0))
                is_own = 2 * count[name] < ran  # less than half of the tests enter it
                scores[file][test] = score + weight[name] ** 2 / whole, functions + is_own
                held[file][test] |= {name} if is_own else set()
    found = {}
    for file, of_file in scores.items():
        alike = likeness.of(words(file))
        if any(functions for _, functions in of_file.values()):
            rows = [(score * (1 + alike[test]), n, test) for test, (score, n) in of_file.items()]
        else:
            alike = likeness.of(words(f"{file} {functions_of(file)}"))
            rows = [(alike[test], 0, test) for test in of_file if alike[test] >= ALIKE]
        best = sorted(rows, key=lambda one: (-one[0], one[2]))
        found[file] = [one for one in best[:most] if one[0] >= SHARE * best[0][0]]
        more = left_out([test for *_, test in found[file]], held[file]) if best else []
        found[file] += [one for one in best if one[2] in more]
    return found


def left_out(listed: list[str], held: dict[str, set[str]]) -> list[str]:
    """The tests that enter functions of a file which no listed one enters; first those that enter most.
    `held`: the functions of the file that each test enters."""
    found: list[str] = []
    while len(found) < MORE:
        seen = set().union(*(held.get(test, set()) for test in (*listed, *found)))
        best = max(held, key=lambda test: (len(held[test] - seen), test), default="")
        if not best or not held[best] - seen:
            break
        found.append(best)
    return found


def digest(tests: list[Test]) -> dict[str, list[str]]:
    """The tests that say most about each file of C++."""
    sources = Sources({name for test in tests for name in test.program.names})
    files_of = functools.cache(sources.of)
    every = next(test for test in tests if test.name == "import").entered()
    found: dict[str, dict[str, list]] = collections.defaultdict(dict)
    for kind, most in KINDS.items():
        entered = {test.name: test.entered() - every for test in tests if test.kind == kind}
        entered = {name: held for name, held in entered.items() if EVERYTHING not in name}
        entered.pop("import", None)
        for file, rows in chosen(entered, files_of, sources.functions, most).items():
            found[file][kind] = rows
    entered = {test.name: test.entered() - every for test in tests}
    told = {}
    for file, kinds in sorted(found.items()):
        held = {one[2]: {name for name in entered[one[2]] if file in files_of(name)}
                for rows in kinds.values() for one in rows}  # fmt: skip
        told[file] = of_kinds(kinds, held)
    return {file: names for file, names in told.items() if names}


def of_kinds(kinds: dict[str, list[tuple]], held: dict[str, set[str]]) -> list[str]:
    """The tests of a file of those that each kind has: of a kind whose best test enters less than a third of
    what another's does only those that alone enter a function. `held`: the functions of the file by test."""
    most = {kind: max((one[1] for one in rows), default=0) for kind, rows in kinds.items()}
    best = [one[2] for kind, rows in kinds.items() if 3 * most[kind] >= max(most.values()) for one in rows]
    more = left_out(best, held)
    return [one[2] for rows in kinds.values() for one in rows if one[2] in (*best, *more)]


def of_cpp_before() -> dict[str, list[str]]:
    """The rows of C++ that reached.txt has."""
    rows = (line.partition(": ") for line in OUT.read_text().splitlines())
    return {file: tests.split() for file, _, tests in rows if file.endswith(".cpp")}


def modules(tests: list[Test]) -> dict[str, list[str]]:
    """The tests that say most about each module of the package."""
    every = next(test for test in tests if test.name == "import").entered_in_python()
    entered = {
        test.name: test.entered_in_python() - every for test in tests
        if test.kind == "python" and test.name != "import" and EVERYTHING not in test.name
    }  # fmt: skip
    names: dict[str, list[str]] = collections.defaultdict(list)
    for function in set().union(*entered.values()):
        names[function.partition(":")[0]].append(function.rpartition(".")[2])
    files_of = lambda function: {function.partition(":")[0]}  # noqa: E731
    found = chosen(entered, files_of, lambda file: " ".join(names[file]), OF_MODULE)
    there = {file: rows for file, rows in found.items() if rows and (ROOT / file).is_file()}
    return {file: [one[2] for one in rows] for file, rows in there.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="*", metavar="WORD", help="run tests whose path has one of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for a file of tests")
    parser.add_argument("--python", action="store_true", help="of modules alone")
    arguments = parser.parse_args()
    (INTO / "marks").mkdir(parents=True, exist_ok=True)
    if arguments.python:
        make_site(BUILD)
        tests = python_tests(None)
    else:
        files = ["-o", str(INTO / "entries.so"), str(HERE / "entries.c"), "-ldl"]
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", *files], check=True)
        tests = all_tests()
    if arguments.only is None:
        asked = [test for test in tests if not (test.marks if test.program else test.lines).is_file()]
    else:
        asked = [test for test in tests if any(word in test.name for word in arguments.only)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda test: test.run(arguments.limit), asked))
    found = of_cpp_before() if arguments.python else digest(tests)
    found |= modules(tests)
    OUT.write_text("".join(f"{file}: {' '.join(names)}\n" for file, names in sorted(found.items())))
    print(f"{len(asked)} tests were run; {OUT.relative_to(ROOT)} has {len(found)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
