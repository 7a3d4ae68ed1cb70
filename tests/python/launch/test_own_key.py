"""Tests the kept key of Triton's files."""

import pytest

pytest.importorskip("triton")
import triton.runtime.cache
import triton_runner  # noqa: F401
from triton_runner._jit import own_key


def test_the_key_is_triton_s_own():
    ours = triton.runtime.cache.triton_key
    assert ours() == ours.runner_own() and ours().startswith(triton.__version__)


@pytest.mark.parametrize("change", ["text", "name", "gone"])
def test_the_key_is_hashed_again_when_a_file_changes(tmp_path, monkeypatch, change):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, hashed = tmp_path / "triton", []
    (folder / "backends").mkdir(parents=True)
    file = folder / "backends" / "compiler.py"
    file.write_text("x = 1\n")

    def own():
        hashed.append(sorted((str(path), path.read_text()) for path in folder.rglob("*.py")))
        return str(hashed[-1])

    first = own_key.key(str(folder), own)
    assert own_key.key(str(folder), own) == first and len(hashed) == 1
    if change == "text":
        file.write_text("x = 2\n")
    elif change == "name":
        file.rename(file.with_name("driver.py"))
    else:
        file.unlink()
    second = own_key.key(str(folder), own)
    assert second != first and len(hashed) == 2
    assert own_key.key(str(folder), own) == second and len(hashed) == 2


def test_a_place_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    hashed = []
    for _ in range(2):
        assert own_key.key(str(tmp_path), lambda: hashed.append(1) or "key") == "key"
    assert len(hashed) == 2
