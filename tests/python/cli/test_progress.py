"""Verbs that take long tell how far they are: on a terminal above a second, in a pipe above three."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest
import triton_runner
from triton_runner._base import progress
from triton_runner._cli import main

PACKAGE = pathlib.Path(triton_runner.__file__).parent
TTIR = """
module {
  tt.func public @kernel(%out: !tt.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %a = arith.addi %n, %n : i32
    %q = arith.divsi %a, %zero : i32
    tt.store %out, %q : !tt.ptr<i32>
    tt.return
  }
}
"""
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def kernel(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), 1)
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def shown(self) -> str:
        """Returns what a person saw: without what moves the cursor, hides it and gives colours."""
        return re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", self.getvalue()).strip()


def terminal_of(monkeypatch) -> Terminal:
    """In the test itself: pytest puts its own streams in place after the fixtures."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def call(*command):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main([str(word) for word in command], standalone_mode=False)


def verb(name: str, folder) -> tuple:
    """The verb with work of a moment, and what it tells."""
    (folder / "kernel.ttir").write_text(TTIR)
    (folder / "kernel.py").write_text(KERNEL)
    python = f"{folder / 'kernel.py'}:kernel"
    if name == "reduce":
        launch = ("--oracle", "trap:zerodiv", "--grid", "1", "--arg", "i32[1]", "--arg", "5")
        files = ("-o", folder / "small.ttir", folder / "kernel.ttir")
        return ("reduce", *launch, *files), r"\d+ left, \d+ of \d+ tries"
    if name == "compare":
        cells = ("-s", "*i32", "-c", "N=16", "-t", "cuda:80", "--store", folder / "store")
        return ("compare", *cells, python), r"1/1"
    variants = ("--variants", "*i32; N=16,32", "-t", "cuda:80")
    return ("export", python, "-o", folder / "out", *variants), r"compiling.*1/2"


def until_shown(terminal, pattern: str) -> None:
    """Waits until the terminal shows it, however slow the machine is."""
    until = time.monotonic() + 60
    while not re.search(pattern, terminal.shown()):
        assert time.monotonic() < until, terminal.getvalue()
        time.sleep(0.05)


def test_told_above_a_second_only(monkeypatch):
    terminal = terminal_of(monkeypatch)
    assert progress.DELAY == 1.0
    monkeypatch.setattr(progress, "DELAY", 1000.0)  # however slow the machine is
    with progress.telling("work", bar=True) as told:
        told("a [thing]\nand more", 3, 10)
        time.sleep(0.5)
        assert terminal.shown() == ""
        monkeypatch.setattr(progress, "DELAY", 0.2)
        until_shown(terminal, "3/10")
        shown = terminal.shown()
        assert "a [thing]" in shown and "3/10" in shown and "more" not in shown, terminal.getvalue()


def test_lines_in_a_pipe(monkeypatch):
    """The newest after a while, whether or not the work gets further, and others later; of work within work
    the inner's alone; none for who collects messages."""
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    monkeypatch.setattr(progress, "LINES_DELAY", 0.3)
    monkeypatch.setattr(progress, "LINES_EVERY", 1000.0)
    with progress.telling() as told:
        told("nobody asked for it")
        time.sleep(0.5)
    assert not pipe.getvalue()
    monkeypatch.setattr(sys, "__stderr__", pipe)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with progress.lines("verb"), progress.telling(bar=True) as told:
        told("too old")
        told("scan: run 7\nand more", 7, 16)
        until = time.monotonic() + 60
        while not pipe.getvalue() and time.monotonic() < until:
            time.sleep(0.1)
        told("too soon again")
    assert re.fullmatch(r"\.\.\. verb: scan: run 7, 7 of 16, \d+ s\n", pipe.getvalue())
    pipe.truncate(0)
    with progress.lines("verb"):
        with progress.telling("runs"):
            pass
        until = time.monotonic() + 60
        while not pipe.getvalue() and time.monotonic() < until:
            time.sleep(0.1)
    assert pipe.getvalue().lstrip("\0").startswith("... verb, ")  # what comes after the inner work
    with progress.telling() as told:
        pipe.close()
        time.sleep(0.5)
        told("nobody reads it")


