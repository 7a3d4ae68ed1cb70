"""Right programs are not called wrong: one of each family of tests/right/programs under `verify`.

`make right` judges all of them."""

import os
import random
import re
from pathlib import Path

import pytest
import warm
from suite import loaded

pytest.importorskip("torch")
pytest.importorskip("triton")

ROOT = Path(__file__).resolve().parents[3]
CHECKS = {"oob", "nan", "inf", "nanload", "uninit", "race", "zerodiv", "hints", "order", "timing", "levels"}


run = loaded(ROOT / "tests" / "right" / "run.py")
PROGRAMS = run.programs()
FAMILIES = sorted({subject.name.split("/")[0] for subject in PROGRAMS})


def _drawn(family: str):
    """The program of a family that is judged here: the same in each run, as long as none is added."""
    return random.Random(27).choice([s for s in PROGRAMS if s.name.startswith(f"{family}/")])


@pytest.fixture(autouse=True)
def warmed(monkeypatch, tmp_path):
    """Programs run in processes that need not start."""

    def execute(case):
        environment = {**os.environ, **case.environment}
        done = warm.run(case.command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return run.suite.Outcome(case, done.returncode, done.stdout, done.stderr, 0.0, 0.0)

    monkeypatch.setattr(run.suite, "execute", execute)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_right_program_is_not_called_wrong(family):
    outcome = run.judge(_drawn(family), 4)
    assert not run.show(outcome, run.exceptions())
    assert outcome.launches


def test_every_program_opens_with_the_checks_that_it_tempts():
    assert len(PROGRAMS) >= 100 and len(FAMILIES) >= 12
    for subject in PROGRAMS:
        text = (run.HERE / "programs" / subject.name).read_text()
        opening = re.match(r'"""Tempts ([a-z, ]+):\s\S', text)
        assert opening and set(opening[1].split(", ")) <= CHECKS, subject.name
        assert "assert" in text, f"{subject.name} compares nothing"


def test_a_wrong_program_is_blamed():
    [subject] = run.of_scripts("examples", ROOT / "examples", ["guide/sums.py"])
    outcome = run.judge(subject, 4)
    [launch] = run.blamed(outcome, [])
    assert launch["kernel"] == "sums" and "fault, race" in run.show(outcome, [])
    known = {"part": "examples", "kernel": "sums", "check": "race"}
    assert not run.excused(outcome, launch, [known | {"kernel": "other"}])
    assert not run.excused(outcome, launch, [known | {"check": "oob"}])
    checks = {f["check"] for f in launch["findings"] if f["severity"] == "fault"}
    assert run.excused(outcome, launch, [known | {"check": check} for check in checks])


def test_a_program_that_fails_is_told():
    subject = run.Subject("examples", "missing", [str(ROOT / "no such script.py")])
    assert run.judge(subject, 1).failed


def test_exceptions_are_explained():
    for one in run.exceptions():
        assert set(one) == {"part", "kernel", "check", "reason", "page"}
        assert one["reason"] and (ROOT / one["page"].partition("#")[0]).is_file(), one
