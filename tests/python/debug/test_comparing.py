"""Tests compare at a stop: which values were computed before it, in the order of execution; another
release."""

import pathlib
from types import SimpleNamespace

import numpy
import pytest

pytest.importorskip("triton")
import triton_runner
from triton_runner._pipeline import versions
from triton_runner.verbs.debug.comparing import Before

ROOT = pathlib.Path(__file__).resolve().parents[3]
TEXT = """module {
  tt.func public @k(%n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %outer = scf.for %i = %zero to %n step %one iter_args(%a = %zero) -> (i32) : i32 {
      %b = arith.addi %a, %i : i32
      %inner = scf.for %j = %zero to %n step %one iter_args(%c = %b) -> (i32) : i32 {
        %d = arith.addi %c, %j : i32
        scf.yield %d : i32
      }
      %is = arith.cmpi slt, %inner, %n : i32
      %branch = scf.if %is -> (i32) {
        %e = arith.addi %inner, %one : i32
        scf.yield %e : i32
      } else {
        scf.yield %inner : i32
      }
      scf.yield %branch : i32
    }
    tt.return
  }
}
"""


def computed(line: int, iterations: list[int]) -> list[str]:
    """Returns, of the records of all values in two iterations of each loop, those before a stop at a line."""
    before, records = Before(TEXT, "k", line, iterations), []
    outer, inner = [[0], [1]], [[0, 0], [0, 1], [1, 0], [1, 1]]
    known = {
        "%zero": [[]], "%outer": [[]], "%i": outer, "%a": outer, "%b": outer, "%j": inner, "%c": inner,
        "%d": inner, "%inner": outer, "%is": outer, "%branch": outer, "%e": outer,
    }  # fmt: skip
    for name, turns in known.items():
        values = SimpleNamespace(name=name, iterations=numpy.array(turns).reshape(len(turns), -1))
        records += [
            f"{name}{''.join(map(str, turn))}" for i, turn in enumerate(turns) if before(values, i, i)
        ]
    return records


@pytest.mark.parametrize(
    ("line", "iterations", "expected"),
    [
        (3, [], ""),
        (6, [0], "%zero %i0 %a0"),
        (8, [0, 1], "%zero %i0 %a0 %b0 %j00 %j01 %c00 %c01 %d00"),
        (11, [0], "%zero %i0 %a0 %b0 %j00 %j01 %c00 %c01 %d00 %d01 %inner0"),
        (14, [0], "%zero %i0 %a0 %b0 %j00 %j01 %c00 %c01 %d00 %d01 %inner0 %is0 %e0"),
        (6, [1], "%zero %i0 %i1 %a0 %a1 %b0 %j00 %j01 %c00 %c01 %d00 %d01 %inner0 %is0 %branch0 %e0"),
    ],
)
def test_what_is_before_a_stop(line, iterations, expected):
    assert computed(line, iterations) == expected.split()


def test_all_is_before_the_end():
    assert len(computed(20, [])) == 2 + 7 * 2 + 3 * 4


RELEASE = next((r for r in ("3.7.1", "3.4.0", "3.3.1") if versions.find(r)), None)


@pytest.mark.skipif(RELEASE is None, reason="needs a release up to 3.7: triton-runner versions add 3.7.1")
def test_another_release_computes_something_else():
    program = ROOT / "doc" / "solving_triton_issues" / "issue_10574.py"
    with triton_runner.debug(str(program)) as session:
        session.run_until("tt.store")
        (first,) = session.compare(release=RELEASE).differences
        assert (first.line, first.number, first.other_number, first.elements) == (15, -15.0, -14.0, 1010)
        assert not session.compare(level="ptx").differences
