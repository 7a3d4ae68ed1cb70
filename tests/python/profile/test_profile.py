"""Tests triton_runner.profile and its verb: counters, samples, lines, bounds, JSON; ncu's numbers beside
ours."""

import json
import pathlib

import pytest
import warm
from suite import loaded

pytest.importorskip("torch")
pytest.importorskip("triton")
import pages
import torch
import triton_runner
from kernels_for_profiles import add, loop, total
from triton_runner._base import typed
from triton_runner._kernel.cost import bounds, chips
from triton_runner._kernel.cost.counters import COUNTERS
from triton_runner._kernel.cost.counting import programs_of
from triton_runner._kernel.cost.profiling import LaunchCounts
from triton_runner._kernel.cost.results import Profile
from triton_runner.verbs.profile.text import text_of

ROOT = pathlib.Path(__file__).resolve().parents[3]
KERNELS = pathlib.Path(__file__).with_name("kernels_for_profiles.py")
PROGRAM = str(KERNELS)
N = 1 << 20


@pytest.fixture(scope="module")
def added():
    """The launch of which an H200's numbers are in shared/facts.md: 1,048,576 f32 in blocks of 1,024."""
    x, y, out = torch.ones(N), torch.ones(N), torch.zeros(N)
    options = {"BLOCK": 1024, "num_warps": 4}
    result = triton_runner.profile(add, [x, y, out, N], options, grid=(N // 1024,), chip="h200")
    assert not out.any()  # it ran on copies
    return result


def test_counters_are_those_of_ncu_on_an_h200(added):
    assert added.counters["instructions"] == 167_936
    assert added.counters["global_load_sectors"] == 262_144


def test_sums_of_lines_and_instructions_are_the_launch_s(added):
    executed = added.counters["instructions"]
    assert sum(one.counts.get("executed", 0) for one in added.instructions) == executed
    assert sum(added.pipes.values()) == sum(added.opcodes.values()) == executed
    assert sum(one.counts["executed"] for one in added.lines_of("python")) <= executed
    (store,) = (line for line in added.lines_of("python") if "tl.store" in line.text)
    assert store.counts["global_sectors"] == 393_216 and store.file.endswith("kernels_for_profiles.py")
    assert store.flops == N == added.flops
    assert sum(one.counts.get("global_sectors", 0) for one in added.lines_of("ttgir")) == 393_216
    assert sum(one.counts.get("global_sectors", 0) for one in added.lines_of("ptx")) == 393_216


def test_bounds_are_counts_by_rates(added):
    by_name = {bound.name: bound for bound in added.bounds}
    assert (added.loaded_bytes, added.stored_bytes) == (8 * N, 4 * N)
    assert by_name["memory"].microseconds == pytest.approx(8 * N / 4.8e12 * 1e6, rel=1e-3)
    per_program = 167_936 / 1024
    assert by_name["issue"].cycles == pytest.approx(per_program * 8 / 4)  # 1,024 programs, 132 SMs: 8 on one
    assert added.bound.name == added.roofline.bound_by == "memory"
    assert added.roofline.intensity == pytest.approx(1 / 12, rel=1e-3)


def test_a_sample_of_programs_that_agree_is_extrapolated(added):
    x, y, out = torch.ones(N), torch.ones(N), torch.zeros(N)
    options = {"BLOCK": 1024, "num_warps": 4}
    some = triton_runner.profile(add, [x, y, out, N], options, grid=(N // 1024,), programs=4)
    assert some.is_extrapolated and (some.programs, some.of) == (4, 1024)
    assert some.counters == added.counters


def test_a_sample_of_programs_that_differ_is_not():
    x, out = torch.ones(8 * 128), torch.zeros(8 * 128)
    arguments = {"grid": (8,), "target": "cuda:90"}
    some = triton_runner.profile(loop, [x, out], {"BLOCK": 128}, programs=[0, 7], **arguments)
    assert not some.is_extrapolated and some.programs == 2
    assert any("their counts differ" in note for note in some.notes)
    every = triton_runner.profile(loop, [x, out], {"BLOCK": 128}, **arguments)
    assert every.counters["global_load_sectors"] == 16 * sum(range(1, 9))
    assert some.counters["global_load_sectors"] == 16 * (1 + 8)
    # The last program is in every sample.
    assert programs_of((8, 1, 1), 3) == [(0, 0, 0), (3, 0, 0), (7, 0, 0)]
    assert programs_of((4, 2, 1), [5]) == [(1, 1, 0)] and programs_of((4, 1, 1), 9) is None


def test_what_cannot_be_profiled_says_why():
    x = torch.ones(128)
    with pytest.raises(triton_runner.DiagnosticError, match="unknown chip 'b300'"):
        triton_runner.profile(add, [x, x, x, 128], {"BLOCK": 128}, grid=(1,), chip="b300")
    with pytest.raises(triton_runner.DiagnosticError, match="h200 is cuda:90"):
        triton_runner.profile(add, [x, x, x, 128], {"BLOCK": 128}, grid=(1,), chip="h200", target="cuda:80")
    with pytest.raises(triton_runner.DiagnosticError, match="there is no program 4"):
        triton_runner.profile(add, [x, x, x, 128], {"BLOCK": 128}, grid=(2,), programs=[4])


def test_a_kernel_that_stops_says_where():
    x = torch.ones(64)
    with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        triton_runner.profile(add, [x, x, x, 1024], {"BLOCK": 1024}, grid=(1,), target="cuda:90")


def test_the_room_around_an_array_is_not_memory_of_the_launch():
    where, bad = PROGRAM + ":add", "f32[100]"
    call = ["--arg", "f32[1024]=1", "--arg", "f32[1024]=2", "--arg", bad, "--arg", "1024"]
    answer = warm.invoke("profile", where, *call, "-c", "BLOCK=1024", "--grid", "1")
    assert answer.exit_code == 1 and "out of bounds in STG" in answer.output, answer.output


def test_an_empty_grid_and_other_kernels_are_passed_over():
    watching = LaunchCounts(["nope"])
    x = torch.ones(128)
    with triton_runner.using(device="cpu", target="cuda:90"), watching.watching():
        add[(1,)](x, x, x, 128, BLOCK=128)
        add[(0,)](x, x, x, 128, BLOCK=128)
    result = watching.result(0)
    assert not result.launches and result.others == ["add"]
    assert "launched kernels: add" in text_of(result)
    nothing = LaunchCounts()
    with triton_runner.using(device="cpu", target="cuda:90"), nothing.watching():
        add[(0,)](x, x, x, 128, BLOCK=128)
    assert text_of(nothing.result(0)) == "no kernel was launched"


def test_tables_are_whole():
    for row in COUNTERS.values():
        assert row.compared == "equal" or row.compared.startswith("not: "), row
        assert row.deterministic or row.compared != "equal"
    for chip in chips.CHIPS.values():
        assert all(rate > 0 for rate in (*chip.pipes.values(), *chip.matrices.values(), chip.memory))
    chip = chips.CHIPS["h200"]
    assert bounds.dealt(chip, 133, 4, None, even=False) == bounds.Dealt(1 / 132)
    assert bounds.dealt(chip, 133, 4, None, even=True) == bounds.Dealt(2 / 133)
    # One warp on an SM keeps a quarter of it at work, two programs of it a half, if the SM holds them.
    assert bounds.dealt(chip, 8, 1, None, even=True) == bounds.Dealt(1 / 8, 0.25)
    assert bounds.dealt(chip, 264, 1, 8, even=True) == bounds.Dealt(2 / 264, 0.5)
    assert bounds.dealt(chip, 264, 1, 1, even=True) == bounds.Dealt(2 / 264, 0.25)


def test_the_verb_counts_each_launch_of_a_program_once():
    answer = warm.invoke("profile", "--json", PROGRAM)
    result = typed.of_json(Profile, json.loads(answer.stdout))
    (launch,) = result.launches
    assert answer.exit_code == 0 and launch.kernel == "add" and launch.programs == launch.of == 16
    assert launch.counters["global_load_sectors"] == 16 * 256
    shown = warm.invoke("profile", "--chip", "a100", PROGRAM)
    assert "done" in shown.stdout and "bounds, not predictions" in shown.stdout
    assert "least time on a100" in shown.stdout and "L2" in shown.stdout


def test_the_verb_takes_a_kernel_and_its_arguments():
    where = PROGRAM + ":add"
    call = ["--arg", "f32[2048]=1", "--arg", "f32[2048]=2", "--arg", "f32[2048]", "--arg", "2000"]
    answer = warm.invoke(
        "profile", where, *call, "-c", "BLOCK=1024", "--grid", "cdiv(n, BLOCK)", "--by", "sass"
    )
    assert answer.exit_code == 0, answer.output
    assert "add, grid 2 x 1 x 1, cuda:90, 4 warps: all 2 programs" in answer.stdout
    assert "LDG.E.128" in answer.stdout
    refused = warm.invoke("profile", "--programs", "few", PROGRAM)
    assert refused.exit_code == 2 and "a list of theirs" in refused.output


def _csv(launches: list, change=lambda metric, value: value) -> str:
    """Returns what ncu would print of these launches."""
    metrics = [row.metric for row in COUNTERS.values() if row.metric]
    lines = ["==PROF== Connected", ",".join(f'"{c}"' for c in ("ID", "Kernel Name", "Grid Size", *metrics))]
    lines.append(",".join(['""'] * (3 + len(metrics))))
    for number, one in enumerate(launches):
        grid = "({}, {}, {})".format(*[*one["grid"], 1, 1][:3])
        by_metric = {row.metric: one["counters"][row.name] for row in COUNTERS.values() if row.metric}
        numbers = [f"{change(metric, by_metric[metric]):,}" for metric in metrics]
        lines.append(",".join(f'"{c}"' for c in (number, one["kernel"] + "(float *)", grid, *numbers)))
    return "\n".join(lines) + "\n"


def test_runs_under_ncu_are_compared_counter_by_counter():
    script = loaded(ROOT / "tests" / "gpu" / "counters.py")
    profile = json.loads(warm.invoke("profile", "--json", PROGRAM).stdout)
    same = script.read_csv(_csv(profile["launches"]))
    rows = script.compared(profile, [same] * 5)
    states = {row["counter"]: row["state"] for row in rows}
    assert states["instructions"] == states["global_load_sectors"] == "equal"
    assert {state for name, state in states.items() if COUNTERS[name].compared == "equal"} == {"equal"}
    sectors = COUNTERS["global_load_sectors"].metric
    other = script.read_csv(_csv(profile["launches"], lambda metric, n: n + (metric == sectors)))
    assert [row["counter"] for row in script.compared(profile, [other] * 5) if row["state"] == "differ"] == [
        "global_load_sectors"
    ]
    varying = script.compared(profile, [same, other])
    assert [row["counter"] for row in varying if row["state"] == "varies"] == ["global_load_sectors"]
    assert "1 launches compared" in script.table(rows)


def test_an_artifact_is_profiled_as_the_kernel_it_was_made_of(tmp_path, added):
    """TTIR enters at its level and is compiled onward; a cubin is what it is."""
    ir = str(ROOT / "examples" / "exec" / "add_kernel.ttir")
    values = [torch.ones(512), torch.ones(512), torch.zeros(512), 512]
    result = triton_runner.profile(ir, values, grid=(4,), chip="a100")
    assert result.target == "cuda:80" and result.counters["fadd"] == 4 * 1024
    assert {line.line for line in result.lines_of("python")} >= {12, 13, 14}
    call = ["--arg", "f32[512]", "--arg", "f32[512]", "--arg", "f32[512]", "--arg", "512", "--grid", "4"]
    answer = warm.invoke("profile", "--json", "--chip", "a100", ir, *call)
    again = typed.of_json(Profile, json.loads(answer.stdout)).launches[0]
    assert again.counters == result.counters
    path = tmp_path / "add.cubin"
    compiled = triton_runner.compile(add, "*fp32:16, *fp32:16, *fp32:16, i32:16, 1024", target="cuda:90")
    path.write_bytes(compiled.asm["cubin"])
    (tmp_path / "add.json").write_text(json.dumps(compiled.metadata, default=str))
    x, y, out = torch.ones(N), torch.ones(N), torch.zeros(N)
    of_cubin = triton_runner.profile(str(path), [x, y, out, N], grid=(N // 1024,), chip="h200")
    assert of_cubin.counters == added.counters


def test_warps_that_do_different_things_are_groups():
    """The first of four warps alone stores the sum of a block."""
    x, out = torch.ones(8 * 128), torch.zeros(8 * 128)
    plain = triton_runner.profile(loop, [x, out], {"BLOCK": 128}, grid=(2,), target="cuda:90")
    assert plain.groups == []
    x, out = torch.ones(1024), torch.zeros(2)
    reduced = triton_runner.profile(total, [x, out], {"BLOCK": 1024}, grid=(2,), target="cuda:90")
    assert [group.warps for group in reduced.groups] == [[0], [1, 2, 3]]
    assert sum(group.instructions for group in reduced.groups) == reduced.counters["instructions"]


def test_the_page_lights_lines_by_their_share(added, tmp_path):
    """A result, or the JSON of the verb, is a finding of report(): it has a tab, and its lines are lit."""
    compiled = triton_runner.compile(add, "*fp32:16, *fp32:16, *fp32:16, i32:16, 1024", target="cuda:90")
    (tmp_path / "profile.json").write_text(json.dumps(typed.as_json(Profile("", [added]))))
    shown = []
    for finding in (added, tmp_path / "profile.json"):
        triton_runner.report(compiled, tmp_path / "out.html", findings=finding)
        (kernel,) = pages.Read(tmp_path / "out.html").kernels
        shown.append(kernel["profile"])
    profile, again = shown
    assert profile == again and profile["counters"]["instructions"] == 167_936
    (file,) = (number for number, one in enumerate(kernel["files"]) if one["path"] == str(KERNELS))
    hottest = max(profile["heat"]["python"][str(file)].items(), key=lambda item: item[1])
    assert hottest[1] == 1 and "tl.store" in kernel["files"][file]["text"].split("\n")[int(hottest[0]) - 1]
    sass = next(level for level in kernel["levels"] if level["name"] == "sass")
    rows = {str(row[0]) for row in sass["rows"]}
    assert set(profile["heat"]["sass"]) <= rows and len(profile["heat"]["sass"]) > 20
    assert {"ttgir", "ptx"} <= profile["heat"].keys()
    triton_runner.report(compiled, tmp_path / "out.html")
    assert pages.Read(tmp_path / "out.html").kernels[0]["profile"] is None


def test_a_short_time_has_a_unit_that_shows_something():
    from triton_runner.verbs.profile import text

    shown = [text._time(us, 2) for us in (1234.5, 0.07, 0.0042, 0.0000042, 0.0)]
    assert shown == ["1,234.50us", "0.07us", "4.20ns", "4.20ps", "0.00us"]
