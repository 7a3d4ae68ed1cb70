"""The benchmark runs, its results are right, and its table says what it measured. No time is asserted."""

import json
import pathlib
import subprocess
import sys

import pytest

BENCHMARK = pathlib.Path(__file__).resolve().parents[3] / "benchmark"


def run(script, *words) -> str:
    """Returns what a script prints."""
    done = subprocess.run([sys.executable, BENCHMARK / script, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("engine", ["ttir", pytest.param("ttgir", marks=pytest.mark.long)])
def test_results(engine):
    printed = run("measure.py", engine, "--quick")
    results = json.loads(printed)
    assert len(results) == 13
    wrong = {name: entry["difference"] for name, entry in results.items() if not entry["right"]}
    assert not wrong
    assert all(0 < entry["wall_min"] <= entry["wall_median"] for entry in results.values())


@pytest.mark.long
def test_in_turn():
    printed = run("in_turn.py", "--rounds", "1", "--engines", "torch", "ttir", "--", "add")
    title, torch, ttir = (cell.strip() for cell in printed.splitlines()[-1].strip("|").split("|"))
    assert title.startswith("vector add")
    least, ratio = float(torch.split()[0]), float(ttir.split()[-1])
    assert least > 0 and abs(ratio - float(ttir.split()[0]) / least) < 0.02 * ratio + 0.01


def test_launch_costs():
    printed = run("launch.py", "--json", "--quick")
    costs = json.loads(printed)
    assert [cost["arguments"] for cost in costs] == [0, 5, 19]
    for cost in costs:
        ways = cost.keys() - {"arguments", "medians"}
        assert cost["medians"].keys() == ways
        assert all(0 < cost[way] <= cost["medians"][way] for way in ways)


def test_table(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARK))
    import bench

    entry = {"name": "k", "size": "s", "faster": 100, "share": 2, "right": True, "in": "f32", "gflops": 5}
    times = lambda t: entry | {f"{c}_{m}": t for c in ("wall", "cpu") for m in ("min", "median")}  # noqa: E731
    results = {
        "interpreter": {"k": times(150.0)},
        "torch": {"k": times(0.4)},
        "ttir": {"k": times(1.0)},
        "ttgir": {"k": times(1.2)},
        "ttir-2": {"k": times(0.5)},
    }
    row = bench.table(results, "wall")[1]
    assert row[-3:] == ["150x (100)", "**2.50** (2)", "1.20 (1.5)"]
    assert bench.failures(results, "wall") == ["k: 2.50 of torch's time, at most 2 wanted"]
    assert bench.thread_table(results)[1][-2:] == ["2.00 (1.8)", "5"]
    results |= {"ptx": {"k": times(4.0)}, "ptx-fast": {"k": times(1.0)}}
    assert bench.ptx_table(results, "wall")[1][-2:] == ["150x", "**4.00** (3)"]
    assert "k as PTX: exact takes 4.0 times" in bench.failures(results, "wall")
    rates = [{"code": "a", "rate": 2e9, "wanted": 1e9}, {"code": "b", "rate": 2e9, "wanted": 1e10}]
    assert [row[1] for row in bench.lane_table(rates)[1:]] == ["2.0", "**2.0**"]
