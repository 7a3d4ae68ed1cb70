"""Tests where verbs write: a file is there whole or not at all, a place that cannot hold it is refused before
the work is done, and a device takes it as it is."""

import os
import pathlib
import subprocess
import sys

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
from triton_runner import DiagnosticError
from triton_runner._base.paths import check_output, make_folder, read_text, write_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
IR = str(ROOT / "examples/exec/add_kernel.ttir")
# For each verb what it is asked, up to the place, and whether that is a folder.
WRITES = {
    "opt": (("--pass", "add_cse", "-t", "cuda:90", IR, "--output"), False),
    "translate": ((IR, "--to", "3.9.0", "-o"), False),
    "compile": ((IR, "-t", "cuda:90", "--to", "ttgir", "--save"), True),
    "passes": ((IR, "-t", "cuda:90", "--to", "ttir", "--save"), True),
    "report": ((IR, "-o"), False),
    "bisect": (("program.py", "--save"), True),
    "bench": (("launch_latency", "--device", "cpu", "--save"), False),
}


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A folder with a file and a folder in it, where the process is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("as it was")
    (tmp_path / "program.py").write_text("")
    return tmp_path


def left(folder: pathlib.Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("verb", WRITES)
def test_a_place_that_cannot_hold_it(verb, places):
    words, is_folder = WRITES[verb]
    before = left(places)
    for place in ("file", "file/more") if is_folder else ("folder", "no/such", "file/more"):
        order = [words[0], *words[1:], place] if words[0] != "program.py" else [*words[1:], place, words[0]]
        answer = warm.invoke(verb, *order)
        said = answer.stdout + answer.stderr
        assert answer.exit_code == 2 and said.startswith("error: cannot ") and place in said, said
    assert left(places) == before and (places / "file").read_text() == "as it was"


def test_whole_or_not_at_all(places):
    (places / "link").symlink_to("file")
    write_file(places / "link", "new")
    assert (places / "file").read_text() == "new" and (places / "link").is_symlink()
    write_file(places / "bytes", b"\xff")
    assert (places / "bytes").read_bytes() == b"\xff"
    for place, why in (("folder", "Is a directory"), ("no/such", "No such file"), ("/dev/full", "No space")):
        with pytest.raises(DiagnosticError, match=f"cannot write {place}: {why}"):
            write_file(place, "x")
    assert left(places) == {"folder", "file", "link", "bytes", "program.py"}


def test_a_device_stays_one():
    words = ["opt", "--pass", "add_cse", "-t", "cuda:90", IR, "--output", "/dev/stdout"]
    done = warm.cli(*words)
    assert done.returncode == 0 and "tt.func public @add_kernel" in done.stdout, done.stderr
    write_file("/dev/null", "x")
    assert not os.path.isfile("/dev/null")


def test_what_cannot_be_written_to_is_said_before(places):
    check_output("new"), check_output("file"), check_output("folder", is_folder=True)
    check_output("a/b/c", is_folder=True)
    with pytest.raises(DiagnosticError, match="it is a folder, and should be a file"):
        check_output("folder")
    with pytest.raises(DiagnosticError, match=r"no such folder as .*/no"):
        check_output("no/such")
    with pytest.raises(DiagnosticError, match="cannot make folder file: it is a file"):
        make_folder("file")


def test_a_text_that_is_none(places):
    (places / "noise").write_bytes(b"abc\xff")
    with pytest.raises(DiagnosticError, match="noise is not a text file: byte 3 is not UTF-8"):
        read_text("noise")
    with pytest.raises(DiagnosticError, match="cannot read folder: Is a directory"):
        read_text("folder")


def test_a_disk_that_is_full():
    with open("/dev/full", "w") as full:
        done = warm.run(
            [sys.executable, "-m", "triton_runner", "ops"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2 and done.stderr == "error: No space left on device\n"


@pytest.mark.parametrize("verb", [("ops",), ("ops", "--json"), ("map", "--json", IR), ("env",)])
def test_a_reader_that_has_gone(verb):
    """As `| head -1`: no word about it."""
    command = [sys.executable, "-m", "triton_runner", *verb]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.stdout.close()
    assert (running.wait(), running.stderr.read()) in ((0, ""), (1, ""))
