"""--quick: benchmarks run the first programs of their launches, everything else runs whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
import triton.testing
import triton_runner
from triton_runner import KernelTrap, testing
from triton_runner._pretend import quick_install, quick_random
from triton_runner._settings import quick_mode

TUTORIALS = Path(__file__).parents[2] / "tutorials"


@triton.jit
def number(out):
    x, y = tl.program_id(0), tl.program_id(1)
    tl.store(out + y * tl.num_programs(0) + x, 100 * tl.num_programs(0) + 10 * tl.num_programs(1) + y)


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
@pytest.mark.parametrize("programs", [0, 1, 5, 12, 99])
def test_the_first_programs_see_the_whole_grid(level, programs):
    out = torch.zeros(12, dtype=torch.int32)
    with triton_runner.using(device="cpu", level=level, programs=programs):
        number[(4, 3)](out)
    run = min(programs or 12, 12)
    assert out.tolist() == [430 + i // 4 for i in range(run)] + [0] * (12 - run)


def test_a_number_of_programs_is_not_negative():
    with pytest.raises(Exception, match="programs is -1"), triton_runner.using(programs=-1):
        pass


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_QUICK", "1")
    monkeypatch.setattr(quick_mode, "_said", set())


def test_a_benchmark_is_shortened_and_the_autotuner_too(quick, capsys):
    out = torch.zeros(12, dtype=torch.int32)
    with triton_runner.using(device="cpu"):
        assert testing.do_bench(lambda: number[(4, 3)](out)) > 0
        assert (out != 0).sum() == 2
        tuned = triton.autotune(
            configs=[triton.Config({}, num_warps=n) for n in (1, 2)], key=[], reset_to_zero=["out"]
        )(number)
        tuned[(4, 3)](out)
        assert (out != 0).sum() == 12  # the launch itself is whole
    said = capsys.readouterr().err
    assert said.count("--quick: benchmarks and autotuning run the first 2 programs") == 1


@triton.jit
def waits_for_all(arrived, out):
    if tl.program_id(0) == 0:
        while tl.atomic_add(arrived, 0) < tl.num_programs(0) - 1:
            pass
        tl.store(out, tl.load(out) + 1)
    else:
        tl.atomic_add(arrived, 1)


def test_programs_that_wait_for_later_ones_run_whole(quick, capsys, monkeypatch):
    monkeypatch.setattr(quick_mode, "_PATIENCE", 0.5)
    out = torch.zeros(1, dtype=torch.int32)

    def launch():
        waits_for_all[(8,)](torch.zeros(1, dtype=torch.int32), out)

    with triton_runner.using(device="cpu"):
        testing.do_bench(launch)
    assert out.item() in (1, 2)  # it measures once, or twice if that was quick
    assert "runs whole" in capsys.readouterr().err
    monkeypatch.setattr(quick_mode, "_PATIENCE", 20.0)
    with triton_runner.using(device="cpu", timeout=0.3), pytest.raises(KernelTrap, match="timeout"):
        testing.do_bench(launch)


def test_reports_measure_at_the_smallest_size(quick, capsys):
    def benchmark(name, values):
        return triton.testing.Benchmark(name, values, "provider", ["a"], ["A"], "plot", {})

    report = quick_install._perf_report(triton.testing.perf_report)
    with triton_runner.using(device="cpu"):
        both = report([benchmark(["n"], [512, 64, 128]), benchmark(["m", "n"], [(8, 8), (2, 64), (4, 4)])])
        single = report(benchmark(["n"], [7]))
    assert [b.x_vals for b in both(len).benchmarks] == [[64], [(4, 4)]]
    assert single(len).benchmarks.x_vals == [7]
    assert capsys.readouterr().err.count("smallest size") == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_repeated_random_numbers(dtype):
    block = torch.rand(4096 * 3, dtype=dtype)
    tensor = quick_random.repeated(block, 4096 * 10 + 5)
    assert tensor.dtype == dtype and tensor.numel() == 4096 * 10 + 5
    assert all((a == b[: len(a)]).all() for a in tensor.split(len(block)) for b in [block])
    tensor[5] = 2  # copied where it is written
    assert tensor[5 + len(block)] == block[5] and block[5] != 2
    view = tensor[7:9]
    del tensor
    assert (view == block[7:9]).all()


def test_scripts_run_as_they_are():
    """Runs what make tutorials does, with two scripts of our own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRITON_RUNNER")}
    done = subprocess.run(
        [sys.executable, TUTORIALS / "run.py", TUTORIALS / "sample"],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    found = {(row[0][2:], row[1]): (row[6], row[7]) for row in rows}
    assert found["01-scale", "script"][0] == "benchmarks, random numbers repeat"
    assert "1 ✅" in found["01-scale", "script"][1]
    assert found["gluon/02-copy", "script"][0] == "benchmarks, random numbers repeat, launches on gigabytes"
    assert found["gluon/02-copy", "pytest"] == ("first parameters", "1 passed |")
    assert done.stdout.endswith("3 passed, 0 failed\n")


def test_a_script_that_is_wrong_fails(tmp_path):
    (tmp_path / "01-wrong.py").write_text("print('❌ Triton and Torch differ')\n")
    (tmp_path / "02-raises.py").write_text("raise ValueError('no such thing')\n")
    done = subprocess.run(
        [sys.executable, TUTORIALS / "run.py", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "**failed**: ❌ Triton and Torch differ" in done.stdout
    assert "**failed**: ValueError: no such thing" in done.stdout
    assert done.stdout.endswith("0 passed, 2 failed\n")
