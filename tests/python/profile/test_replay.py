"""Estimates of a launch's time: what moves them, what is refused, how they are shown."""

import itertools
import json
import pathlib

import pages
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
import torch
import triton_runner
from kernels_for_profiles import add, loop, squares
from triton_runner import _settings
from triton_runner._base import typed
from triton_runner._core import probe
from triton_runner._kernel.cost import chips, timing
from triton_runner._kernel.cost.replay import KINDS, _spread, estimate, estimate_of, subject_of, timeline
from triton_runner._kernel.cost.results import Profile
from triton_runner._kernel.lockstep.subject import launch_of

ADD = ["--arg", "f32[4096]=1", "--arg", "f32[4096]=2", "--arg", "f32[4096]", "--arg", "4096"]


def launch(kernel, arguments, options, grid):
    with _settings.using(device="cpu", target="cuda:90"):
        return launch_of(kernel, arguments, options, grid)


def added(blocks: int):
    x, y, out = (torch.ones(blocks * 1024) for _ in range(3))
    return launch(add, [x, y, out, blocks * 1024], {"BLOCK": 1024, "num_warps": 4}, (blocks,))


def test_a_stream_takes_the_time_of_its_bytes():
    big = estimate(added(660), chip="h200")
    assert (big.kind, big.bound_by, big.of) == ("under 5 us", "memory", 660)
    # Five programs an SM, each loads two blocks and stores one.
    assert big.dram_bytes == pytest.approx(660 * 3 * 4096)
    assert (big.blocks_per_sm, big.waves) == (5, 1.0)
    numbers = timing.parameters("h200")
    subject = subject_of(added(5280), chips.CHIPS["h200"])
    some, more = (
        estimate_of(subject, chips.CHIPS["h200"], numbers | {"dram_bytes": numbers["dram_bytes"] * part})
        for part in (1, 0.5)
    )
    assert more.cycles - some.cycles == pytest.approx(5280 * 3 * 4096 / numbers["dram_bytes"], rel=0.1)


def test_programs_that_differ_end_with_the_largest():
    def looped(blocks: int):
        return launch(loop, [torch.ones(blocks * 128), torch.zeros(blocks * 128)], {"BLOCK": 128}, (blocks,))

    one, eight = estimate(looped(1), chip="h200"), estimate(looped(8), chip="h200")
    assert eight.programs == 8 and eight.blocks_per_sm == 1
    # Program 7 waits for memory once more at least.
    assert eight.cycles - one.cycles > timing.parameters("h200")["dram_latency"]


def test_a_timeline_has_no_gaps():
    segments = timeline(added(2), chip="h200")
    assert {(one.block, one.warp) for one in segments} == {(0, warp) for warp in range(4)}
    of_warp = [one for one in segments if one.warp == 0]
    assert all(a.end == b.begin and a.begin < a.end for a, b in itertools.pairwise(of_warp))
    assert sum(one.reason == "issuing" for one in of_warp) == len({one.address for one in of_warp})


def test_the_page_shows_what_warps_wait_for(tmp_path):
    x, out = torch.ones(8 * 128), torch.zeros(8 * 128)
    counted = triton_runner.profile(loop, [x, out], {"BLOCK": 128}, grid=(8,), chip="h200", replay=True)
    line = counted.estimate.timeline
    assert len(line.warps) == 4 and "issuing" in line.reasons and "long scoreboard" in line.reasons
    for runs in line.warps:
        assert all(a.end == b.begin for a, b in itertools.pairwise(runs))
    assert max(runs[-1].end for runs in line.warps) == pytest.approx(line.cycles, rel=0.01)
    compiled = triton_runner.compile(loop, "*fp32:16, *fp32:16, 128", target="cuda:90")
    triton_runner.report(compiled, tmp_path / "out.html", findings=counted)
    (kernel,) = pages.Read(tmp_path / "out.html").kernels
    shown = kernel["profile"]["estimate"]
    assert shown["reasons"] == line.reasons and len(shown["warps"]) == 4
    begin, end, reason, text, file, number = max(shown["warps"][0], key=lambda run: run[1] - run[0])
    source = kernel["files"][file]["text"].split("\n")
    assert end > begin and reason < len(line.reasons) and text and source[number - 1].strip()


