"""Ctrl-C where Python can only print: while an object is made (its word about __del__ is nobody's business;
others stay), and in callbacks, which would swallow it."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
from triton_runner._base import interrupts

class Made:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass

    def __del__(self):
        self.missing

class Wrong:
    def __del__(self):
        1 / 0

def make():
    try:
        Made()
    except KeyboardInterrupt:
        Wrong()
        raise KeyboardInterrupt from None

with interrupts.watching():
    try:
        make()
    except KeyboardInterrupt:
        print("through")
"""


def test_an_object_that_was_half_made(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout == "through\n" and done.returncode == 0, done.stderr
    assert "ZeroDivisionError" in done.stderr and "missing" not in done.stderr


# An object's end, a weak reference and a fork call hears(), which the signal meets in its first step.
SWALLOWED = """
import os, signal, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)
from triton_runner._base import interrupts

def hears(*of):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass

class Ended:
    __del__ = hears

class Seen:
    pass

def at_fork():
    os.register_at_fork(after_in_parent=hears)
    if os.fork() == 0:
        os._exit(0)

def at_its_end():
    Ended()

def when_it_is_gone():
    seen = Seen()
    weak = weakref.ref(seen, hears)
    del seen

with interrupts.watching():
    HANDLER
    try:
        CALLBACK()
        time.sleep(1000)
    except KeyboardInterrupt:
        print("through")
"""


@pytest.mark.parametrize("callback", ["at_fork", "at_its_end", "when_it_is_gone"])
@pytest.mark.parametrize(
    "handler", ["pass", "interrupts.gently()", "signal.signal(2, signal.default_int_handler)"]
)
def test_a_callback_that_swallows_it(tmp_path, callback, handler):
    script = tmp_path / "program.py"
    script.write_text(SWALLOWED.replace("HANDLER", handler).replace("CALLBACK", callback))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=500)
    assert (done.stdout, done.stderr, done.returncode) == ("through\n", "", 0)
