"""--json of every verb: one JSON document on stdout and nothing else there, whatever the program prints; what
is said besides goes to stderr, and neither has colours in a pipe. The first line of verbs/VERB.txt is a small
use of the verb with it, or says why it has none."""

import importlib.metadata
import json
import os
import pathlib
import re
import shlex
import subprocess

import corpus
import pytest
import warm
from test_mistakes import VERBS, open_line
from triton_runner._cli import main

pytest.importorskip("torch")
pytest.importorskip("triton")

ROOT = pathlib.Path(__file__).resolve().parents[3]
# These words stand for folders and a release in the files, which name no machine's.
STANDS_FOR = {
    "ROOT": str(ROOT),
    "CORPUS": str(corpus.folder("3.9.0")),
    "RELEASE": importlib.metadata.version("triton"),
}
USE = re.compile(r"JSON: triton-runner (.+)")
REASON = re.compile(r"no JSON: it (.+)")  # of a verb that has no --json
# "JSON: triton-runner VERB --json ..." or "no JSON: it ..." by verb.
LINES = {verb: open_line(verb) for verb in VERBS}
USES = {verb: found[1] for verb, line in LINES.items() if (found := USE.fullmatch(line))}
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
    reasons = {verb for verb, line in LINES.items() if REASON.fullmatch(line)}
    assert having == {*USES} and reasons == {*main.commands} - having


@pytest.mark.parametrize("verb", USES)
def test_one_document_on_stdout(verb, folder, request):
    if verb == "lockstep":
        request.getfixturevalue("case")
    use = re.sub("|".join(STANDS_FOR), lambda word: STANDS_FOR[word[0]], USES[verb])
    words = shlex.split(use)
    assert words[0] == verb and "--json" in words[1:3]
    done = ran(words, folder)
    assert done.returncode in (0, 1), done.stderr
    json.loads(done.stdout)
    assert "\033" not in done.stdout + done.stderr
