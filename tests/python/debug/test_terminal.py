"""Tests the debugger's command: JSON a line each, a script of commands, a closed input, Ctrl-C, bad
commands."""

import contextlib
import functools
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time
import types
from xml.etree import ElementTree

import numpy
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
import triton_runner
from dap_editor import Editor
from triton_runner.verbs.debug import show, tables
from triton_runner.verbs.debug.command import debug_command

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
    script.write_text("break 22 program 2\nrun\nprint x\nprint nothing\ncontinue\ndelete\ncontinue\n")
    done = run("--json", "--command", str(script), PROGRAM)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    added, stop, x, error, again, _, ended = lines
    assert added["number"] == 1
    assert (stop["event"], stop["program"], stop["frames"][0]["line"]) == ("stopped", [2, 0, 0], 22)
    assert x["value"] == [40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0]
    assert "no value 'nothing'" in error["error"]
    assert again["iterations"] == [1] and ended == {"event": "exited", "status": 0}
    assert "sums" in done.stderr and done.returncode == 2


def test_a_closed_input_ends_it():
    done = run(PROGRAM, text="break 22\nrun\n")
    assert "breakpoint 1: row_sums" in done.stdout
    assert done.returncode == 0


def test_an_input_without_a_command_is_an_error():
    done = run(PROGRAM, text="")
    assert "standard input ended before the first command" in done.stderr
    assert done.returncode == 2


def begun(words, **streams) -> subprocess.Popen:
    """A process that Ctrl-C reaches: where tests run in the background, a shell has it ignored."""
    hears = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=hears, **streams)


def read_until(process: subprocess.Popen, text: str) -> str:
    """Returns what it prints, up to the line that has the text."""
    before = ""
    while text not in before:
        line = process.stdout.readline()
        assert line, f"it ended before it printed {text!r}:\n{before}"
        before += line
    return before


def test_ctrl_c_stops_a_launch(tmp_path):
    program = tmp_path / "spins.py"
    program.write_text(SPINS)
    process = begun([*COMMAND, str(program)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write("break 9\nstart\ncontinue\n")
    process.stdin.flush()
    read_until(process, "entry")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    process.stdin.write("where\nquit\n")
    output, error = process.communicate(timeout=30)
    assert error.startswith("Ctrl-C stops the launch"), error
    assert "interrupt: spins, program (0, 0, 0)" in output
    assert process.returncode == 0


HANDLES = """
import signal, sys, threading, time
signal.signal(signal.SIGUSR1, lambda *signal: print("handled"))
import debugged
debugged.main()
signal.raise_signal(signal.SIGUSR1)
print("on the main thread:", threading.current_thread() is threading.main_thread(), flush=True)
try:
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print("heard")
    sys.exit(5)
"""


def test_ctrl_c_twice_ends_it(tmp_path):
    """While no launch runs, too, and whatever the program, on the main thread, does with the signal."""
    program = tmp_path / "handles.py"
    program.write_text(f"import sys\nsys.path.insert(0, {str(HERE)!r})\n{HANDLES}")
    commands = ("-ex", "break 22 program 1 iteration 1", "-ex", "run", "-ex", "continue", "-ex", "where")
    process = begun([*COMMAND, *commands, str(program)], stderr=subprocess.PIPE)
    before = read_until(process, "main thread")
    process.send_signal(signal.SIGINT)
    assert "press it again to end" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=30)
    assert "breakpoint 1: row_sums" in before and "handled" in before
    assert "on the main thread: True" in before
    assert error == "interrupted\n" and "heard" not in output
    assert process.returncode == 130


def debugs(capfd, *words) -> str:
    """The output of the command in this process."""
    with contextlib.suppress(SystemExit):
        debug_command.main(words, standalone_mode=False)
    return capfd.readouterr().out


def test_a_kernel_with_its_arguments(tmp_path, capfd):
    record = tmp_path / "session.svg"
    launch = ("--grid", "4", "--arg", "f32[4,20]=iota", "--arg", "f32[4]", "--arg", "20", "--arg", "20")
    commands = ("-ex", "break 22 program 1 iteration 2", "-ex", "run", "-ex", "heat x", "-ex", "print x[:5]")
    words = ("--record", str(record), *launch, "-c", "BLOCK=8", *commands)
    output = debugs(capfd, *words, f"{PROGRAM}:row_sums")
    assert "0369...." in output and "[0]  36  37  38  39  ." in output
    picture = record.read_text()
    screens = ElementTree.fromstring(picture)
    texts = [text.text for text in screens.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "(tri) break 22 program 1 iteration 2" and "(tri) heat x" in texts
    assert '<path fill="#440154"' in picture and '<path fill="#fde725"' in picture  # both ends of the scale
    steps = next(screens.iter("{http://www.w3.org/2000/svg}animateTransform"))
    times = steps.get("keyTimes").split(";")
    assert len(times) == len(steps.get("values").split(";")) == 8 and [*times] == sorted(times, key=float)


def test_a_kernel_without_a_grid():
    with pytest.raises(ValueError, match="row_sums is a kernel, and needs a launch"):
        debugs(None, "--arg", "1", "-ex", "run", f"{PROGRAM}:row_sums")


class Screen:
    """The debugger on a terminal of its own."""

    def __init__(self, *words, columns: int):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "50", "INPUTRC": "/dev/null"}
            os.execv(sys.executable, [*COMMAND, *words])
        self.output = ""

    def until(self, text: str, seconds: float = 60) -> str:
        """Returns what it has shown since the last time, up to a text."""
        end = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < end, f"no {text!r} in {self.output!r}"
            if select.select([self.fd], [], [], 1.0)[0]:
                self.output += os.read(self.fd, 1 << 16).decode()
        before, _, self.output = self.output.partition(text)
        return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", (before + text).replace("\r", ""))

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())


