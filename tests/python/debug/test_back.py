"""Going back: each moment of a launch is what it was on the way there, whether its program goes on from what
was kept of it or the launch runs again; memory too."""

import numpy
import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
import debugged
import debugged_machine
import torch
import triton_runner
from triton_runner.verbs.debug.results import Exited, Stopped

LAUNCHES = {"main": debugged.main, "sums": debugged_machine.sums, "copies": debugged_machine.copies}


def standing(session) -> tuple:
    """All that can be seen of a moment."""
    stop, debugger = session.where(), session._debugger
    values = [debugger.read(number) for number in range(len(session.state.sites))]
    around = (debugger.barriers, debugger.copies, debugger.paths)
    return (stop.place, stop.task, stop.program, stop.iterations, stop.threads, values, around)


@pytest.mark.parametrize("name, level, most", [
    ("main", "ttir", 60), ("sums", "ttgir", 90), ("copies", "ttgir", 11), ("main", "ptx", 60),
    ("sums", "ptx", 120), ("copies", "ptx", 40), ("copies", "cubin", 40),
])  # fmt: skip
def test_each_moment_is_the_same_on_the_way_back(name, level, most):
    with triton_runner.debug(LAUNCHES[name], level=level) as session:
        session._debugger.keep_every(0)
        stop, there = session.start(), []
        while isinstance(stop, Stopped) and len(there) < most and stop.launch == 0:
            assert stop.moment == len(there)
            there.append(standing(session))
            stop = session.go_to(stop.moment + 1)
        assert len(there) > 10
        if isinstance(stop, Exited) or stop.launch:
            return  # what is before it has ended
        for moment in reversed(range(len(there))):
            assert session.go_to(moment).moment == moment
            assert standing(session) == there[moment], moment
        session.resume()
        assert session.where().status == 0, session.where()


def test_a_search_goes_from_the_last_part_to_the_first():
    x, out = torch.arange(4 * 160, dtype=torch.float32).reshape(4, 160), torch.zeros(4)
    with triton_runner.debug(lambda: debugged.row_sums[(4,)](x, out, 160, 160, BLOCK=8)) as session:
        session._debugger.keep_every(0)
        session.run_until("22", "start == 152", program=2)
        offsets = session.last_write("offsets")
        assert (offsets.program, offsets.iterations) == ([2, 0, 0], [19])
        row = session.last_write("row")
        assert row.iterations == [] and row.moment < offsets.moment
        assert session.reverse_resume().reason == "beginning"
        session.break_at("21", program=2)
        lines = [session.resume().iterations for _ in range(20)]
        assert lines == [[i] for i in range(20)]
        assert [session.reverse_resume().iterations for _ in range(19)] == lines[-2::-1]
        session.delete()
        session.resume()
    assert torch.equal(out, 2 * x.sum(1) + 160)


def test_a_launch_begins_again_with_a_later_program():
    x = torch.arange(256, dtype=torch.float32).reshape(64, 4).repeat(1, 64)
    out = torch.zeros(64)

    def launch():
        debugged.row_sums[(64,)](x, out, 256, 256, BLOCK=8)

    with triton_runner.debug(launch, level="ttir") as session:
        stop = session.run_until("23", "row == 60")
        assert stop.program == [60, 0, 0]
        assert numpy.allclose(out[:60].numpy(), 2 * x.sum(1)[:60] + 256) and out[60] == 0
        assert session.reverse_next().program == [60, 0, 0] and out[59] != 0
        session.resume()
    assert torch.equal(out, 2 * x.sum(1) + 256)
