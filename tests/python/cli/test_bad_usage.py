"""Tests every verb of the command line that takes a file, given what it cannot take: an error that says
what is wrong, a status that is not 0, and no Python traceback of ours."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
from triton_runner._cli import main
from triton_runner._pipeline import versions

FILES = {
    "empty.ttir": b"",
    "noise.ttgir": bytes(range(256)) * 4,
    "noise.cubin": b"\x7fELF" + bytes(200),
    "noise.trcase": b"PK\x03\x04" + bytes(range(256)),
    "noise.json": b"{",
}
GIVEN = ("missing.py", "missing.ttir", *FILES, "folder")
# The words that each verb is asked with; those that take no file are not in it.
ALONE = """
    assemble bits compare configs dump experiments lockstep map profile prove report resources run verify
"""
VERBS = dict.fromkeys(ALONE.split(), ()) | {
    "bisect": ("--versions", versions.installed()),
    "bundle": ("-o", "out.trcase"),
    "compile": ("-s", "*fp32"),
    "debug": ("-ex", "run"),
    "exec": ("--grid", "1"),
    "export": ("-o", "out", "--variants", "*fp32"),
    "ledger": ("-s", "*fp32"),
    "opt": ("--pass", "add_cse"),
    "passes": ("-s", "*fp32"),
    "reduce": ("--oracle", "trap"),
    "translate": ("--to", "3.9.0"),
    "tune": ("--chip", "h200"),
}
# A verb may take these all the same: a module with nothing in it, and a text of which the page says that it
# cannot be read.
TAKEN = {(verb, name) for verb in ("report", "map", "translate") for name in ("empty.ttir", "noise.ttgir")}
WITHOUT_FILES = {"dev", "bench", "cache", "completion", "demo", "doctor", "env", "layout", "ops", "versions"}
ELSEWHERE = {"judge", "cuda"}  # what they run is a process of its own: verbs/judge.txt, verbs/cuda.txt


def test_every_verb_is_here():
    assert set(main.list_commands(None)) == set(VERBS) | WITHOUT_FILES | ELSEWHERE


@pytest.mark.parametrize("verb", VERBS)
def test_what_no_verb_takes(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    for given in GIVEN:
        answer = warm.invoke(verb, *VERBS[verb], given)
        said = answer.stdout + answer.stderr
        assert isinstance(answer.exception, SystemExit | None), (given, answer.exception)
        if (verb, given) in TAKEN:
            continue
        assert answer.exit_code != 0, (given, said)
        assert "error" in said.lower() and "Traceback" not in said, (given, said)
    left = {path.name for path in tmp_path.iterdir()} - {*FILES, "folder"}
    assert not {name for name in left if name.startswith("out")}  # nothing is half written


# Says of each verb whether torch, which takes seconds on a busy machine, was imported for a missing file.
IMPORTED = """
import json, sys
from click.testing import CliRunner
from triton_runner._cli import main
for words in json.loads(sys.argv[1]):
    CliRunner().invoke(main, words)
    if sys.modules.pop("torch", None):
        print(words)
