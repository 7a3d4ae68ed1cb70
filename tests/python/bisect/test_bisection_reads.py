"""bisect --oracle reads names the pass that makes a level read what TTIR does not read (triton#11601)."""

import pathlib

import triton
import warm

KERNEL = pathlib.Path(__file__).resolve().parents[3] / "examples" / "guide" / "hoisted.py"


def bisected(rows: int):
    arguments = f"f32[128], i32[1]=3, {rows}"
    where = ["-c", "BLOCK=128", "--oracle", "reads", "--versions", triton.__version__]
    return warm.invoke("bisect", f"{KERNEL}:counted", "--args", arguments, *where)


def test_a_load_that_a_pass_moves_out_of_a_loop_that_does_not_run():
    answer = bisected(rows=0)
    assert answer.exit_code == 1, answer.output
    assert "first wrong at ttgir, in make_ttgir, pass TritonGPUFuseNestedLoops" in answer.output
    assert "it reads 4 bytes that TTIR does not read" in answer.output


def test_where_the_loop_runs_the_load_is_the_programs():
    answer = bisected(rows=2)
    assert answer.exit_code == 0, answer.output
