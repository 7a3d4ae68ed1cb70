"""Tries in a child process the steps of Triton that can end the process (LLVM aborts on text it cannot read,
and a compiler may crash)."""

from __future__ import annotations

import dataclasses
import faulthandler
import os
import pickle
import signal
import sys
import tempfile
import warnings


@dataclasses.dataclass(frozen=True)
class Apart:
    """A step that ran in a child. result: what it returned; error: the exception that it raised; died: the
    name of the signal that ended it; told: what it told last; written: what it wrote to stderr."""

    result: object
    error: Exception | None
    died: str
    told: object
    written: str

    @property
    def is_done(self) -> bool:
        return not self.died and self.error is None


def in_child(step) -> Apart:
    """Runs step(tell) in a forked child. What it tells and returns is pickled."""
    read_end, write_end = os.pipe()
    with tempfile.TemporaryFile() as output:
        child = _forked()
        if child == 0:
            os.close(read_end)
            os.dup2(output.fileno(), 2)
            _serve(step, write_end)
        os.close(write_end)
        ended: dict = {}
        with os.fdopen(read_end, "rb") as pipe:
            while True:
                try:
                    ended |= pickle.load(pipe)
                except (EOFError, pickle.UnpicklingError):
                    break
        _, status = os.waitpid(child, 0)
        output.seek(0)
        written = output.read().decode(errors="replace")
    died = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
    if died == "SIGINT":
        raise KeyboardInterrupt
    if not died and not ended.keys() & {"result", "error"}:
        died = f"status {os.WEXITSTATUS(status)}"
    return Apart(ended.get("result"), ended.get("error"), died, ended.get("told"), written)


def _serve(step, write_end: int) -> None:
    """In the child: runs a step, and writes into the pipe what becomes of it."""
    with os.fdopen(write_end, "wb") as pipe:

        def tell(**said) -> None:
            pipe.write(pickle.dumps(said))
            pipe.flush()

        try:
            try:
                tell(result=step(lambda value: tell(told=value)))
            except Exception as error:
                tell(error=error)
            sys.stdout.flush()
        finally:
            os._exit(0)


def _forked() -> int:
    with warnings.catch_warnings():
        # Python 3.12 warns of forking beside threads: the child runs nothing but the step, and execs nothing.
        warnings.simplefilter("ignore", DeprecationWarning)
        sys.stdout.flush()
        return os.fork()


def death_of_child(step) -> str | None:
    """Runs step() in a forked child and throws its result away.

    If a signal ended the child, returns the first line that it wrote to stderr, or the signal's name. None
    where it ended by itself: an exception of the step is left for the caller to meet.
    """
    read_end, write_end = os.pipe()
    child = _forked()
    if child == 0:
        os.close(read_end)
        os.dup2(write_end, 2)
        faulthandler.disable()  # which writes elsewhere what it says of a signal
        try:
            step()
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, errors="replace") as pipe:
        reason = pipe.read()
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        return None
    number = os.WTERMSIG(status)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    lines = [line for line in reason.splitlines() if line.strip()]
    return lines[0] if lines else f"it ended with signal {signal.Signals(number).name}"
