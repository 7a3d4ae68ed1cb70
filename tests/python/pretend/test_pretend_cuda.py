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


def test_a_name_that_is_missing_from_the_table_is_noticed(tmp_path):
    lines = (HERE / "pretend_cuda_names.txt").read_text().splitlines(keepends=True)
    shorter = tmp_path / "names.txt"
    shorter.write_text("".join(line for line in lines if not line.startswith("empty_cache |")))
    done = run(str(HERE / "pretend_cuda_walk.py"), str(shorter))
    assert done.returncode == 1 and "torch.cuda.empty_cache: is not in the table" in done.stdout, done.stdout
