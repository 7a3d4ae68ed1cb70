"""Ctrl-C while an object is made: Python's word about its __del__ is nobody's business; others stay."""

import subprocess
import sys

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
