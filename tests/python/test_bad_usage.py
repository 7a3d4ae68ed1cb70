"""Every verb of the command line that takes a file, given what it cannot take: an error that says what is
wrong, a status that is not 0, and no Python traceback of ours."""

import os
from unittest import mock

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
from click.testing import CliRunner
from triton_runner._cli import main
from triton_runner._compiler import versions

FILES = {
    "empty.ttir": b"",
    "noise.ttgir": bytes(range(256)) * 4,
    "noise.cubin": b"\x7fELF" + bytes(200),
    "noise.trcase": b"PK\x03\x04" + bytes(range(256)),
    "noise.json": b"{",
}
GIVEN = ("missing.py", "missing.ttir", *FILES, "folder")
# What each verb is asked with; those that take no file are not in it.
VERBS = {
    "bisect": ("--versions", versions.installed()),
    "bundle": ("-o", "out.trcase"),
    "compare": (),
    "compile": ("-s", "*fp32"),
    "dump": (),
    "exec": ("--grid", "1"),
    "experiments": (),
    "export": ("-o", "out"),
    "ledger": ("-s", "*fp32"),
    "lockstep": (),
    "map": (),
    "opt": ("--pass", "add_cse"),
    "passes": ("-s", "*fp32"),
    "reduce": (),
    "report": (),
    "resources": (),
    "run": (),
    "translate": ("--to", "3.9.0"),
    "verify": (),
}
# What a verb may take all the same: a module with nothing in it, and a text of which the page says that it
# cannot be read.
TAKEN = {(verb, name) for verb in ("report", "map", "translate") for name in ("empty.ttir", "noise.ttgir")}
WITHOUT_FILES = {"dev", "bench", "cache", "doctor", "env", "layout", "ops", "versions"}


def test_every_verb_is_here():
    assert set(main.list_commands(None)) == set(VERBS) | WITHOUT_FILES


@pytest.mark.parametrize("verb", VERBS)
def test_what_no_verb_takes(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    for given in GIVEN:
        with mock.patch.dict(os.environ):
            answer = CliRunner().invoke(main, [verb, *VERBS[verb], given])
        said = answer.stdout + answer.stderr
        assert isinstance(answer.exception, SystemExit | None), (given, answer.exception)
        if (verb, given) in TAKEN:
            continue
        assert answer.exit_code != 0, (given, said)
        assert "error" in said.lower() and "Traceback" not in said, (given, said)
    left = {path.name for path in tmp_path.iterdir()} - {*FILES, "folder"}
    assert not {name for name in left if name.startswith("out")}  # nothing is half written


@pytest.mark.parametrize("verb", ["run", "verify", "bisect", "experiments", "bundle"])
def test_a_level_is_no_program(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.ptx").write_text("")
    answer = CliRunner().invoke(main, [verb, *VERBS[verb], "kernel.ptx"])
    said = answer.stdout + answer.stderr
    assert answer.exit_code not in (0, 125) and "kernel.ptx holds a level of a kernel" in said, said
    assert "triton-runner exec" in said
