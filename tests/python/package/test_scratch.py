"""Temporary folders: they go with their owner, however it ends, and nobody else takes them away."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
import triton_runner
from triton_runner._base import scratch

MAKES = "from triton_runner._base import scratch\nimport os, signal\nfolder = scratch.folder('test')\n"
# These make folders of another kind: one becomes a cache's, one lies below a scratch folder.
OTHERS = {"_base/scratch.py", "_pipeline/versions.py", "verbs/bisect/runs.py"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def ended(text: str) -> int:
    return subprocess.run([sys.executable, "-c", MAKES + text]).returncode


def test_a_folder_goes_with_its_block_and_its_process(place):
    with scratch.folder("test") as path:
        pathlib.Path(path, "file").write_text("text")
        assert os.path.dirname(path) == str(place)
    assert not [*place.iterdir()]
    assert ended("") == 0 and not [*place.iterdir()]
    assert ended("raise ValueError") == 1 and not [*place.iterdir()]


def test_a_killed_process_leaves_a_folder_that_the_next_one_removes(place):
    assert ended("open(folder.path + '/file', 'w').close(); os.kill(os.getpid(), signal.SIGKILL)") == -9
    assert len([*place.iterdir()]) == 1
    assert ended("assert len(os.listdir(os.path.dirname(folder.path))) == 1") == 0
    assert not [*place.iterdir()]


def test_a_folder_in_use_stays(place):
    """Also one whose owner has a child that ends, and one of other software."""
    (place / "triton-runner-of-somebody").mkdir()
    child = "child = os.fork()\nif child:\n    os.waitpid(child, 0)\n    assert os.path.isdir(folder.path)"
    with scratch.folder("test") as path:
        assert ended(child) == 0 and os.path.isdir(path)
    assert [one.name for one in place.iterdir()] == ["triton-runner-of-somebody"]


def test_a_folder_goes_though_a_process_still_writes_to_it(place, monkeypatch):
    folder, own, tries = scratch.folder("test"), shutil.rmtree, []

    def removes(path, ignore_errors):
        tries.append(path)
        if len(tries) == 1:
            pathlib.Path(path, "late").write_text("")  # what is written while the first removal is at work
        else:
            own(path, ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", removes)
    folder.close()
    assert len(tries) == 2 and not [*place.iterdir()]


def test_all_temporary_folders_are_such():
    package = pathlib.Path(triton_runner.__file__).parent
    makers = ("mkdtemp(", "mkstemp(suffix", "TemporaryDirectory(", "NamedTemporaryFile(")
    texts = {str(file.relative_to(package)): file.read_text() for file in package.rglob("*.py")}
    assert {name for name, text in texts.items() if any(one in text for one in makers)} == OTHERS
