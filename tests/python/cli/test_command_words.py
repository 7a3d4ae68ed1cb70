"""Tests the words of the command line: what is refused before any work, what stands before and after a
program, one name for one thing, element types by any of their names."""

import os
import pathlib
import re
import sys
from unittest import mock

import click
import pytest
import warm

pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from triton_runner import _settings  # noqa: E402
from triton_runner._cli import main  # noqa: E402
from triton_runner._worker import elements, job, spelling  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
IR = str(ROOT / "examples/exec/add_kernel.ttir")
KERNEL = f"{ROOT}/examples/kernels/vector_add.py:add_kernel"
FAILS = 'raise SystemExit("it ran")'
PRINTS = "import sys; print(sys.argv[1:])"


def invoke(*words):
    """Runs a verb in this process, which reads the variables that it sets as a new one does."""
    with mock.patch.dict(os.environ), mock.patch.object(_settings, "_environment", None):
        return warm.invoke(*words)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fails.py").write_text(FAILS)
    (tmp_path / "prints.py").write_text(PRINTS)
    return tmp_path


ADD = ("--grid", "1", "--arg", "f32[8]", "--arg", "f32[8]", "--arg", "f32[8]", "--arg", "8")
NEAR_42 = ("does not compile for cuda:42", "the nearest that it compiles for: cuda:")
REFUSED = [
    (
        ("run", "--device", "cpu", "--level", "hsaco", "fails.py"),
        ("cuda:90 has no level hsaco",),
    ),
    (("run", "--device", "hip", "fails.py"), ("device 'hip' was asked for",)),
    (("run", "--level", "ttgr", "fails.py"), ("unknown level 'ttgr'",)),
    (
        ("run", "--device", "cpu", "--target", "hip:gfx942", "--level", "ptx", "fails.py"),
        ("hip:gfx942 has no",),
    ),
    (("run", "--device", "cpu", "--target", "cuda:42", "fails.py"), NEAR_42),
    (
        ("run", "--device", "cpu", "--target", "hip:gfx9999", "fails.py"),
        ("compile for hip:gfx9999", "hip:gfx9"),
    ),
    (("exec", "--device", "cpu", "--target", "cuda:42", IR, *ADD), NEAR_42),
    (("dump", "--device", "cpu", "--target", "cuda:42", "fails.py"), NEAR_42),
    (("verify", "-t", "cuda:42", "fails.py"), NEAR_42),
    *(((verb, "-t", "cuda:42", "fails.py"), NEAR_42) for verb in ("report", "bits", "profile", "configs")),
    (("compile", "-t", "cuda:42", KERNEL, "-s", "*f32, *f32, *f32, i32, 64"), NEAR_42),
    (("translate", IR, "--to", "9.9.9"), ("there is no Triton release '9.9.9'", "releases: 3.0.0, ")),
    (
        ("translate", IR, "--to", "3.9", "--from", "2.9"),
        ("there is no Triton release '2.9'", "releases: 3.0.0, "),
    ),
    (("report", "--agianst", "x", IR), ("No such option '--agianst'", "--against")),
    (("report", IR, "--agianst", "x"), ("No such option '--agianst'", "--against")),
    (("run", "--levle", "ptx", "fails.py"), ("--level",)),
]


@pytest.mark.parametrize("words, said", REFUSED, ids=[" ".join(map(str, w)) for w, _ in REFUSED])
def test_refused_before_the_work(words, said, here):
    answer = invoke(*words)
    assert answer.exit_code == 2, answer.output
    assert all(text in answer.stderr for text in said), answer.stderr
    assert "it ran" not in answer.output and "Traceback" not in answer.output


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:120", "hip:gfx942", "hip:gfx1100"])
def test_what_triton_compiles_for_is_taken(target):
    job.check_target(target)


@pytest.mark.parametrize(
    "verb", ["run", "verify", "bisect", "experiments", "dump", "report"],
)  # fmt: skip
def test_options_after_a_program_are_told(verb, here):
    words = {"bisect": ("--versions", triton.__version__)}.get(verb, ())
    option = "--target" if verb != "run" else "--level"
    said = invoke(verb, *words, "fails.py", option, "cuda:80").stderr
    assert f"{option} stands after fails.py and goes to the program" in said, said
    said = invoke(verb, *words, "fails.py", "--other", "3").stderr
    assert "stands after" not in said
    if verb != "bisect":  # its own arguments begin there
        assert "stands after" not in invoke(verb, *words, "--", "fails.py", option, "cuda:80").stderr


def test_a_program_gets_what_stands_after_it(here):
    answer = invoke("run", "prints.py", "--level", "ptx", "-x", "--device=cuda")
    assert answer.stdout == "['--level', 'ptx', '-x', '--device=cuda']\n"
    assert "--level and --device stand after prints.py and go to the program" in answer.stderr


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize(
    "verb, options",
    [
        ("exec", ADD), ("dump", (*ADD, "-v", "tt.load")), ("report", ("-o", "page.html")),
        ("translate", ("--to", "3.9.0", "-o", "new.ttir")), ("map", ("--line", "20")),
        ("opt", ("--pass", "add_cse", "-o", "new.ttir")), ("ops", ("--json",)),
    ],
)  # fmt: skip
def test_options_before_and_after_a_file(verb, options, order, here):
    answer = invoke(verb, *((*options, IR) if order == "before" else (IR, *options)))
    assert answer.exit_code == 0, answer.output
    if "-o" in options:
        assert (here / options[options.index("-o") + 1]).exists()


