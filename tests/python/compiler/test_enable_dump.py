"""MLIR_ENABLE_DUMP, NVPTX_ENABLE_DUMP and AMDGCN_ENABLE_DUMP print on the CPU what they print on a GPU."""

import os
import pathlib
import sys

import pytest
import warm

pytest.importorskip("triton")

HELPERS = str(pathlib.Path(__file__).parents[1] / "helpers")

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from kernels_for_tests import add
x = np.ones(64, np.float32)
keywords = {"ttir_src": sys.argv[2]} if len(sys.argv) > 2 else {}
for _ in range(2):
    kernel = add[(1,)](x, x, x, 64, BLOCK=64, **keywords)
if not keywords:
    open("add.ttir", "w").write(kernel.asm["ttir"])
"""


def printed(folder, *arguments, **environment) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_RUNNER")}
    clean |= {"TRITON_CACHE_DIR": str(folder / "cache"), "TRITON_RUNNER_DEVICE": "cpu"}
    done = warm.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, HELPERS, *arguments],
        cwd=folder,
        env=clean | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


TTIR, TTGIR, LLIR = "inline", "tritongpu-coalesce", "convert-triton-gpu-to-llvm"


def passes(text: str) -> set:
    """Which of a pass of each stage the dump shows."""
    lines = [line.lower() for line in text.splitlines() if "IR Dump Before" in line]
    return {name for name in (TTIR, TTGIR, LLIR) if any(name in line for line in lines)}


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_passes_of_all_stages(tmp_path, level):
    text = printed(tmp_path, TRITON_RUNNER_LEVEL=level, MLIR_ENABLE_DUMP="1")
    assert passes(text) == {TTIR, TTGIR, LLIR}


def test_nothing_where_nobody_asks(tmp_path):
    text = printed(tmp_path, MLIR_ENABLE_DUMP="0", NVPTX_ENABLE_DUMP="0")
    assert passes(text) == set() and ".visible .entry" not in text


def test_of_one_kernel(tmp_path):
    assert passes(printed(tmp_path, MLIR_ENABLE_DUMP="_add")) == {TTIR, TTGIR, LLIR}
    assert passes(printed(tmp_path, MLIR_ENABLE_DUMP="another")) == set()


def test_of_an_artifact(tmp_path):
    printed(tmp_path)
    assert passes(printed(tmp_path, "add.ttir", MLIR_ENABLE_DUMP="1")) >= {TTGIR, LLIR}


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_ptx(tmp_path, level):
    text = printed(tmp_path, TRITON_RUNNER_LEVEL=level, NVPTX_ENABLE_DUMP="1")
    assert text.count(".visible .entry _add(") == 1 and passes(text) == set()


def test_amdgcn(tmp_path):
    target = {"TRITON_RUNNER_TARGET": "hip:gfx942", "AMDGCN_ENABLE_DUMP": "1"}
    assert ".amdgcn_target" in printed(tmp_path, **target)
    assert ".visible .entry" not in printed(tmp_path, **target, NVPTX_ENABLE_DUMP="1")
