"""A release of Triton is one row of releases.def: what lists them is made from it, and a row that a test
build adds is all that C++, Python, tests, tools and pages need."""

import functools
import json
import pathlib
import re
import subprocess
import sys

import pytest
from suite import loaded

pytest.importorskip("triton")
from triton_runner import _core
from triton_runner._base.releases import DISTRIBUTIONS, RELEASES, parse_version
from triton_runner._pipeline import versions
from triton_runner.verbs.ops import run as op_listing

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "triton_runner"
# Pages that list the releases, written from the table; and what was measured, with what there was then.
LISTS = ("doc/reference/releases.md", "doc/measurements/", "README.md", "README.zh.md")
WORDS = {10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen", 14: "fourteen", 15: "fifteen", 16: "sixteen"}


@functools.cache
def tracked() -> dict[str, str]:
    """The texts that a person writes: pages, docstrings, comments, messages."""
    patterns = ["*.md", "*.py", "*.h", "*.cpp", "*.def", "Makefile"]
    done = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True)
    names = [name for name in done.stdout.split("\n") if name and not name.startswith(LISTS)]
    assert len(names) > 1000
    return {name: (ROOT / name).read_text() for name in names if (ROOT / name).exists()}


def tool(name: str):
    return loaded(ROOT / "tools" / f"{name}.py")


def test_what_lists_the_releases_is_of_the_table():
    for path, text in tool("releases_page").texts().items():
        assert path.read_text() == text, f"{path.name}: run python tools/releases_page.py"


def test_nothing_else_says_which_releases_there_are():
    """A sentence with the first and the last, or with how many, would be wrong with the next one."""
    first, last = (".".join(map(str, version)) for version in (min(RELEASES), max(RELEASES)))
    counts = "|".join({WORDS.get(n, str(n)) for n in (len(RELEASES), len(versions.RELEASES))})
    wrong = re.compile(
        rf"\b{first}(\.\d)? (to|until|through|and on to) {last}\b"
        rf"|\b(all|any) releases? from {first}\b|\b({counts}) (Triton )?releases\b|RELEASES = [\[(]\"",
        re.IGNORECASE,
    )
    assert wrong.search(f"works with {first} to {last}") and wrong.search("in ten releases")
    found = [
        f"{name}:{text[: match.start()].count(chr(10)) + 1}: {match[0]!r}: say 'every release', see "
        "doc/reference/releases.md"
        for name, text in tracked().items()
        for match in wrong.finditer(text)
        if name != "tests/python/compiler/test_releases.py"
    ]
    assert not found, "\n".join(found)


def test_rows_are_whole():
    assert list(RELEASES) == sorted(RELEASES) and list(versions.RELEASES) == sorted(
        versions.RELEASES, key=versions.key
    )
    for version, row in RELEASES.items():
        assert row.patches and all(parse_version(patch) == version for patch in row.patches)
        assert row.run_field and row.default_driver and row.active_driver and row.second_ptxas


def test_ops_are_of_releases_that_there_are():
    named = set()
    for row in _core.ir.op_table():
        for entry in [row, *row["old_names"]]:
            named |= {entry["since"], entry["until"]} - {None}
    assert len(named) > 8 and {parse_version(text) for text in named} <= {*RELEASES}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_build_of_others_names_what_its_release_has_not(name):
    row = DISTRIBUTIONS[name]
    release = {op["name"] for op in op_listing.listing(None, ".".join(map(str, row.version)), False, ())}
    assert {op for op in row.ops if (op.removeprefix("-") in release) != op.startswith("-")} == set()


def test_the_installed_release_is_one_of_them():
    [pinned] = re.findall(r"^triton==(.*)$", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)
    assert pinned in versions.RELEASES


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    """Returns what invented_release.py prints where tests/unit/invented/releases.def adds a row."""
    build = ROOT / "build" / "release"
    command = ["cmake", "--build", build, "--target", "invented_core"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    [core] = (build / "tests" / "invented").glob("_core*.so")
    site = tmp_path_factory.mktemp("site")
    package = site / "triton_runner"
    package.mkdir()
    for path in PACKAGE.iterdir():
        if not path.name.startswith(("_core", "__pycache__")):
            (package / path.name).symlink_to(path)
    (package / core.name).symlink_to(core)
    environment = {
        "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null", "PATH": "/usr/bin:/bin",
        "TRITON_RUNNER_VERSIONS": str(site / "versions"), "HOME": str(site), "TRITON_RUNNER_DEVICE": "cpu",
    }  # fmt: skip
    command = [sys.executable, pathlib.Path(__file__).parents[1] / "helpers" / "invented_release.py", site]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=site)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["of"] == str(package / "__init__.py")
    return said


