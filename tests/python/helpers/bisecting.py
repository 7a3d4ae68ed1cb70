"""The tests of bisection share these: programs that are right or wrong, and the command that judges them."""

import json

import pytest
import warm

triton = pytest.importorskip("triton")
from triton_runner._pipeline import versions  # noqa: E402

INSTALLED = versions.installed()
OTHERS = [row["version"] for row in versions.listed() if row["version"] != INSTALLED]
needs_another = pytest.mark.skipif(not OTHERS, reason="no release beside the installed one is there")
HEAD = """
import numpy as np, sys, triton_runner, triton.language as tl

@triton_runner.jit
def kernel(out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, VALUE)

out = np.zeros(64, np.int32)
kernel[(1,)](out, 64, num_warps=1)
"""
# Triton takes the quotient for constant over runs of 16, which is not so where the dividend changes its sign.
QUOTIENT = (
    HEAD.replace("VALUE", "(index - 40) // 16")
    + "sys.exit(int((out != np.trunc((np.arange(64) - 40) / 16)).any()))"
)
TWICE = HEAD.replace("VALUE", "index * 2")
KERNEL = """
import triton, triton.language as tl

@triton.jit
def quotient(out, shift, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, (index - 40) // 16 + shift)
"""
GIVEN = {"constexprs": {"N": 64}, "options": {"num_warps": 1}, "versions": INSTALLED}


def judge(tmp_path, text, *options, arguments=()):
    """The exit status and the JSON of the command."""
    program = tmp_path / "program.py"
    program.write_text(text)
    command = ["bisect", "--versions", INSTALLED, *options, "--json", str(program), *arguments]
    answer = warm.invoke(*command)
    return answer.exit_code, json.loads(answer.stdout)
