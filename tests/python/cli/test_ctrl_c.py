"""Ctrl-C in every verb: it ends at once, by one line and status 130; nothing is half written, and no process
goes on."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
from test_bad_usage import VERBS, WITHOUT_FILES
from triton_runner._base import interrupts

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Far above what an idle machine needs (GRACE and a little), far below what the work takes.
SOON = 60.0
# The verb's own work is replaced by what hears nothing: a function in C, a child, and a file half written.
DEAF = """
import hashlib, os, signal, subprocess, sys, threading, click
from triton_runner._base.paths import written_whole

def invoke(self, context, own=click.Command.invoke):
    if isinstance(self, click.Group):
        return own(self, context)
    with open("child", "w") as file:
        file.write(str(subprocess.Popen(["sleep", "100"]).pid))
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with written_whole("out") as file:
        file.write(b"half")
        file.flush()
        {work}

click.Command.invoke = invoke
signal.signal(signal.SIGINT, signal.default_int_handler)
from triton_runner._cli import main
main(sys.argv[1:], prog_name="triton-runner")
"""
DEAF_WORK = 'hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)'
MORE = {
    "lockstep": ("k.trcase",),
    "bench": ("matmul",),
    "layout": ("#a", "--shape", "4"),
    "cache": ("ls",),
    "versions": ("ls",),
    "completion": ("bash",),
}


def is_there(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return " Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    return False


def deaf(folder, work: str, *words):
    began = time.monotonic()
    done = warm.run(
        [sys.executable, "-c", DEAF.format(work=work), *words], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == interrupts.STATUS == 130, done
    assert done.stderr == "interrupted\n" and not done.stdout, done
    assert time.monotonic() - began < SOON
    assert {path.name for path in folder.iterdir()} <= {"child", "k.ttir", "k.trcase"}
    assert not is_there(int((folder / "child").read_text()))


@pytest.fixture
def folder(tmp_path):
    for name in ("k.ttir", "k.trcase"):
        (tmp_path / name).write_text((ROOT / "examples/exec/add_kernel.ttir").read_text())
    return tmp_path


@pytest.mark.parametrize("verb", [*VERBS, *sorted(WITHOUT_FILES)])
def test_a_verb_that_hears_nothing(verb, folder):
    file = () if verb in (*WITHOUT_FILES, "lockstep") else ("k.ttir",)
    deaf(folder, DEAF_WORK, verb, *VERBS.get(verb, ()), *MORE.get(verb, ()), *file)


def test_what_waits_for_a_thread(folder):
    """Python itself would wait for it at the end."""
    work = f"threading.Thread(target=lambda: {DEAF_WORK}).start(); import time; time.sleep(100)"
    deaf(folder, work, "ops")


@pytest.mark.parametrize("handler", ["", "signal.signal(signal.SIGINT, signal.default_int_handler);"])
def test_a_signal_while_it_ends(folder, handler):
    """Another process or the core heard the first one, so that this process hears its first while it ends.
    A program may have set a handler."""
    later = "atexit.register(lambda: [os.kill(os.getpid(), signal.SIGINT) for again in range(2)])"
    deaf(folder, f"import atexit; {handler} {later}; raise KeyboardInterrupt", "ops")


def test_a_signal_after_an_interrupt_that_another_process_told_of():
    code = """
import os, signal
from triton_runner._base import interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with interrupts.watching():
        raise KeyboardInterrupt
except KeyboardInterrupt:
    os.kill(os.getpid(), signal.SIGINT)
    interrupts.leave()
"""
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (interrupts.STATUS, "interrupted\n")


def test_the_process_is_ended_within_half_a_second():
    assert interrupts.GRACE < 0.5


# ---- real work

SLOW = """
import torch, triton, triton.language as tl

