"""tests/room.py tells where a file stands: one file of each kind of room, and what it answers otherwise."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOLD = {
    "src/num/dot.cpp": ["src/num: element types", "src/num/dot_test.cpp", "base"],
    "src/simt/ops/warp.cpp": [
        "src/simt/ops: handlers of what threads do", "code, state, check", "doc/internals/simt.md"],
    "src/simt/front/amdgcn/lower.cpp": ["doc/internals/simt-amdgcn.md", "tests/cases/amdgcn"],
    "src/tile/machine/amd.cpp": ["src/tile/machine: handlers of hardware", "the row of amd_buffer_load"],
    "src/tile/internal/encoding.h": ["the core"],
    "python/triton_runner/_base/levels.py": ["layer       base", "test_levels.py"],
    "python/triton_runner/verbs/judge/answer.py": ["doc/guide/judge.md", "verbs.judge.trial"],
    "python/triton_runner/testing.py": ["layer       launches"],
}  # fmt: skip


def ask(*names: str):
    return subprocess.run(
        [sys.executable, "tests/room.py", *names], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_each_kind_of_room():
    files = [name for name in TOLD if (ROOT / name).is_file()]
    assert files == list(TOLD)
    done = ask(*files)
    assert done.returncode == 0, done.stderr
    told = dict(zip(files, done.stdout.split("\n\n"), strict=False))
    for name in files:
        assert told[name].startswith(f"{name}: "), told[name]
        for words in TOLD[name]:
            assert words in told[name], (name, words, told[name])


@pytest.mark.parametrize(
    "names, says", [(["nofile.cpp"], "nofile.cpp: no such file"), (["Makefile"], "Makefile: not in src")]
)
def test_what_has_no_room(names, says):
    done = ask(*names)
    assert done.returncode == 2 and says in done.stderr
