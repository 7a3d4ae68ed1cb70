"""Tests the session of the debugger as programs drive it: where it stops, what it shows and changes, how it
goes back."""

import pathlib
import threading

import numpy
import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
import debugged
import torch
import triton_runner
from triton_runner.verbs.debug import conditions
from triton_runner.verbs.debug.results import Exited, Stopped

HERE = pathlib.Path(__file__).parent


def sums_of(x):
    """row_sums of an array, its result."""
    out = torch.zeros(x.shape[0])
    return out, lambda: debugged.row_sums[(x.shape[0],)](x, out, x.shape[1], x.shape[1], BLOCK=8)


@pytest.fixture
def rows():
    return torch.arange(4 * 20, dtype=torch.float32).reshape(4, 20)


@pytest.fixture
def session(rows):
    """A session that debugs row_sums of `rows`."""
    _, launch = sums_of(rows)
    with triton_runner.debug(launch) as session:
        yield session


def test_values_of_a_stop(session, rows):
    stop = session.run_until("22", program=2)
    assert (stop.program, stop.iterations, stop.line) == ([2, 0, 0], [0], 22)
    assert numpy.array_equal(session.value("x"), rows[2, :8].numpy())
    assert session.value("row") == 2
    assert session.evaluate("x[3] + mask.sum()") == 43 + 8
    assert {v.variable for v in session.values()} >= {"x", "mask", "acc", "row", "offsets"}


def test_what_is_set_goes_on(rows):
    out, launch = sums_of(rows)
    with triton_runner.debug(launch, program=1) as session:
        session.run_until("23")
        session.set("acc", 0.0)
        session.set("acc[2]", 100.0)
        assert isinstance(session.resume(), Exited)
    expected = 2 * rows.sum(1) + 24
    expected[1] = 100.0
    assert torch.equal(out, expected)


@pytest.mark.parametrize(
    "condition", ["x.max() > 60", "x[0] == 60 and mask.all()", "x.sum() > 500", "start == 0 and row == 3"]
)
def test_a_condition(session, condition):
    stop = session.run_until("22", condition)
    assert stop.program == [3, 0, 0]


def test_hits_are_counted_where_the_launch_is_run_again(rows):
    out, launch = sums_of(rows)
    with triton_runner.debug(launch) as session:
        session.break_at("22", "x.max() >= 0", skip=5)
        stops = [session.resume(), session.resume()]
        assert [(s.program, s.iterations) for s in stops] == [([1, 0, 0], [2]), ([2, 0, 0], [0])]
        session.delete()
        assert isinstance(session.resume(), Exited)
    assert torch.equal(out, 2 * rows.sum(1) + 24)


def test_what_was_set_stays_when_it_goes_back(rows):
    out, launch = sums_of(rows)
    with triton_runner.debug(launch, program=1) as session:
        session.run_until("23")
        session.set("acc", 1.0)
        after = session.next()
        assert session.value("total") == 8
        session.reverse_next()
        assert session.value("acc").tolist() == [1.0] * 8
        assert session.next().moment == after.moment and session.value("total") == 8
        session.resume()
    assert out[1] == 8


def test_nothing_is_before_the_beginning(session):
    session.start()
    assert session.reverse_step().reason == "beginning"
    assert session.step().reason == "step"


def test_back_and_forth(rows):
    out, launch = sums_of(rows)
    with triton_runner.debug(launch) as session:
        stop = session.run_until("22", "start == 8", program=1)
        acc = session.value("acc").copy()
        later = session.next()
        assert later.moment > stop.moment
        back = session.reverse_next()
        assert (back.moment, back.line) == (stop.moment, stop.line)
        assert numpy.array_equal(session.value("acc"), acc)
        before = session.reverse_op()
        assert before.moment == stop.moment - 1
        assert session.go_to(later.moment).moment == later.moment
        assert isinstance(session.resume(), Exited)
    assert torch.equal(out, 2 * rows.sum(1) + 24)


