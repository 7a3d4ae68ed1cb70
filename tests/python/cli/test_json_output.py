"""--json of every verb: one JSON document on stdout and nothing else there, whatever the program prints; what
is said besides goes to stderr, and neither has colours in a pipe."""

import importlib.metadata
import json
import os
import pathlib
import subprocess

import corpus
import pytest
import warm
from triton_runner._cli import main

pytest.importorskip("torch")
pytest.importorskip("triton")

ROOT = pathlib.Path(__file__).resolve().parents[3]
WITHOUT = {
    "run": "prints what its program prints",
    "cuda": "prints what its program prints",
    "opt": "prints the IR",
    "completion": "prints a file for a shell",
}
KERNEL = ("program.py:double", "-s", "*i32:16, *i32:16, 64", "-t", "cuda:90")
INSTALLED = importlib.metadata.version("triton")
IR = str(ROOT / "examples/exec/add_kernel.ttir")
CALL = ("--grid", "1", "--arg", "f32[64]=iota", "--arg", "f32[64]=1", "--arg", "f32[64]", "--arg", "64")
# For each verb the arguments of a small use.
USES = {
    "exec": (IR, *CALL),
    "dump": ("-v", "x", "program.py"),
    "ops": ("tt.dot",),
    "resources": (IR, "--metadata", str(corpus.folder("3.9.0") / "sm80/add_kernel.json")),
    "compile": (*KERNEL, "--to", "ttir"),
    "translate": (IR, "--to", "3.9.0"),
    "versions": ("ls",),
    "passes": KERNEL,
    "bisect": ("--versions", INSTALLED, "program.py"),
    "bits": ("--configs", "num_warps=1,4", "program.py"),
    "prove": ("program.py",),
    "dev": ("--checkout", "checkout"),
    "compare": KERNEL,
    "assemble": (str(ROOT / "examples" / "guide" / "sum.ptx"),),
    "ledger": KERNEL,
    "demo": ("--fault",),
    "doctor": ("--no-selftest",),
    "env": (),
    "cache": ("ls",),
    "experiments": ("program.py",),
    "export": ("program.py:double", "--out", "out", "--targets", "cuda:90", "--levels", "ptx",
               "--variants", "*i32:16, *i32:16; N=64"),
    "layout": ("#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>",
               "--shape", "128"),
    "bundle": ("--kernel", "double", "--no-passes", "-o", "x.trcase", "program.py"),
    "verify": ("program.py",),
    "configs": ("program.py",),
    "judge": (str(ROOT / "examples/guide/judge_task.py"), str(ROOT / "examples/guide/judge_answer.py")),
    "lockstep": ("--levels", "ttgir,ptx", "x.trcase"),
    "map": (IR,),
    "report": ("-o", "out.html", "program.py"),
    "profile": ("program.py",),
    "tune": ("--chip", "h200", "--num-warps", "1,4", "program.py"),
    "debug": ("-ex", "start", "program.py"),  # a line of JSON for each command
    "bench": ("--ab", IR, IR, *CALL, "--rounds", "1"),
    "reduce": ("--oracle", "registers>1", "-o", "reduced.ttir", IR, "-t", "cuda:90"),
}  # fmt: skip
PROGRAM = """
import sys
import torch, triton, triton.language as tl

@triton.jit
def double(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, N), x + x)

if __name__ == "__main__":
    x, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    double[(1,)](x, out, N=64)
    print("this is no JSON", flush=True)
    print("\\033[31mnor this\\033[0m" if sys.stdout.isatty() else "nor this")
    assert torch.equal(out, x + x)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("json")
    (made / "program.py").write_text(PROGRAM)
    (made / "checkout/python/triton").mkdir(parents=True)
    (made / "checkout/python/triton/__init__.py").write_text("__version__ = '3.9.0'\n")
    (made / "checkout/cmake").mkdir()
    (made / "checkout/cmake/llvm-hash.txt").write_text("f6ded0be\n")
    return made


@pytest.fixture(scope="module")
def case(folder):
    """A case of the program's launch, for lockstep."""
    command = ["bundle", "--kernel", "double", "--no-passes", "--no-verify", "--no-report", "-o"]
    ran([*command, folder / "x.trcase", folder / "program.py"], folder)


def ran(arguments, folder):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_RUNNER")}
    return warm.cli(*arguments, cwd=folder, env=clean, stdin=subprocess.DEVNULL)


def test_every_verb_has_it_or_a_reason():
    def options(command):
        inner = [options(one) for one in getattr(command, "commands", {}).values()]
        return {name for one in command.params for name in one.opts}.union(*inner)

    having = {name for name, command in main.commands.items() if "--json" in options(command)}
    assert having == {*main.commands} - {*WITHOUT} == {*USES}


@pytest.mark.parametrize("verb", USES)
def test_one_document_on_stdout(verb, folder, request):
    if verb == "lockstep":
        request.getfixturevalue("case")
    first, rest = (USES[verb][:1], USES[verb][1:]) if verb in ("versions", "cache") else ((), USES[verb])
    done = ran([verb, *first, "--json", *rest], folder)
    assert done.returncode in (0, 1), done.stderr
    json.loads(done.stdout)
    assert "\033" not in done.stdout + done.stderr
