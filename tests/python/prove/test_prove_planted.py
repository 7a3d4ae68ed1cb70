"""Kernels that are right for every size are never refuted, and those wrong at one of them never proved."""

import functools

import proved_table as table
import pytest
import varied_table as varied

pytest.importorskip("z3")

import subjects
from triton_runner.verbs.prove import run

# These faults may stay unknown: the launch takes longer, or a larger output, than is run.
UNKNOWN = ("maxima of 2**31", "a grid of 2**16 blocks")


@functools.cache
def answers(
    kernel: str, types: tuple, constants: tuple, grid: str, given: str, properties: tuple = (),
    file: str = table.KERNELS,
) -> dict:  # fmt: skip
    subject = subjects.made(file, kernel, types, dict(constants), grid, given)
    proof = run.proof(subject, properties, 30)
    assert not proof.contradictory, proof.contradictory
    return {answer.property: answer for answer in proof.answers}


# This one takes 35 s of CPU; kernels_odd.py's `swizzled` has its program numbers, and `matmul` its loop.
LONG = "matmul_swizzled"


@pytest.mark.parametrize(
    "kernel", [pytest.param(name, marks=pytest.mark.long) if name == LONG else name for name in table.RIGHT]
)
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


@pytest.mark.parametrize("name", varied.RIGHT)
def test_another_right_kernel_is_proved(name):
    kernel, types, constants, grid, given = varied.RIGHT[name]
    words = kernel, tuple(types), tuple(constants.items()), grid, given
    found = answers(*words, file=varied.KERNELS)
    verdicts = {answer.verdict for answer in found.values()}
    assert verdicts <= {"proved", "nothing to prove"}, found


@pytest.mark.parametrize("name", [*varied.WRONG, *varied.LARGE])
def test_another_wrong_kernel_is_refuted_or_unknown(name):
    kernel, types, constants, grid, given, wrong = {**varied.WRONG, **varied.LARGE}[name]
    words = kernel, tuple(types), tuple(constants.items()), grid, given
    answer = answers(*words, (wrong,), varied.KERNELS)[wrong]
    assert answer.verdict == "refuted" or (answer.verdict == "unknown" and name in UNKNOWN), answer
    assert answer.counter_example is None or answer.counter_example.line


def test_how_many_there_are():
    right, faults = [*table.RIGHT, *varied.RIGHT], [*table.WRONG, *table.LARGE, *varied.WRONG, *varied.LARGE]
    assert len(right) >= 60 and len(faults) >= 60 and len(table.LARGE) + len(varied.LARGE) >= 20


def test_a_kernel_that_does_nothing():
    found = answers("nothing", (table.P, table.I), (), "1", "n >= 0")
    assert {answer.verdict for answer in found.values()} == {"nothing to prove"}
