"""A question ends: terms that share parts are not taken apart again and again, Z3 has a limit of its own, and
a kernel that is not read in its time is unknown."""

import pytest

pytest.importorskip("z3")

import subjects
from triton_runner.verbs.prove import run
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


def test_a_kernel_that_is_not_read_in_its_time():
    subject = subjects.subject("add")
    _, reader = run.read(subject, -1)
    assert any("not read within its time" in one.why for one in reader.problems)
    found = run.proof(subject, ("bounds", "overflow", "disjoint", "covered", "ends"), -1)
    assert len(found.answers) == 5 and {one.verdict for one in found.answers} == {"unknown"}
