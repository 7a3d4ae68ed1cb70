"""Tests --pretend-cuda: each public name of torch.cuda, and what tensors say of their device, from two
tables."""

import pathlib

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")

HERE = pathlib.Path(__file__).parents[1] / "helpers"


def run(*arguments):
    return warm.cli("run", "--device", "cpu", "--pretend-cuda", *arguments, timeout=1100)


@pytest.mark.parametrize("table", ["pretend_cuda_names.txt", "pretend_cuda_tensors.txt"])
def test_walk(table):
    done = run(str(HERE / "pretend_cuda_walk.py"), str(HERE / table))
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("command, mode", [("run", ("--seen",)), ("verify", ())])
def test_tensors_that_a_function_mode_sees(command, mode):
    """The program's own mode is entered after ours, and that of verify before it."""
    words = str(HERE / "pretend_cuda_walk.py"), str(HERE / "pretend_cuda_tensors.txt"), *mode
    done = warm.cli(command, "--pretend-cuda", *words, timeout=1100)
    assert " gives " not in done.stdout, done.stdout + done.stderr[-2000:]
    assert done.returncode == (0 if command == "run" else 125), done.stderr[-2000:]  # there is no launch


def test_a_name_that_is_missing_from_the_table_is_noticed(tmp_path):
    lines = (HERE / "pretend_cuda_names.txt").read_text().splitlines(keepends=True)
    shorter = tmp_path / "names.txt"
    shorter.write_text("".join(line for line in lines if not line.startswith("empty_cache |")))
    done = run(str(HERE / "pretend_cuda_walk.py"), str(shorter))
    assert done.returncode == 1 and "torch.cuda.empty_cache: is not in the table" in done.stdout, done.stdout
