"""Tests triton-runner demo: rows of kernels beside their references, faults that are reported, and where
the kernels are."""

import json

import pytest
import warm
from triton_runner._base.errors import DiagnosticError
from triton_runner.verbs.demo import faults, run

pytest.importorskip("triton")


def test_a_row_and_what_to_do_next(monkeypatch):
    monkeypatch.setattr(run, "SHORT", (("vector_add", 0), ("softmax", 1)))
    answer = warm.invoke("demo")
    assert answer.exit_code == 0, answer.output
    lines = answer.output.splitlines()
    assert lines[1].split() == [
        "kernel",
        "level",
        "compiled",
        "for",
        "engine",
        "max",
        "difference",
        "milliseconds",
    ]
    assert lines[2].split()[:5] == ["vector_add", "Python", "cuda:90", "tile", "(ttir)"]
    assert lines[4] == "every result matches its reference" and "make demo ARGS=--all" in answer.output


def test_a_wrong_result_and_a_failure_are_told(monkeypatch):
    monkeypatch.setattr(run, "SHORT", (("vector_add", 0), ("softmax", 0)))
    given = iter([(3.0, False, 0.001), ValueError("it does not compile")])

    def ran(*_):
        answer = next(given)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(run, "_run", ran)
    answer = warm.invoke("demo")
    assert answer.exit_code == 1
    assert "3 WRONG" in answer.output and "failed: it does not compile" in answer.output
    assert "2 do not match their reference" in answer.output and "Go on" not in answer.output


def test_faults_are_shown_with_their_line_and_advice():
    answer = warm.invoke("demo", "--fault")
    assert answer.exit_code == 0, answer.output
    assert answer.output.count("  advice: ") == 4 and "4 of 4 faults are reported" in answer.output
    assert "faults.py:18:5: error: kernel 'add': out of bounds in tt.store" in answer.output
    told = json.loads(warm.invoke("demo", "--fault", "--json").stdout)
    assert [one["check"] for one in told] == ["oob", "race", "uninit", "overflow"]
    assert all(one["report"] for one in told)


def test_a_fault_that_is_not_seen_is_a_failure(monkeypatch):
    monkeypatch.setattr(faults, "_FAULTS", (("nothing", "race", lambda: None),))
    answer = warm.invoke("demo", "--fault")
    assert answer.exit_code == 1 and "NOT REPORTED" in answer.output and "0 of 1 faults" in answer.output


def test_the_kernels_of_a_wheel_come_first(tmp_path, monkeypatch):
    assert (run.folder() / "harness.py").is_file()
    place = tmp_path / "a" / "b" / "c" / "d" / "demo"
    (place / "kernels").mkdir(parents=True)
    monkeypatch.setattr(run, "__file__", str(place / "run.py"))
    with pytest.raises(DiagnosticError, match="the kernels of the demo are not here"):
        run.folder()
    (place / "kernels" / "vector_add.py").write_text("")
    assert run.folder() == place / "kernels"