def commands(group=main, path=()):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        yield " ".join((*path, name)), command


ONE_MEANING = {
    "-o": {"--output", "--out"}, "-O": {"--option"}, "-v": {"--value"}, "-t": {"--target", "--targets"},
    "-s": {"--signature"}, "-c": {"--constexpr"}, "-m": {"-m"}, "-j": {"--jobs"}, "-y": {"--yes"},
}  # fmt: skip


def test_a_letter_means_one_thing():
    for name, command in commands():
        for option in command.params:
            for letter in [o for o in option.opts if re.fullmatch("-[^-]", o)]:
                longer = {o for o in option.opts if o.startswith("--")} or {letter}
                assert longer <= ONE_MEANING[letter], (name, option.opts)


@pytest.mark.parametrize("row", elements.ROWS, ids=lambda row: row.name)
def test_every_name_of_an_element_type(row):
    names = {row.name, row.numpy, f"torch.{row.numpy}", row.name.upper(), row.triton or row.name}
    assert {elements.find(name) for name in names} == {row}
    assert elements.find("f33") is None


@pytest.mark.parametrize("name", ["f32", "fp32", "float32"])
def test_element_types_are_read_everywhere(name, here):
    arrays = [word.replace("f32", name) for word in ADD]
    assert invoke("exec", IR, *arrays).exit_code == 0
    signature = f"*{name}:16, *{name}, *{name}, i32, 64"
    assert invoke("compile", KERNEL, "--to", "ttir", "-t", "cuda:90", "-s", signature).exit_code == 0
    blocked = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    assert invoke("layout", blocked, "--shape", "128", "--type", name).exit_code == 0
    types = {"x_ptr": f"*{name}", "y_ptr": "*f32", "out_ptr": "*f32", "n": "i32"}
    made = triton_runner.compile(KERNEL, types, {"BLOCK": 64}, target="cuda:90", to="ttir")
    assert "!tt.ptr<f32>" in made.asm["ttir"]


def test_passes_save_says_one_line(here):
    signature = "*fp32:16, *fp32:16, *fp32:16, i32, 64"
    answer = invoke(
        "passes", KERNEL, "-s", signature, "-t", "cuda:90", "--to", "ttgir", "--changed", "--save", "out"
    )
    assert answer.exit_code == 0, answer.output
    files = len(list((here / "out").iterdir()))
    assert files > 50 and answer.stdout.splitlines()[-1] == f"out: {files} files"
    assert answer.stdout.count("out/") == 0


def test_no_notice_of_fp_fusion(here):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_DEFAULT_FP_FUSION"}
    start = ROOT / "examples/guide/start.py"
    for command in (
        [start],
        ["-m", "triton_runner", "compile", KERNEL, "-t", "cuda:90", "-s", "*f32, *f32, *f32, i32, 64"],
    ):
        done = warm.run([sys.executable, *map(str, command)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and "FP_FUSION" not in done.stderr, done.stderr


def test_options_are_named_as_they_are_given(here):
    """In Python by keyword, on the command line by option, with one message for both, of a worker too."""
    kernel, signature = KERNEL, "*f32, *f32, *f32"
    with pytest.raises(triton_runner.DiagnosticError) as found:
        triton_runner.compile(kernel, signature, target="cuda:90")
    assert "give it in signature=; the parameters: " in found.value.notes[0]
    answer = invoke("compile", kernel, "-s", signature, "-t", "cuda:90")
    assert answer.exit_code == 2 and "give it in --signature; the parameters: " in answer.stderr
    with pytest.raises(triton_runner.DiagnosticError, match='level="ttir" was asked for'):
        triton_runner.load(str(ROOT / "examples/exec/add_kernel.ptx"), device="cpu", level="ttir")
    answer = invoke("exec", "--level", "ttir", str(ROOT / "examples/exec/add_kernel.ptx"), *ADD)
    assert "--level ttir was asked for" in answer.stderr and "leave --level out" in answer.stderr
    assert spelling.option("level") == "level="  # once the command has ended


def test_an_error_reads_alike_whoever_finds_it(here):
    """An error of click has the form of a verb's."""
    for words in (
        ("exec", IR),
        ("exec", "--grid", "x", IR),
        ("run", "--levle", "ptx", "fails.py"),
        ("bench",),
    ):
        lines = invoke(*words).stderr.splitlines()
        assert lines[0].startswith("error: ") and all(line.startswith("note: ") for line in lines[1:]), lines
    assert "did you mean --arg?" in invoke("exec", "--args", "4", IR).stderr
    assert "did you mean" not in invoke("exec", "--flavour", "4", IR).stderr


def test_the_order_of_gdb(here):
    answer = invoke("debug", "prints.py", "-ex", "run", "-ex", "quit", "--other", "-ex")
    assert "['--other', '-ex']" in answer.stdout + answer.stderr, answer.output