@triton.jit
def spin(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.load(x + at)
    for i in range(n):
        s = s * 1.0001 + 0.5
    tl.store(x + at, s)

def call(x):
    open("ready", "w").close()
    spin[(4,)](x, 100000000, B=64)
    return x

if __name__ == "__main__":
    {main}
"""
PLAIN = "call(torch.ones(256))"
IMPORTS = "import time\nopen('ready', 'w').close()\ntime.sleep(1000)\n"
KERNEL = ("-s", "*fp32, i32, 64", "-t", "cuda:90")
REAL = [
    ("run", "slow.py"), ("verify", "slow.py"), ("verify", "--shapes", "slow.py:call"),
    ("profile", "slow.py"), ("bundle", "-o", "out.trcase", "slow.py"),
    ("bisect", "--versions", "3.9.0", "slow.py"),
    ("experiments", "slow.py"), ("dump", "--save", "out.npz", "slow.py"), ("report", "-o", "out", "slow.py"),
    ("configs", "slow.py"), ("tune", "--chip", "h200", "slow.py"), ("bits", "slow.py"),
    ("compile", "imports.py:spin", *KERNEL, "--save", "out"), ("passes", "imports.py:spin", *KERNEL),
    ("ledger", "imports.py:spin", *KERNEL), ("compare", "imports.py:spin", *KERNEL, "--versions", "3.8.0"),
    ("export", "imports.py:spin", "--out", "out", "--variants", "*fp32, i32; B=64"),
]  # fmt: skip


def interrupted(words, folder, group: bool) -> subprocess.CompletedProcess:
    """Returns what a command answers to Ctrl-C, once its work has begun."""
    hears = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    process = subprocess.Popen(
        [sys.executable, "-m", "triton_runner", *words], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hears,
    )  # fmt: skip
    while not (folder / "ready").exists() and process.poll() is None:
        time.sleep(0.02)
    time.sleep(0.3)
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    began = time.monotonic()
    try:
        out, error = process.communicate(timeout=SOON)
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    assert time.monotonic() - began < SOON
    return subprocess.CompletedProcess(words, process.returncode, out, error)


@pytest.mark.parametrize("words", REAL, ids=" ".join)
def test_a_verb_at_work(words, tmp_path):
    """A signal to the process alone, or to all as a terminal sends it."""
    (tmp_path / "slow.py").write_text(SLOW.format(main=PLAIN))
    (tmp_path / "imports.py").write_text(SLOW.format(main=PLAIN) + IMPORTS)
    done = interrupted(words, tmp_path, group=REAL.index(words) % 2 == 0)
    assert done.returncode == 130 and done.stderr == "interrupted\n", done
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(("out", "."))]


ENDS = """
import os, signal, time, torch, triton, triton.language as tl

@triton.jit
def fill(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)

fill[(1,)](torch.zeros(64), B=64)
signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))
open("ready", "w").close()
time.sleep(100)
"""


def test_a_program_that_ends_before_it_tells(tmp_path):
    """So it ends where a second signal comes before it has told of the first: the process that waits hands on
    what a terminal sends to both."""
    (tmp_path / "ends.py").write_text(ENDS)
    done = interrupted(("verify", "ends.py"), tmp_path, group=False)
    assert done.returncode == 130 and not done.stdout and done.stderr.endswith("interrupted\n"), done


def test_a_program_that_handles_it(tmp_path):
    """run leaves it the time that it takes."""
    main = "try:\n        call(torch.ones(256))\n    except KeyboardInterrupt:\n        "
    main += "import time; time.sleep(1.0); print('saved'); raise SystemExit(7)"
    (tmp_path / "slow.py").write_text(SLOW.format(main=main))
    done = interrupted(("run", "slow.py"), tmp_path, group=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "saved\n", ""), done


def test_the_calls_of_a_program_are_shown_where_they_are_asked_for(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW.format(main=PLAIN))
    done = interrupted(("run", "--traceback", "slow.py"), tmp_path, group=False)
    assert done.returncode == 130 and "in call" in done.stderr and done.stderr.endswith("interrupted\n"), done


def test_a_child_that_gets_it_alone(tmp_path):
    """The process that it was forked from goes on."""
    (tmp_path / "forks.py").write_text(
        "import os, signal, time\n"
        "if (child := os.fork()) == 0:\n    time.sleep(100)\n"
        "time.sleep(0.3); os.kill(child, signal.SIGINT)\n"
        "print(os.waitpid(child, 0)[0] == child, flush=True); time.sleep(1.0); print('on')\n"
    )
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from triton_runner._cli import main; main(['run', 'forks.py'])"
    done = warm.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "True\non\n", done


# ---- the debugger

PRODUCT = """
import torch, triton, triton.language as tl

@triton.jit
def product(a, b, c, K, M: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, M)[None, :]
    acc = tl.zeros((M, M), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + m * K + ks[None, :]), tl.load(b + ks[:, None] * M + n), acc)
    tl.store(c + m * M + n, acc)

K = 65536
product[(4,)](torch.ones(128, K).half(), torch.ones(K, 128).half(), torch.empty(128, 128), K, M=128, BK=32)
"""


@pytest.mark.parametrize("typed", [False, True], ids=["commands", "typed"])
def test_compare_in_the_debugger(typed, tmp_path):
    """A command at work is interrupted, and the terminal goes on."""
    (tmp_path / "product.py").write_text(PRODUCT)
    commands = ["break product.py:11", "run", "print 40 + 2", "compare ttir"]
    words = ["--level", "cubin", "--target", "cuda:90"]
    words += [word for command in commands for word in ("-ex", command)] if not typed else []
    hears = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    process = subprocess.Popen(
        [sys.executable, "-m", "triton_runner", "debug", *words, "product.py"], cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=hears,
    )  # fmt: skip
    if typed:
        process.stdin.write("\n".join([*commands, "print 3 * 5"]) + "\n")
        process.stdin.flush()
    while (line := process.stdout.readline()) and "= 42" not in line:
        pass
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=SOON)
    assert out.count("interrupted\n") == 1, out
    assert process.returncode == (0 if typed else 130) and ("3 * 5 = 15" in out) == typed, out