"""


def test_a_missing_file_is_named_before_torch_is_imported(tmp_path):
    asked = [[verb, *words, "missing.py"] for verb, words in VERBS.items()]
    asked += [["judge", "missing.py", "missing.py"], ["judge", "--manifest", "missing", "--out", "out"]]
    command = [sys.executable, "-c", IMPORTED, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("verb", ["run", "verify", "bisect", "experiments", "bundle"])
def test_a_level_is_no_program(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.ptx").write_text("")
    answer = warm.invoke(verb, *VERBS[verb], "kernel.ptx")
    said = answer.stdout + answer.stderr
    assert answer.exit_code not in (0, 125) and "kernel.ptx holds a level of a kernel" in said, said
    assert "triton-runner exec" in said


@pytest.mark.parametrize("verb", ["run", "verify", "bisect", "experiments", "bundle", "dump"])
def test_a_misspelt_option_is_no_program(verb):
    answer = warm.invoke(verb, *VERBS[verb], "--nosuch", "program.py")
    assert answer.exit_code == 2 and "No such option '--nosuch'" in answer.stderr, answer.stderr


@pytest.mark.parametrize(
    "words",
    (
        "exec --grid 1", "resources", "map", "translate --to 3.9.0", "passes", "ledger", "compare", "compile",
        "ops", "opt --pass add_cse", "report", "reduce --oracle trap", "dump --grid 1",
    ),
)  # fmt: skip
def test_a_name_that_is_not_utf_8(words, tmp_path, monkeypatch):
    """Neither the core nor Triton takes it."""
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"n\xff.ttgir")
    (tmp_path / name).write_text("module {}")
    answer = warm.invoke(*words.split(), name)
    assert answer.exit_code == 2 and "n\\udcff.ttgir: its name is not UTF-8" in answer.stderr, answer.output


@pytest.mark.parametrize(
    "words, said",
    [
        (("experiments", "-t", "foo", "program.py"), "unknown target 'foo'"),
        (("bisect", "-t", "foo", "program.py"), "unknown target 'foo'"),
        (("verify", "-t", "foo", "program.py"), "unknown target 'foo'"),
        (("bits", "--configs", "foo", "program.py"), "'foo' is not of the form NAME=VALUES"),
        (("bits", "--invariant", "M", "--fusion", "program.py"), "--invariant varies the batch alone"),
        (("bits", "program.py:kernel"), "needs a launch"),
        (("verify", "--check", "foo", "program.py"), "unknown check 'foo'"),
        (("verify", "--launches", "0", "program.py"), "0 is not in the range"),
        (("verify", "--shapes", "program.py"), "program.py: expected program.py:function"),
        (("verify", "--shapes", "none.py:f"), "no such file: none.py"),
        (("verify", "--shapes", "--vary", "colours", "program.py:f"), "--vary colours: of sizes, layouts"),
        (("verify", "--seed", "1", "program.py"), "--seed needs --shapes"),
        (("verify", "--shapes", "--assembled", "p.py:f"), "--assembled means nothing with --shapes"),
        (("bench", "matmul", "--size", "foo"), "--size foo: expected numbers"),
        (("bench", "matmul", "--rounds", "0"), "0 is not in the range"),
        (("bench", "matmul", "--plot", "x.foo"), "says no kind of picture"),
        (
            ("passes", "--time", "--llvm", "--until", "cse", "k.ttir"),
            "keeps no IR: leave out --until, --llvm",
        ),
        (("passes", "--time", "-"), "a dump has no times"),
        (("passes", "k.ttir", "--grid", "1"), "say which launch --time times"),
        (("passes", "--time", "k.ttir", "--arg", "f32[8]"), "say which launch --time times"),
        (("opt", "--pass", "coalesc", "k.ttir"), "the nearest: tritongpu-coalesce"),
        (("opt", "--pass", "add_cse", "k.ptx"), "k.ptx is PTX, and passes run on TTIR and TTGIR"),
        (("opt", "--pass", "add_buffer_ops", "-t", "cuda:90", "k.ttir"), "no pass of this compilation is"),
        (("versions", "remove", "3.99"), "there is no Triton release '3.99'"),
        (("layout", "#a", "--shape", "4", "--file", "noise.cubin"), "noise.cubin is not a text file"),
    ],
)
def test_words_that_mean_nothing(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = pathlib.Path(__file__).resolve().parents[3]
    for level in ("ttir", "ptx"):
        (tmp_path / f"k.{level}").write_text((root / f"examples/exec/add_kernel.{level}").read_text())
    (tmp_path / "program.py").write_text("")
    (tmp_path / "noise.cubin").write_bytes(b"\xff")
    answer = warm.invoke(*words)
    assert answer.exit_code == 2 and said in answer.stderr, answer.stderr


AT_IMPORT = """
import torch, triton, triton.language as tl
DEVICE = triton.runtime.driver.active.get_active_torch_device()
MOST = triton.runtime.driver.active.utils.get_device_properties(0)["max_shared_mem"]

@triton.jit
def kernel(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1.0)

{last}
"""


@pytest.mark.parametrize(
    "verb, last",
    [("compile", ""), ("passes", ""), ("ledger", ""), ("compare", ""), ("compile", "raise SystemExit(1)")],
)
def test_a_file_that_asks_for_its_device(verb, last, tmp_path):
    """As Triton's tutorials do, when it is imported: in a worker too, where there is no GPU. One that ends as
    scripts do has its kernels by then."""
    (tmp_path / "asking.py").write_text(AT_IMPORT.format(last=last))
    words = [verb, f"{tmp_path / 'asking.py'}:kernel", "-s", "*fp32:16, 64", "-t", "cuda:90"]
    answer = warm.invoke(*words)
    assert answer.exit_code == 0, answer.output


@pytest.mark.parametrize("verb", ["compile", "passes", "ledger", "compare"])
@pytest.mark.parametrize(
    "last, why",
    [
        ("raise ValueError('not\\nnow')", ":10: its file cannot be imported: ValueError: not"),
        ("torch.cuda.get_device_capability()", ":10: its file cannot be imported: AssertionError"),
        ("kernel[(1,)](torch.zeros(64), N=missing)", ":10: its file cannot be imported: NameError"),
    ],
)
def test_a_file_that_raises(verb, last, why, tmp_path):
    (tmp_path / "asking.py").write_text(AT_IMPORT.format(last=last))
    words = [verb, f"{tmp_path / 'asking.py'}:kernel", "-s", "*fp32:16, 64", "-t", "cuda:90"]
    answer = warm.invoke(*words)
    assert answer.exit_code == 2 and f"asking.py{why}" in answer.stderr, answer.output
    assert "__main__" in answer.stderr and answer.stderr.count("\n") == 2
