"""A place that cannot be written to is refused before the work, by every option that names one."""

import pathlib

import click
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
from triton_runner._cli import main
from triton_runner._programs.options import Output

ROOT = pathlib.Path(__file__).resolve().parents[3]
IR = str(ROOT / "examples/exec/add_kernel.ttir")
RAN = 'raise SystemExit("it ran")'
KERNEL = f"{ROOT}/examples/kernels/vector_add.py:add_kernel"
SIGNATURE = ("-s", "*fp32, *fp32, *fp32, i32, 64", "-t", "cuda:90")
ARRAYS = ("--grid", "1", "--arg", "f32[64]=iota", "--arg", "f32[64]=1", "--arg", "f32[64]", "--arg", "64")
# The verb is asked with these too; the option with a place that is not there comes first.
WORDS = {
    "report --output": ("ran.py",), "bundle --output": ("ran.py",), "dump --save": ("ran.py",),
    "dump --png": ("ran.py",), "debug --record": ("-ex", "run", "ran.py"),
    "compile --save": (KERNEL, *SIGNATURE), "passes --save": (KERNEL, *SIGNATURE),
    "export --out": (KERNEL, "--variants", "*fp32, *fp32, *fp32, i32; BLOCK=64"),
    "translate --output": (IR, "--to", "3.9.0"), "opt --output": (IR, "--pass", "add_cse"),
    "layout --png": ("#a", "--shape", "4"), "assemble --output": ("k.ptx",),
    "reduce --output": ("--oracle", "trap", IR),
    "cuda --capture": ("ran.py",),
    "judge --out": ("--manifest", "ran.py"),
    "bench --save": ("matmul",), "bench --plot": ("matmul",),
    "bisect --json": ("ran.py",), "bisect --save": ("ran.py",),
    **{f"bisect {option}": ("ran.py",) for option in ("--junit", "--sarif")},
    **{f"verify {option}": ("ran.py",) for option in ("--junit", "--sarif")},
    **{f"prove {option}": ("ran.py",) for option in ("--junit", "--sarif")},
    **{f"compare {option}": (KERNEL, *SIGNATURE) for option in ("--junit", "--sarif")},
}  # fmt: skip


def options():
    for verb in main.list_commands(None):
        for option in main.get_command(None, verb).params:
            if isinstance(option.type, Output):
                yield f"{verb} {next(name for name in option.opts if name.startswith('--'))}", option.type


def test_every_output_is_here():
    assert {name for name, _ in options()} == set(WORDS)
    named = {"--output", "--out", "--record", "--png", "--plot", "--junit", "--sarif"}
    for verb in main.list_commands(None):
        for option in main.get_command(None, verb).params:
            if isinstance(option, click.Option) and named & {*option.opts}:
                assert isinstance(option.type, Output), (verb, option.opts)


@pytest.mark.parametrize("name", WORDS)
def test_refused_before_the_work(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ran.py").write_text(RAN)
    (tmp_path / "file").write_text("")
    verb, option = name.split()
    is_folder = dict(options())[name].is_folder
    ending = dict(options())[name].ending
    place = "file/out" if is_folder else f"missing/out{ending}"
    answer = warm.invoke(verb, option, place, *WORDS[name])
    assert answer.exit_code == 2 and f"cannot write {place}" in answer.stderr, answer.output
    assert "it ran" not in answer.output and "Traceback" not in answer.output
    assert {path.name for path in tmp_path.iterdir()} == {"ran.py", "file"}


def test_a_recording_is_svg(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ran.py").write_text(RAN)
    answer = warm.invoke("debug", "--record", "x.png", "-ex", "run", "ran.py")
    assert answer.exit_code == 2 and "end its name in .svg" in answer.stderr, answer.output
    assert [path.name for path in tmp_path.iterdir()] == ["ran.py"]


def test_what_exec_saves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = warm.invoke("exec", IR, *ARRAYS, "--save", "2=missing/x.npy")
    assert answer.exit_code == 2 and "cannot write missing/x.npy" in answer.stderr, answer.output


def test_an_export_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = warm.invoke("export", KERNEL, "--out", "out", "--variants", "*fp33, *fp32, *fp32, i32; BLOCK=64")
    assert answer.exit_code == 2 and not (tmp_path / "out").exists(), answer.output
