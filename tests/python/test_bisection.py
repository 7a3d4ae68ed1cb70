"""triton-runner bisect: the release, the level and the pass, judged by a program's own exit status."""

import json
import pathlib
import sys

import pytest

triton = pytest.importorskip("triton")
from click.testing import CliRunner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._bisect import search  # noqa: E402
from triton_runner._cli import main  # noqa: E402
from triton_runner._compiler import versions  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "planted"))
import check  # noqa: E402

INSTALLED = versions.installed()
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


def judge(tmp_path, text, *options, arguments=()):
    """The exit status and the JSON of the command."""
    (tmp_path / "program.py").write_text(text)
    command = [
        "bisect",
        "--versions",
        INSTALLED,
        "--json",
        "-",
        *options,
        str(tmp_path / "program.py"),
        *arguments,
    ]
    answer = CliRunner().invoke(main, command)
    return answer.exit_code, json.loads(answer.stdout)


def test_an_open_fault_of_the_conversion_to_llvm(tmp_path):
    status, said = judge(tmp_path, QUOTIENT)
    assert status == 1 and said["verdict"] == "compiler"
    assert (said["level"], said["stage"]) == ("llir", "make_llir")
    assert said["pass"]["name"] == "ConvertTritonGPUToLLVM" and said["confirmed_by"] == ["execution"]
    assert said["release"] == {"wrong": [INSTALLED], "right": [], "unknown": []}
    assert said["faults"][0]["releases"] == [INSTALLED]
    assert any("optimisation off too" in note for note in said["notes"])


ENDS = [
    ("sys.exit(0)", 0, "right", ""),
    ("assert (out == np.arange(64) * 2).all()", 0, "right", ""),
    ("sys.exit(125)", 125, "unknown", "it exited with 125"),
    ("raise ValueError('no oracle')", 125, "unknown", "ValueError: no oracle"),
    ("import os; os.kill(os.getpid(), 11)", 125, "unknown", "it died of signal 11"),
    ("import time; time.sleep(60)", 125, "unknown", "it ran longer than 5 s"),
    ("sys.exit(int(sys.argv[1]))", 125, "unknown", "it exited with 125"),
]


@pytest.mark.parametrize(("end", "status", "verdict", "why"), ENDS, ids=[end[:20] for end, *_ in ENDS])
def test_how_a_program_ends(tmp_path, end, status, verdict, why):
    got, said = judge(tmp_path, TWICE + end, "--timeout", "5", arguments=["125"])
    assert (got, said["verdict"], said["pass"]) == (status, verdict, None)
    assert [one["why"] for one in said["release"]["unknown"]] == ([why] if why else [])


def test_wrong_as_it_is_born(tmp_path):
    status, said = judge(tmp_path, TWICE + "assert (out == 5).all(), 'it is not five'")
    assert status == 1 and said["verdict"] == "kernel" and said["pass"] is None
    trapped = TWICE.replace("out + index", "out + index * 1000")
    status, said = judge(tmp_path, trapped)
    assert status == 1 and said["verdict"] == "kernel"


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_a_planted_fault_is_found(seed):
    fault, said = check.found(seed)
    assert check.names(fault, said), (fault, said)


def test_releases_that_are_consecutively_wrong():
    outcomes = dict(zip("abcdef", ["wrong", "unknown", "wrong", "right", "unknown", "wrong"], strict=True))
    judged = {version: search.Outcome(verdict) for version, verdict in outcomes.items()}
    assert search._runs_of_wrong(list("abcdef"), judged) == [["a", "c"], ["f"]]


def test_the_page_and_bad_usage(tmp_path):
    (tmp_path / "program.py").write_text(TWICE + "sys.exit(3)")
    answer = CliRunner().invoke(main, ["bisect", "--versions", INSTALLED, str(tmp_path / "program.py")])
    assert answer.exit_code == 1 and "wrong as it is born: kernel" in answer.output
    assert CliRunner().invoke(main, ["bisect", "--versions", "1.0.0", "program.py"]).exit_code == 2
    with pytest.raises(DiagnosticError, match=r"no such file: missing\.py"):
        search.bisect_program(search.Program("missing.py"), [INSTALLED])
