"""Kernels that are right for every size are never refuted, and those wrong at one of them never proved."""

import functools

import proved_table as table
import pytest

pytest.importorskip("z3")

from triton_runner.verbs.prove import run


@functools.cache
def answers(
    kernel: str, types: tuple, constants: tuple, grid: str, given: str, properties: tuple = ()
) -> dict:
    how = {"signature": ", ".join(types), "constexprs": dict(constants), "target": "cuda:80", "options": {}}
    subject = run.of_kernel(f"{table.KERNELS}:{kernel}", kernel, how)
    subject.assume((given,), grid)
    subject.simplify()
    proof = run.proof(subject, properties, 30)
    assert not proof.contradictory, proof.contradictory
    return {answer.property: answer for answer in proof.answers}


@pytest.mark.parametrize("kernel", table.RIGHT)
def test_a_right_kernel_is_proved(kernel):
    types, constants, grid, given, open_ = table.RIGHT[kernel]
    found = answers(kernel, tuple(types), tuple(constants.items()), grid, given)
    assert all(answer.verdict != "refuted" for answer in found.values()), found
    left = {name for name, answer in found.items() if answer.verdict == "unknown"}
    assert left == set(open_.split()), {name: found[name].reasons for name in left}


@pytest.mark.parametrize("name", [*table.WRONG, *table.LARGE])
def test_a_wrong_kernel_is_refuted_or_unknown(name):
    kernel, types, constants, grid, given, wrong = {**table.WRONG, **table.LARGE}[name]
    found = answers(kernel, tuple(types), tuple(constants.items()), grid, given, (wrong,))
    answer = found[wrong]
    if wrong == "ends":  # no engine waits until a loop does not end
        assert answer.verdict == "unknown" and answer.reasons[0].line
        return
    assert answer.verdict == "refuted", answer.reasons
    example = answer.counter_example
    assert example.line and example.report


def test_a_kernel_that_does_nothing():
    found = answers("nothing", (table.P, table.I), (), "1", "n >= 0")
    assert {answer.verdict for answer in found.values()} == {"nothing to prove"}
