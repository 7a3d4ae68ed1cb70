"""A question ends: terms that share parts are not taken apart again and again, Z3 has a limit of its own, and
a kernel that is not read in its time is unknown. So is one of which Z3 fails, or ends the process."""

import json
import os
import signal
from pathlib import Path

import pytest
import warm

pytest.importorskip("z3")

import subjects
from triton_runner.verbs.prove import apart, run, solver
from triton_runner.verbs.prove.limit import now, resources
from triton_runner.verbs.prove.solver import Encoder, Solver
from triton_runner.verbs.prove.terms import (
    both,
    either,
    equal,
    ge,
    interval,
    larger,
    le,
    negated,
    smaller,
    symbol,
)  # fmt: skip

DEEP = 40  # of which each step has two uses: 2**40 where they are not shared


def test_terms_that_share_parts():
    began = now()
    x, y = symbol("x", 0, 100), symbol("y", 0, 100)
    for i in range(DEEP):
        x = smaller(x + y, larger(x, y + i))
    assert interval(x) == (0, 100 * (DEEP + 1))
    cond = ge(x, 0)
    for i in range(DEEP):
        a, b = symbol(f"a{i}"), symbol(f"b{i}")
        cond = either(both(cond, ge(a, 0)), both(negated(cond), ge(b, 0)))
    text = Encoder([cond], {})._sides
    assert sum(map(len, text)) < 100_000
    assert Encoder([cond, negated(cond)], {}).check(5) is True
    assert now() - began < 5


def test_z3_counts_its_own_work(monkeypatch):
    """The answer does not come from the clock: with an hour of it, what Z3 may count ends the question."""
    a, b, c = (symbol(name, 2, 1 << 40) for name in "abc")
    hard = [equal(a * a * a + b * b * b, c * c * c)]
    monkeypatch.setattr("triton_runner.verbs.prove.solver.resources", lambda seconds: resources(0.2))
    began = now()
    assert Solver(hard).model(le(a, b), seconds=3600) is None
    assert now() - began < 60


def test_a_question_is_asked_once(monkeypatch):
    """Also by another solver; with other bounds or another limit it is another question."""
    asked, check = [], Encoder.check
    counted = lambda self, seconds: [asked.append(seconds), check(self, seconds)][1]  # noqa: E731
    monkeypatch.setattr(Encoder, "check", counted)
    monkeypatch.setattr(solver, "_answers", {})
    x, y = symbol("x of a question"), symbol("y of a question")
    for _ in range(2):
        assert Solver([le(x, y * y)]).proves(ge(y * y, x)) is True
        assert Solver([le(x, y * y)]).proves(ge(y, x)) is False
    assert len(asked) == 2
    assert Solver([le(x, y * y)]).proves(ge(y, x), seconds=1) is False
    assert Solver([le(x, y * y), ge(y, 3)]).proves(ge(y, x)) is False
    assert len(asked) == 4
    monkeypatch.setattr(Encoder, "check", lambda *_: None)  # one that is not answered may be later
    assert Solver([le(x, 7)]).proves(le(x, y)) is None
    monkeypatch.setattr(Encoder, "check", check)
    assert Solver([le(x, 7)]).proves(le(x, y)) is False


def test_a_kernel_that_is_not_read_in_its_time():
    subject = subjects.subject("add")
    _, reader = run.read(subject, -1)
    assert any("not read within its time" in one.why for one in reader.problems)
    found = run.proof(subject, ("bounds", "overflow", "disjoint", "covered", "ends"), -1)
    assert len(found.answers) == 5 and {one.verdict for one in found.answers} == {"unknown"}


def test_z3_that_fails_does_not_answer(monkeypatch):
    import z3

    def check(*_):
        raise z3.Z3Exception("out of memory")

    monkeypatch.setattr(z3.Solver, "check", check)
    monkeypatch.setattr(solver, "_answers", {})  # an earlier test may have asked the same
    found = run.proof(subjects.subject("add"), ("bounds",), 5)
    (answer,) = found.answers
    assert answer.verdict == "unknown" and "Z3 did not answer within" in answer.reasons[0].text


def end(number: int):
    os.kill(os.getpid(), number)


def test_results_of_processes():
    """They come in order, large ones too, and an end or an error of one leaves the others."""
    made = [lambda: "x" * 1_000_000, lambda: end(signal.SIGKILL), lambda: 3, lambda: end(signal.SIGSEGV)]
    for jobs in (1, 3):
        found = apart.each(made, jobs, lambda number, words: (number, words))
        assert [found[0] == "x" * 1_000_000, found[2]] == [True, 3]
        assert found[1] == (1, "by SIGKILL, as where there is no memory left")
        assert found[3] == (3, "by SIGSEGV")
    with pytest.raises(ZeroDivisionError):
        apart.each([lambda: 1, lambda: 1 // 0], 2, None)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_z3_that_ends_the_process(monkeypatch, number):
    """One kernel is unknown, and says why; Z3 is well for the other one."""
    proof = run.proof

    def dies(subject, *words):
        return end(number) if subject.name == "bounded" else proof(subject, *words)

    monkeypatch.setattr(run, "proof", dies)
    path = Path(__file__).parents[1] / "prove" / "two_kernels.py"
    done = warm.invoke("prove", "--json", "--jobs", "2", "--property", "bounds", str(path))
    proofs = json.loads(done.stdout[done.stdout.index("{") :])["proofs"]
    found = {one["kernel"]: one["answers"][0] for one in proofs}
    assert done.exit_code == 4 and found["plain"]["verdict"] == "proved"
    assert found["bounded"]["verdict"] == "unknown"
    assert number.name in found["bounded"]["reasons"][0]["text"]
