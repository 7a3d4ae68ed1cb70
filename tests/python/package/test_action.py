"""The GitHub Action of this repository: the steps of action.yml, run as GitHub runs them, with bash in an
empty folder. Only `python -m pip` is replaced, by a script that notes what it was asked: the package is the
one that is installed here."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
yaml = pytest.importorskip("yaml")

ROOT = pathlib.Path(__file__).resolve().parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
# GitHub calls this for "shell: bash".
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
PYTHON = """#!/bin/bash
if [ "$1 $2" = "-m pip" ]; then printf '%s\\n' "${{@:3}}" -- >> "$PIP_LOG"; exit 0; fi
if [ "$1 $2" = "-m pytest" ]; then shift 2; exec {python} -m pytest -p triton_runner_pytest "$@"; fi
exec {python} "$@"
"""
TESTS = """
import torch, triton, triton.language as tl

@triton.jit
def racy(out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.program_id(0))

def test_racy():
    racy[(2,)](torch.zeros(64, dtype=torch.int32, device="cuda"), N=64)
"""


def substituted(text: str, inputs: dict) -> str:
    """A text with the expressions that GitHub fills in."""
    values = {f"inputs.{name}": value for name, value in inputs.items()}
    values["github.action_path"] = str(ROOT)
    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: values[found[1]], text)


class Ran:
    """All steps with some inputs, until one fails."""

    def __init__(self, folder: pathlib.Path, **inputs):
        names = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert set(names) <= set(ACTION["inputs"])
        required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
        assert required <= set(names)
        given = {name: one.get("default") for name, one in ACTION["inputs"].items()} | names
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "python").write_text(PYTHON.format(python=sys.executable))
        (bin_folder / "python").chmod(0o755)
        self.files = {n: folder / n for n in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "PIP_LOG")}
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON_RUNNER", "PYTEST"))}
        clean |= {name: str(path) for name, path in self.files.items()}
        clean["PATH"] = os.pathsep.join(
            [str(bin_folder), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]
        )
        self.text, self.status = "", 0
        for step in ACTION["runs"]["steps"]:
            own = {name: substituted(value, given) for name, value in step.get("env", {}).items()}
            script = folder / "step.sh"
            script.write_text(substituted(step["run"], given))
            done = subprocess.run(
                [*BASH, script], cwd=folder, env={**clean, **own}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            self.text, self.status = self.text + done.stdout, done.returncode
            if done.returncode:
                break

    def __getattr__(self, name: str) -> str:
        return self.files[name].read_text()


def test_its_form():
    assert ACTION["runs"]["using"] == "composite" and len(ACTION["description"]) < 125
    assert all(step["shell"] == "bash" and "${{" not in step["run"] for step in ACTION["runs"]["steps"])
    assert ACTION["outputs"]["status"]["value"] == "${{ steps.run.outputs.status }}"
    assert [step.get("id") for step in ACTION["runs"]["steps"]] == [None, "run"]


def test_pytest(tmp_path):
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "test_it.py").write_text(TESTS)
    ran = Ran(tmp_path, arguments="'a folder' -q", level="ptx", checks="race", pretend_cuda="true")
    assert ran.status == 1, ran.text
    assert ran.PIP_LOG.split("--\n")[:2] == [
        "install\ntorch\ntriton<3.10\npytest\n--extra-index-url\nhttps://download.pytorch.org/whl/cpu\n",
        f"install\n{ROOT}\n",
    ]
    assert ran.GITHUB_OUTPUT == "status=1\n"
    assert "::error file=a folder/test_it.py,line=6,col=5,title=triton-runner%3A race in racy::at" in ran.text
    assert "1 fault, 0 warnings" in ran.GITHUB_STEP_SUMMARY and "::error" not in ran.GITHUB_STEP_SUMMARY
    assert (tmp_path / "triton-runner.xml").is_file() and (tmp_path / "triton-runner.sarif").is_file()


def test_verify_that_is_not_to_fail_the_job(tmp_path):
    (tmp_path / "program.py").write_text(TESTS + '\nif __name__ == "__main__":\n    test_racy()\n')
    ran = Ran(
        tmp_path, command="verify", arguments="program.py", checks="race", pretend_cuda="true", fail="false",
        install="triton_runner.whl", requirements="", sarif="found.sarif",
    )  # fmt: skip
    assert ran.status == 0, ran.text
    assert ran.PIP_LOG == "install\ntriton_runner.whl\n--\n"
    assert ran.GITHUB_OUTPUT == "status=1\n" and "verdict: wrong" in ran.GITHUB_STEP_SUMMARY
    assert "::error file=program.py,line=6," in ran.text and (tmp_path / "found.sarif").is_file()


def test_bad_usage_fails_the_job_and_says_why(tmp_path):
    ran = Ran(tmp_path, command="verify", arguments="nosuch.py")
    assert ran.status == 2 and "nosuch.py" in ran.GITHUB_STEP_SUMMARY and ran.GITHUB_OUTPUT == "status=2\n"