def test_one_of_two_processes_tells(tmp_path):
    """A program runs in a process that was forked when a line was due already: one line each time."""
    (tmp_path / "work.py").write_text("""
import time
from triton_runner._base import progress
from triton_runner._programs import watched

def work(tell):
    time.sleep(1)
    with progress.lines(""):
        time.sleep(2)
    return watched.Report(0, "done")

progress.LINES_DELAY, progress.LINES_EVERY = 0.5, 1.0
began = time.monotonic()
with progress.lines("verb"):
    status = watched.watched(work, None)
print(time.monotonic() - began)
raise SystemExit(status)
""")
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    words = [sys.executable, tmp_path / "work.py"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    seconds, lines = float(done.stdout.split()[-1]), re.findall(r"^\.\.\. verb", done.stderr, re.M)
    assert 2 <= len(lines) <= seconds + 0.5, done  # the first after half a second, one each second


def test_a_second_display_repeats_no_line(monkeypatch):
    """Both count from the begin of the process."""
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    monkeypatch.setattr(sys, "__stderr__", pipe)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setattr(progress, "LINES_EVERY", 1000.0)
    monkeypatch.setattr(progress._Lines, "written", float("-inf"))
    began = time.monotonic() - 60
    with progress.lines("verb", since=began):
        until = time.monotonic() + 60
        while not pipe.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
    with progress.lines("verb", since=began):
        time.sleep(0.3)
    assert re.fullmatch(r"\.\.\. verb, \d+ s\n", pipe.getvalue())


def test_a_verb_that_counts_nothing():
    """A process of its own shows what a program that reads the pipe sees."""
    code = "import sys, time; from triton_runner._base import progress; progress.LINES_DELAY = 0.2\n"
    code += "from triton_runner.verbs.layout import command\nown = command.layout_command.callback\n"
    code += "command.layout_command.callback = lambda **k: time.sleep(1) or own(**k)\n"
    code += "from triton_runner._cli import main; main(sys.argv[1:])"
    encoding = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    done = subprocess.run(
        [sys.executable, "-c", code, "layout", encoding, "--shape", "128"], capture_output=True, text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr.startswith("... layout, "), done


AT_WORK = """
import time
import torch, triton
import triton.language as tl

@triton.autotune([triton.Config({"B": b}) for b in (16, 32)], key=["n"])
@triton.jit
def tuned(x, n, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    for _ in range(n):
        v = v * 1.5
    tl.store(x + tl.arange(0, B), v)

@triton.jit
def alone(x, n):
    v = tl.load(x)
    for _ in range(n):
        v = v * 1.5
    tl.store(x, v)

x = torch.ones(64)
if WHICH == "own":
    time.sleep(3)
else:
    dict(tuned=tuned, alone=alone)[WHICH][(1,)](x, LONG)
print("end")
"""


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("own", None),
        ("alone", r"running 'alone'"),
        ("tuned", r"autotuning 'tuned' \(configuration 1 of 2\): running 'tuned'"),
    ],
)
def test_a_program_that_triton_is_at_work_for(which, said, tmp_path):
    """Lines come while Triton works, whatever the program does else: nothing is said of its own time."""
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    path = tmp_path / "program.py"
    path.write_text(f"WHICH, LONG = {which!r}, 2**31 - 1\n" + AT_WORK)
    code = "import sys; from triton_runner._base import progress; progress.LINES_DELAY = 0.2\n"
    code += "progress.LINES_EVERY = 0.2\nfrom triton_runner._cli import main; main(sys.argv[1:])"
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    command = [sys.executable, "-c", code, "run", "--device", "cpu", path]
    if said is None:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        own = re.sub(r"\.\.\. run: importing (torch|triton|triton_runner), \d+ s\n", "", done.stderr)
        assert done.returncode == 0 and "..." not in own, done.stderr
        return
    environment["TRITON_RUNNER_TIMEOUT"] = "100"  # where no line comes
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if re.fullmatch(rf"\.\.\. run: {said}, \d+ s\n", line):
                break
        process.terminate()
    assert re.fullmatch(rf"\.\.\. run: {said}, \d+ s\n", lines[-1]), lines


@pytest.mark.parametrize("name", ["reduce", "compare", "export"])
def test_a_verb_on_a_terminal_and_in_a_pipe(name, tmp_path, monkeypatch):
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    command, told = verb(name, tmp_path)
    call(*command)
    assert re.search(told, terminal.shown(), re.S), terminal.getvalue()
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    call(*command)
    assert "left" not in pipe.getvalue() and "\x1b" not in pipe.getvalue()


def test_nothing_is_left_of_work_that_is_soon_done(tmp_path, monkeypatch):
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 1000.0)  # whatever else the machine does
    command, _ = verb("reduce", tmp_path)
    call(*command)
    assert terminal.shown() == "" and "\n" not in terminal.getvalue()


def test_there_is_no_other_bar():
    """The tests here hold for all verbs: who tells on a terminal does it through _base.progress."""
    own = [
        path for path in PACKAGE.rglob("*.py") if re.search(r"rich\.progress|\.status\(", path.read_text())
    ]
    assert own == [PACKAGE / "_base" / "progress.py"]
    users = {path.parent.name for path in PACKAGE.rglob("*.py") if "telling(" in path.read_text()}
    assert users >= {"bisect", "verify", "export"}


def test_the_clock_goes_on_after_the_last_part(monkeypatch):
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with progress.telling("parts", bar=True) as told:
        told("the last one", 2, 2)
        until_shown(terminal, r"2/2 0:00:0[1-9]|2/2 0:00:[1-5]")


def test_a_command_in_a_process_of_its_own_tells_each_line_once():
    program = (
        "import os, time\nfrom triton_runner._base import progress\n"
        "from triton_runner._programs import watched\n"
        "progress.LINES_DELAY, progress.LINES_EVERY = 1.5, 1000.0\n"
        "with progress.lines('work', time.monotonic() - 1):\n"
        "    if watched._forked() is None:\n"
        "        with progress.telling():\n            time.sleep(2.5)\n        os._exit(0)\n"
    )
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=own)
    assert len(re.findall(r"^\.\.\. work, \d+ s$", done.stderr, re.M)) == 1