def test_an_invented_release_differs_as_its_row_says(invented):
    last = RELEASES[max(RELEASES)]
    assert invented["facts"] == [last.hidden_pointers + 1, last.run_field, last.second_ptxas]
    assert invented["newer"] == [3, 10]


def test_an_invented_release_can_be_fetched_and_compiled_with(invented):
    assert invented["expand"] == ["3.9.0", "3.10.0"] and invented["all"] == "3.10.1"
    assert invented["ls"][0] == 0 and "3.10.0, 3.10.1\n" in invented["ls"][1]
    for verb in ("add", "compile"):  # it goes as far as the package index, which does not have it
        assert "Triton 3.10.1 has no wheel for Python" in invented[verb][1], invented[verb]
    assert "there is no Triton release '3.10.2'" in invented["unknown"][1]
    with pytest.raises(ValueError, match=r"there is no Triton release '3\.10\.1'"):
        versions.known("3.10.1")


def test_texts_of_an_invented_release_are_read_and_written(invented):
    assert invented["translate"]["written_by"] == ["3.0", "3.10"] and invented["translate"]["changes"] == []
    assert invented["ops"][0] == 0 and "tt.load" in invented["ops"][1]


def test_an_invented_distribution_differs_as_its_row_says(invented):
    fork = invented["fork"]
    assert fork["facts"] == [4, 4, RELEASES[3, 7].hidden_pointers]
    assert fork["expand"] == ["invented-3.7.9", "3.7.1", "invented-3.7.8"]


def test_an_invented_distribution_can_be_fetched_and_compiled_with(invented):
    fork = invented["fork"]
    assert fork["ls"].rstrip().endswith("invented-3.7.8, invented-3.7.9")
    for verb in ("add", "compile"):  # it goes as far as the package index, which does not have it
        assert "Triton invented-3.7.9 has no wheel for Python" in fork[verb][1], fork[verb]
    assert "there is no Triton release 'invented-3.7.10'" in fork["unknown"][1]


def test_texts_of_an_invented_distribution_have_its_ops(invented):
    fork = invented["fork"]
    assert fork["translate"]["changes"] == []
    assert "Triton 3.7 has no op tt.atomic_load" in fork["poll"][1]
    assert fork["kept"][0] == 0 and "of Triton 3.9" in fork["kept"][1]
    assert fork["ops"][0] == 0
    rows = {row["name"]: row for row in json.loads(fork["ops"][1])}
    assert rows["tt.atomic_load"]["status"] == "executed" and "tt.advance" not in rows
    assert rows["test.own"]["status"] == "no row" and "tt.make_tensor_ptr" in rows


def test_the_module_of_an_invented_distribution_is_triton(invented):
    assert invented["fork"]["module"] == ["True", "triton.language", "True", "triton"]


def test_the_lists_of_tests_and_tools_have_an_invented_release(invented):
    assert invented["corpus"] == "3.10.1" and invented["nearest"] == "3.10.1"
    assert "3.10.1/ttgir/sm90/matmul" in invented["rows"] and "3.10.1/gluon/gluon_intro" in invented["rows"]
    assert invented["tests"] == ["3.10.1", "3.10.1"]


def test_the_pages_have_an_invented_release(invented):
    texts = invented["texts"]
    assert (
        "| invented | invented-triton | invented_triton | 3.7.9+inv | 3.7 | 3.7.8, 3.7.9 |"
        in texts["releases.md"]
    )
    assert "\n| 3.10 | 3.10.0, 3.10.1 | `hidden_pointers`: 3 |\n" in texts["releases.md"]
    assert "releases 3.0 to 3.10," in texts["README.md"] and "3.0 至 3.10" in texts["README.zh.md"]
    assert 'triton = ["triton>=3.0,<3.11"]' in texts["pyproject.toml"]
