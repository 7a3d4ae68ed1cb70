"""Copies of a file: faults and breakpoints name the copy that runs, and each copy is compiled once. Triton's
own key has no path."""

import os
import pathlib

import pytest
import warm

pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from triton_runner._pipeline import cache, places  # noqa: E402

PROGRAM = """
import sys, torch, triton, triton.language as tl
from called import last

@triton.jit
def add_kernel(x, y, f: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, f(tl.load(x + at)) / last(x))

@triton.jit
def plus(x):
    return x + 1

if __name__ == "__main__":
    add_kernel[(2,)](torch.ones(int(sys.argv[1])), torch.empty(128), f=plus, B=64)
"""
CALLED = """
import triton, triton.language as tl

@triton.jit
def last(x):
    return tl.load(x + {at})
"""


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two checkouts of one program, and a cache of their own."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TRITON_ALWAYS_COMPILE", raising=False)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(PROGRAM)
        (tmp_path / name / "called.py").write_text(CALLED.format(at=0))
    return tmp_path


def kernels(folder) -> list[pathlib.Path]:
    return sorted((folder / "cache").glob("*/add_kernel.json"))


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_a_copy_names_itself(level, folders, monkeypatch):
    monkeypatch.chdir(folders / "one")
    (folders / "one/b.py").write_text(PROGRAM)
    before = None
    for _ in range(2):
        for name in ("a.py", "b.py"):
            said = warm.cli("run", "--level", level, name, "100").stderr
            assert said.startswith(f"{name}:8:"), said
            assert ("add_kernel" in said) and ("out of bounds" in said)
        written = [path.stat().st_mtime_ns for path in kernels(folders)]
        assert len(written) == 2
        assert before in (None, written), "two checkouts in turn compile twice, and not each time"
        before = written


def test_a_breakpoint_in_a_copy(folders, monkeypatch):
    monkeypatch.chdir(folders / "one")
    (folders / "one/b.py").write_text(PROGRAM)
    for name in ("a.py", "b.py"):
        said = warm.cli("debug", "-ex", f"break {name}:8", "-ex", "run", name, "128").stdout
        assert f"{name}:8 in add_kernel" in said, said


def test_findings_of_a_copy(folders, monkeypatch):
    monkeypatch.chdir(folders / "one")
    (folders / "one/b.py").write_text(PROGRAM)
    for name in ("a.py", "b.py"):
        options = ("--sarif", "rows.sarif", "--github")
        said = warm.cli("verify", *options, name, "100").stdout
        other = "ab".replace(name[0], "") + ".py"
        assert f"{name}:8" in said and f"file={name},line=8" in said and other not in said, said
        sarif = (folders / "one/rows.sarif").read_text()
        assert f'"{name}"' in sarif and other not in sarif


def test_a_second_checkout_and_what_it_calls(folders):
    """The fault is in the function that the kernel calls, in another file; and the same program with another
    file of that name."""
    for name in ("one", "two"):
        (folders / name / "called.py").write_text(CALLED.format(at=128))  # its end: no tensor is there
    for name in ("one", "two", "one"):
        said = warm.cli("run", "a.py", "128", cwd=folders / name).stderr
        assert said.startswith(f"{folders}/{name}/called.py:6:"), said
    elsewhere = {"PYTHONPATH": str(folders / "two")}
    (folders / "one/called.py").unlink()
    said = warm.cli("run", folders / "one/a.py", "128", cwd=folders, variables=elsewhere).stderr
    assert said.startswith(f"{folders}/two/called.py:6:"), said


def test_a_decorator_more(folders, monkeypatch):
    """It moves `def`, and neither the text nor the first line that Triton's key has."""
    monkeypatch.chdir(folders / "one")
    assert warm.cli("run", "a.py", "100").stderr.startswith("a.py:8:")
    more = "@triton.heuristics({})\n@triton.jit\ndef add_kernel"
    (folders / "one/a.py").write_text(PROGRAM.replace("@triton.jit\ndef add_kernel", more))
    assert warm.cli("run", "a.py", "100").stderr.startswith("a.py:9:")


def test_cache_explain_names_the_files(folders, monkeypatch):
    monkeypatch.chdir(folders)
    for name in ("one", "two"):
        assert warm.cli("run", "a.py", "128", cwd=folders / name).returncode == 0
    told = [cache.explain(path.parent.name)["others"] for path in kernels(folders)]
    for (other,) in told:
        assert [*other["differs"]] == ["file"]
    (pair,) = {frozenset(other["differs"]["file"]) for (other,) in told}
    assert {text.split("/")[-2] for text in pair} == {"one", "two"}


def test_triton_s_own_keys_stay(folders):
    """places.digest() says where functions stand; cache_key is Triton's, also of one that was made before."""
    code = (
        "import triton, triton.language as tl, a\n"
        "before = a.add_kernel.cache_key\n"
        "import torch, triton_runner\n"
        "from triton_runner._pipeline import driver, places\n"
        "driver.cpu_driver()\n"
        "class Source: fn, constants = a.add_kernel, {(2,): a.plus}\n"
        "first = places.digest(Source)\n"
        "assert a.add_kernel.cache_key == before\n"
        "fresh = triton.jit(a.add_kernel.fn)\n"
        "assert fresh.cache_key == before\n"
        "class Source: fn, constants = fresh, {(2,): a.plus}\n"
        "assert places.digest(Source) == first\n"
        "class Source: fn, constants = fresh, {}\n"
        "assert places.digest(Source) != first\n"
    )
    done = warm.run(
        [warm.sys.executable, "-c", code], cwd=folders / "one", capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(folders / "one")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_always_compile_does_what_it_did(folders, monkeypatch):
    monkeypatch.chdir(folders / "one")
    assert warm.cli("run", "a.py", "128").returncode == 0
    before = [path.stat().st_mtime_ns for path in kernels(folders)]
    for value, is_new in (("0", False), ("1", True)):
        assert warm.cli("run", "a.py", "128", variables={"TRITON_ALWAYS_COMPILE": value}).returncode == 0
        assert ([path.stat().st_mtime_ns for path in kernels(folders)] != before) == is_new


def test_functions_that_call_each_other():
    """The walk ends; triton_runner's own kernels are asked as Triton's are."""
    from kernels_for_tests import plain_add

    class Source:
        fn, constants = plain_add, {(0,): (plain_add, 3)}

    assert places.digest(Source) == places.digest(Source) != ""
    assert places.digest("a text") == ""
    assert places.digest(type("S", (), {"fn": triton_runner.jit(plain_add)})) != ""
