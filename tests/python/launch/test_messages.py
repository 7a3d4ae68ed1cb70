"""Tests the lines on stdout, word for word: once a compiled kernel, never a launch, none of them in
production."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest
import warm
from triton_runner._settings import messages

pytest.importorskip("triton")

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from kernels_for_tests import add
x = np.ones(64, np.float32)
for _ in range(3):
    add[(1,)](x, x, x, 64, BLOCK=64)
add[(1,)](x, x, x, 64, BLOCK=32)
"""


def run(cache, program=PROGRAM, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON_ALWAYS", "TRITON_RUNNER"))}
    done = warm.run(
        [sys.executable, "-W", "ignore", "-c", program, str(pathlib.Path(__file__).parents[1] / "helpers")],
        env=clean | {"TRITON_CACHE_DIR": str(cache), "TRITON_RUNNER_DEVICE": "cpu"} | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def folders(cache):
    return {str(path) for path in cache.iterdir() if list(path.glob("*.json"))}


def test_always_compile_is_the_default(tmp_path):
    for _ in range(2):  # a second process finds the cache and compiles all the same
        lines = run(tmp_path)
        assert lines[:2] == [
            "[triton-runner] TRITON_ALWAYS_COMPILE defaults to ON.",
            "For production, It is recommended to disable it by running: export TRITON_ALWAYS_COMPILE=0",
        ]
        assert set(lines[2:]) == {
            f"[Triton Runner] Triton kernel saved at {folder}" for folder in folders(tmp_path)
        }
        assert len(lines) == 4


def test_cache_hits_are_told(tmp_path):
    lines = run(tmp_path, TRITON_ALWAYS_COMPILE="0")
    places = folders(tmp_path)
    assert sorted(lines) == sorted(f"[Triton Runner] Triton kernel saved at {folder}" for folder in places)
    lines = run(tmp_path, TRITON_ALWAYS_COMPILE="0")
    assert sorted(lines) == sorted(
        f"[Triton Runner] Triton kernel cache hit and saved at {folder}" for folder in places
    )


def test_always_compile_set_by_the_user(tmp_path):
    lines = run(tmp_path, TRITON_ALWAYS_COMPILE="1")
    assert len(lines) == 2 and all(
        line.startswith("[Triton Runner] Triton kernel saved at ") for line in lines
    )


def test_production_is_silent(tmp_path):
    assert run(tmp_path, TRITON_RUNNER_PROD="1") == []
    lines = run(tmp_path, TRITON_RUNNER_PROD_TEST="1")  # it says what is compiled
    assert sorted(lines) == sorted(
        f"[Triton Runner] Triton kernel saved at {folder}" for folder in folders(tmp_path)
    )


def test_a_dump_is_said_before_its_kernel(tmp_path):
    program = PROGRAM.replace("BLOCK=32)", "BLOCK=32, dump_value='tt.load')")
    for name, level in (("tile", "ttir"), ("simt", "ptx")):
        lines = run(tmp_path / name, program, TRITON_RUNNER_LEVEL=level)
        dumped = [i for i, line in enumerate(lines) if line.startswith("[Triton Runner] In dump mode")]
        assert dumped and "Triton kernel saved at" in lines[dumped[-1] + 1], lines


def test_colours(capsys):
    import triton_runner

    for name, code in (("blue", 94), ("yellow", 93), ("red", 91)):
        getattr(triton_runner.color_print, f"{name}_print")("a", 1, sep="-", end="!")
        assert capsys.readouterr().out == f"\033[{code}ma-1\033[0m!"


def test_each_line_has_a_row_in_its_page():
    tree = ast.parse(pathlib.Path(messages.__file__).read_text())
    inside = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.Constant)]
    lines = [ast.unparse(node).lstrip("f")[1:-1] for node in texts if node not in inside]
    said = {line for line in lines if re.match(r"\[triton.runner\] ", line, re.I)}
    patterns = {line: ".*".join(map(re.escape, re.split(r"\{[^}]*\}", line))) for line in said}
    page = pathlib.Path(__file__).resolve().parents[3] / "doc/reference/errors.md"
    rows = re.findall(r"^\| `(\[triton.runner\] [^`]*)`", page.read_text(), re.M | re.I)
    of = {row: max((one for one in said if re.fullmatch(patterns[one], row)), key=len) for row in rows}
    assert len(rows) > 5 and {*of.values()} == said  # no row without a line, no line without a row
