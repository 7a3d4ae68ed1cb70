"""Tests tune and autotune(chip=): the order of configurations, what is left out, the choice, what it may
cost."""

import json

import pytest
import warm

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
import tuned_for_chips as tuned  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner.verbs.tune import ranking, results  # noqa: E402
from triton_runner.verbs.tune.results import Row  # noqa: E402


@pytest.fixture(scope="module")
def ranked():
    """The ranking of the program, and what it printed."""
    answer = warm.invoke("tune", "--chip", "h200", "--json", tuned.__file__)
    assert answer.exit_code == 0, answer.output
    (found,) = json.loads(answer.stdout)["rankings"]
    return found, answer.stderr


def test_the_fastest_first_and_what_does_not_run_last(ranked):
    rows = ranked[0]["rows"]
    names = [(row["options"]["BLOCK"], row["options"]["TIMES"], row["state"]) for row in rows]
    assert names == [
        (1024, 1, "estimated"), (32, 1, "estimated"), (1024, 400, "pruned"), (96, 1, "compiler error")
    ]  # fmt: skip
    assert 0 < rows[0]["microseconds"] < rows[1]["microseconds"]
    assert rows[2]["least"] > (1 + results.UNMEASURED) * rows[0]["microseconds"]
    assert "microseconds" not in rows[2] and "power of 2" in rows[3]["text"]
    assert all(row["least"] < row["microseconds"] and row["bound_by"] for row in rows[:2])


def test_the_program_goes_on_with_the_choice(ranked):
    assert "BLOCK was 1024\n" in ranked[1]


def test_a_kernel_with_its_arguments():
    call = ["--arg", "f32[8,4096]=rand", "--arg", "f32[9]", "--arg", "4096", "--grid", "8"]
    words = ["tune", "--chip", "h200", f"{tuned.__file__}:norm"]
    answer = warm.invoke(*words, *call)
    assert answer.exit_code == 0 and "chosen: BLOCK=1024, TIMES=1" in answer.output, answer.output
    assert warm.invoke(*words).exit_code == 2


def test_nothing_to_choose_from(tmp_path):
    (tmp_path / "none.py").write_text("print('no launch')\n")
    answer = warm.invoke("tune", "--chip", "h200", tmp_path / "none.py")
    assert answer.exit_code == 125 and "nothing to rank" in answer.output
    answer = warm.invoke("tune", "--chip", "h2000", tmp_path / "none.py")
    assert answer.exit_code == 2 and "unknown chip 'h2000'" in answer.output


def kernel_of(**more):
    @triton_runner.autotune(tuned.CONFIGS, key=["n"], **more)
    @triton_runner.jit
    def doubled(x, out, n, BLOCK: tl.constexpr, TIMES: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

    return doubled


@pytest.mark.parametrize(("more", "timed"), [({}, 0), ({"device": "cuda", "top": 2}, 2)])
def test_autotune_takes_the_first_or_times_some(more, timed, monkeypatch):
    """The CPU stands for the GPU that times."""
    launches = []

    def bench(launch, **_):
        launches.append(launch())
        return [float(len(launches))] * 3

    kernel = kernel_of(chip="h200", do_bench=bench, **more)
    x, out = torch.arange(2048.0), torch.zeros(2048)
    kernel[lambda meta: (triton.cdiv(2048, meta["BLOCK"]),)](x, out, 2048)
    assert torch.equal(out, 2 * x) and len(launches) == timed
    assert kernel.best_config.kwargs["BLOCK"] in (32, 1024)


def test_autotune_of_what_cannot_be_ranked():
    with pytest.raises(DiagnosticError, match="unknown chip 'x1'"):
        kernel_of(chip="x1")
    with pytest.raises(DiagnosticError, match="prunes configurations itself"):
        kernel_of(chip="h200", prune_configs_by={"perf_model": len})
    x = torch.zeros(64)
    with pytest.raises(DiagnosticError, match=r"could be estimated") as caught:
        with triton_runner.using(target="cuda:80"):
            kernel_of(chip="h200")[(1,)](x, x, 64)
    assert "h200 is cuda:90" in str(caught.value)


# --- what the choice may cost


def rows(*times, error=0.1):
    return [Row({"n": i}, "estimated", microseconds=time, error=error) for i, time in enumerate(times)]


def test_expected_regret():
    equal = results.regret_of(rows(10.0, 10.0), 1)
    # The wrong one of two that are equal is taken half of the time; logarithms differ by 0.1 * sqrt(2) then.
    assert 0.07 < equal < 0.09
    assert results.regret_of(rows(10.0, 20.0), 1) < 0.001
    assert results.regret_of(rows(10.0, 10.0, error=0.01), 1) < 0.1 * equal * 1.2
    assert results.regret_of(rows(10.0, 10.0, 10.0), 2) < results.regret_of(rows(10.0, 10.0, 10.0), 1)
    assert results.regret_of(rows(10.0, 10.0), 2) == results.regret_of(rows(10.0), 1) == 0.0
    assert results.regret_of(rows(10.0, 12.0, error=None), 1) > results.regret_of(rows(10.0, 12.0), 1)


def test_a_gpu_decides_among_the_first(monkeypatch):
    """Times of a GPU, made up here, come before estimates."""
    monkeypatch.setattr(ranking.Ranker, "_is_timed", lambda self: True)
    times = {1024: 0.5, 32: 0.25}
    monkeypatch.setattr(ranking.Ranker, "_timed", lambda self, row, subject: times[row.options["BLOCK"]])
    answer = warm.invoke("tune", "--chip", "h200", "--top", "2", tuned.__file__)
    assert answer.exit_code == 0, answer.output
    assert "chosen: BLOCK=32, TIMES=1" in answer.output and "expected regret 0.0%" in answer.output
    lines = answer.output.splitlines()
    first = lines[next(i for i, line in enumerate(lines) if "GPU" in line) + 1]
    assert "250.00 us" in first and "BLOCK=32" in first


def test_errors_are_said():
    made = results.Ranking("k", 0, "h200", [1], rows(1.0, 2.0, error=None), 0.1)
    shown = results.text_of(results.Tuning(results.SCHEMA, [made], 2, 0))
    assert "not measured, 25% is taken" in shown and "not ranked: 2 later launches" in shown