def test_a_terminal_says_what_is_loaded_and_completes():
    screen = Screen(PROGRAM, columns=72)
    first = screen.until("(tri) ")
    assert "debugged.py: kernels scaled (line 9), row_sums (line 15), product (line 28)" in first
    assert "break 10 and then run: stops there" in first and "Tab completes" in first
    screen.type("tbr\t22 program 1\nru\t\n")
    stop = screen.until("ttir   29")
    assert "tbreak 22 program 1" in stop and "breakpoint 1: row_sums, program (1, 0, 0)" in stop
    screen.until("(tri) ")
    screen.type("print offs\t\n")
    assert "offsets = 8 int32" in screen.until("(tri) ")
    screen.type("print numpy.arange(96).reshape(2, 48)\n")
    table = [line for line in screen.until("(tri) ").splitlines() if line.startswith("  ")]
    assert len(table) == 3 and all(60 < len(line) <= 72 for line in table), table
    screen.type("print numpy.arange(64)\n")
    table = [line for line in screen.until("(tri) ").splitlines() if line.startswith("  ")]
    assert len(table) == 4 and all(len(line) <= 72 for line in table), table
    screen.type("quit\n")
    assert os.waitstatus_to_exitcode(os.waitpid(screen.pid, 0)[1]) == 0


@pytest.mark.parametrize("columns", [30, 40, 80, 200])
def test_tables_are_as_wide_as_the_terminal(columns):
    square, long = numpy.arange(10000).reshape(100, 100), numpy.arange(5000)
    whole = tables.table(square, None, columns)
    assert len(whole) == 17 and max(map(len, whole)) <= columns
    assert columns < 40 or max(map(len, whole)) > columns - 14
    assert max(map(len, tables.table(long, None, columns))) <= columns
    for level, word in (("ptx", "warp 2"), ("amdgcn", "wave 2")):
        here = types.SimpleNamespace(threads=(0, 32, 64), wave=32, level=level)
        _, *lanes = show.lanes("%r1", numpy.arange(64, dtype="int32") * 1000, None, here, "", columns)
        assert max(map(len, lanes)) <= columns and word in "\n".join(lanes)


def test_scripts_are_refused_before_the_work_and_end_with_status_2(tmp_path):
    script = tmp_path / "commands"
    script.write_text("# the sums\n\nbreak 22\nrun\nprnt x\n")
    done = run("--command", str(script), PROGRAM)
    assert done.returncode == 2 and "did you mean 'print'?" in done.stderr
    assert "sums" not in done.stdout + done.stderr and "breakpoint" not in done.stdout
    done = run("-ex", "break 22", "-ex", "run", "-ex", "print nothing", "-ex", "print start", PROGRAM)
    assert done.returncode == 2 and "start = 0" in done.stdout
    done = run("-ex", "break 22", "-ex", "run", "-ex", "print start", PROGRAM)
    assert done.returncode == 0


@pytest.mark.parametrize("entry", ["command", "python", "editor"])
def test_a_check_that_there_is_not_is_refused_at_the_start(entry):
    if entry == "command":
        done = run("--check", "foo", PROGRAM, text="run\n")
        message, has_run = done.stderr, "sums" in done.stdout
        assert done.returncode == 2
    elif entry == "python":
        called: list = []
        with pytest.raises(ValueError) as error:
            triton_runner.debug(lambda: called.append(1), check="race,foo")
        message, has_run = str(error.value), bool(called)
    else:
        with Editor() as editor:
            response = editor.ask("launch", program=PROGRAM, check="foo")
        message, has_run = response.get("message", ""), response["success"]
    assert "unknown check 'foo'" in message and "race" in message and not has_run