def test_the_last_write_of_an_element(session):
    session.run_until("23", program=2)
    value = session.value("acc")[3]
    stop = session.last_write("acc[3]")
    assert stop.iterations == [2] and stop.program == [2, 0, 0]
    assert session.value("acc")[3] == value


def test_a_watchpoint(rows):
    _, launch = sums_of(rows)
    with triton_runner.debug(launch, program=0) as session:
        session.watch("acc[7]")
        stops = []
        while not (stops and isinstance(stops[-1], Exited)):
            stops.append(session.resume())
    values = [s.iterations for s in stops if isinstance(s, Stopped)]
    assert values[0] == [0] and values[-1] == [2]


def test_steps_into_and_over_a_function(session):
    session.run_until("22")
    inside = session.step()
    assert [f.function for f in inside.frames] == ["scaled", "row_sums"]
    assert session.out().frames[0].function == "row_sums"


def test_programs_and_iterations(session):
    session.run_until("22")
    assert session.next_iteration().iterations == [1]
    assert session.finish().op == "tt.return"
    assert session.next_program().program == [1, 0, 0]


def test_a_trap_is_a_stop_before_it():
    with triton_runner.debug(debugged.past) as session:
        stop = session.resume()
        assert stop.reason == "trap" and stop.program == [2, 0, 0] and stop.op == "tt.load"
        assert "out of bounds" in stop.trap
        assert session.value("offsets").max() == 47
        ended = session.resume()
        assert ended.status == 1 and "out of bounds" in ended.error


def test_a_check_is_a_stop(rows):
    rows[1, 3] = float("inf")
    rows[1, 5] = float("-inf")
    _, launch = sums_of(rows)
    with triton_runner.debug(launch, check="nan") as session:
        stop = session.resume()
        assert stop.reason == "trap" and "not a number" in stop.trap


def test_a_dump_in_a_program_that_is_debugged_records(rows):
    def launch():
        with triton_runner.dumping(debugged.row_sums, "total") as dump:
            sums_of(rows)[1]()
        totals.extend(float(dump["total"][program]) for program in range(4))

    totals: list[float] = []
    with triton_runner.debug(launch) as session:
        session.run_until("24", program=1)
        session.set("total", 5.0)
        session.reverse_op()
        session.resume()
    assert totals == (2 * rows.sum(1) + 24).tolist()


def test_the_program_ends_with_the_session(rows):
    _, launch = sums_of(rows)
    with triton_runner.debug(launch) as session:
        session.run_until("22")
    assert not [t for t in threading.enumerate() if t is session._driver.thread and t.is_alive()]
    with pytest.raises(ValueError, match="the session has ended"):
        session.resume()


def test_a_program_that_raises():
    def fails():
        raise RuntimeError("of the program")

    with triton_runner.debug(fails) as session:
        ended = session.resume()
    assert (ended.status, ended.error) == (1, "RuntimeError: of the program")


def test_conditions_that_the_core_decides():
    for text, count, rest in [
        ("acc.max() > 1e4", 1, ""),
        ("acc[3, -1] == 0 and x.nan()", 2, ""),
        ("%12 != 3", 1, ""),
        ("%r12.max() > 3 and %tid.x == 0", 2, ""),
        ("x.sum() > 3 and i < 2", 1, "(x.sum() > 3)"),
        ("a > b", 0, "(a > b)"),
    ]:
        tests, left = conditions.parsed(text)
        assert (len(tests), left) == (count, rest)
    with pytest.raises(ValueError, match="is no expression"):
        conditions.parsed("acc >")


@pytest.mark.parametrize("level", ["ttgir", "ptx"])
def test_the_other_levels(rows, level):
    out, launch = sums_of(rows)
    with triton_runner.debug(launch, level=level) as session:
        stop = session.start()
        assert stop.level == level
        for _ in range(5):
            stop = session.next_op()
        assert stop.reason == "step" and session.values()
        assert isinstance(session.resume(), Exited)
    assert torch.equal(out, 2 * rows.sum(1) + 24)
