"""The debugger's command: JSON a line each, a script of commands, a closed input, Ctrl-C, bad commands."""

import json
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")

HERE = pathlib.Path(__file__).parent
COMMAND = [sys.executable, "-m", "triton_runner", "debug"]
PROGRAM = str(HERE / "debugged.py")
SPINS = """
import torch, triton, triton.language as tl

@triton.jit
def spins(flag_ptr, out_ptr):
    seen = tl.load(flag_ptr)
    while seen == 0:
        seen = tl.load(flag_ptr, volatile=True)
    tl.store(out_ptr, seen)

spins[(1,)](torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32))
"""


def run(*words, text: str | None = None):
    return warm.run([*COMMAND, *words], input=text, capture_output=True, text=True, timeout=60)


def test_json_is_a_line_each(tmp_path):
    script = tmp_path / "commands"
    script.write_text("break 22 program 2\nrun\nprint x\nnothing\ncontinue\ndelete\ncontinue\n")
    done = run("--json", "--command", str(script), PROGRAM)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    added, stop, x, error, again, _, ended = lines
    assert added["number"] == 1
    assert (stop["event"], stop["program"], stop["frames"][0]["line"]) == ("stopped", [2, 0, 0], 22)
    assert x["value"] == [40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0]
    assert "no command 'nothing'" in error["error"]
    assert again["iterations"] == [1] and ended == {"event": "exited", "status": 0}
    assert "sums" in done.stderr and done.returncode == 0


def test_a_closed_input_ends_it():
    done = run(PROGRAM, text="break 22\nrun\n")
    assert "breakpoint 1: row_sums" in done.stdout
    assert done.returncode == 0


def test_an_input_without_a_command_is_an_error():
    done = run(PROGRAM, text="")
    assert "standard input ended before the first command" in done.stderr
    assert done.returncode == 2


def test_ctrl_c_stops_a_launch(tmp_path):
    program = tmp_path / "spins.py"
    program.write_text(SPINS)
    process = subprocess.Popen(
        [*COMMAND, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write("break 9\nstart\ncontinue\n")
    process.stdin.flush()
    while "entry" not in process.stdout.readline():
        pass
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    process.stdin.write("where\nquit\n")
    output, _ = process.communicate(timeout=30)
    assert "interrupt: spins, program (0, 0, 0)" in output
    assert process.returncode == 0