def test_a_spread_covers_each_dimension_of_a_grid():
    numbers = _spread(16 * 32, 16)
    assert (
        len(set(numbers)) == 16 and len({n % 16 for n in numbers}) > 8 and len({n // 16 for n in numbers}) > 8
    )
    assert _spread(3, 16) and set(_spread(3, 16)) <= {0, 1, 2}


@pytest.mark.parametrize("chip", ["a100", "rtx4090", "b200"])
def test_chips_that_were_never_measured_say_so(chip):
    x, y, out = (torch.ones(660 * 1024) for _ in range(3))
    counted = triton_runner.profile(
        add, [x, y, out, 660 * 1024], {"BLOCK": 1024}, grid=(660,), chip=chip, replay=True
    )
    assert counted.estimate.error is None and f"no estimate for {chip}" in counted.estimate.notes[0]
    # Memory can give no more than the data sheet says.
    assert counted.estimate.microseconds > 660 * 1024 * 12 / chips.chip_named(chip).memory * 1e6


def test_products_on_tensor_memory_are_refused():
    a = torch.ones(128, 64, dtype=torch.float16)
    arguments = [a, torch.ones(64, 128, dtype=torch.float16), torch.zeros(128, 128)]
    with pytest.raises(triton_runner.DiagnosticError, match="products on tensor memory"):
        triton_runner.profile(squares, arguments, grid=(1,), chip="b200", replay=True)


def test_what_cannot_be_estimated_says_why():
    with pytest.raises(triton_runner.DiagnosticError, match="unknown chip 'b300'"):
        estimate(added(1), chip="b300")
    with pytest.raises(triton_runner.DiagnosticError, match="unknown chip 'h100-nvl'"):
        timing.parameters("h100-nvl")
    x = torch.ones(128)
    with pytest.raises(triton_runner.DiagnosticError, match="a replay needs a chip"):
        triton_runner.profile(add, [x, x, x, 128], {"BLOCK": 128}, grid=(1,), replay=True)


def test_every_parameter_has_a_number_and_traces_come_back():
    for chip in timing.TIMINGS:
        assert set(timing.parameters(chip)) == {name for name, _ in probe.REPLAY_PARAMETERS}
    subject = subject_of(added(4), chips.CHIPS["h200"])
    other = probe.CountObserver()
    probe.give_trace(other, probe.trace_bytes(subject.what.observer))
    assert probe.traced_instructions(other) == subject.what.sizes
    with pytest.raises(triton_runner.DiagnosticError, match="no trace"):
        probe.give_trace(other, probe.trace_bytes(subject.what.observer)[:-1])


def test_the_verb_shows_the_estimate_and_its_error():
    where = f"{__file__.replace('test_replay', 'kernels_for_profiles')}:add"
    call = ["profile", "--chip", "h200", "--replay", where, *ADD, "-c", "BLOCK=1024", "--grid", "4"]
    answer = warm.invoke(*call)
    assert (
        answer.exit_code == 0 and "estimate on h200:" in answer.stdout and "under 5 us: +-" in answer.stdout
    )
    (one,) = typed.of_json(Profile, json.loads(warm.invoke(*call[:4], "--json", *call[4:]).stdout)).launches
    assert one.estimate.error == timing.ERRORS["h200"]["under 5 us"]
    assert 0 < sum(stall.share for stall in one.estimate.stalls) <= 1.0


def test_errors_are_those_that_were_measured():
    measured = json.loads(
        (pathlib.Path(__file__).resolve().parents[3] / "results" / "timed.json").read_text()
    )
    for chip, errors in timing.ERRORS.items():
        rows = {row[0]: float(row[3].rstrip("%")) / 100 for row in measured[chip]["table"]["rows"]}
        assert set(errors) == set(KINDS)
        assert all(errors[kind] == pytest.approx(rows[kind], abs=1e-9) for kind in KINDS)
