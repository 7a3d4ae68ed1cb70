"""Steps of Triton that can end the process (LLVM aborts on text it cannot read), tried in a child first."""

from __future__ import annotations

import os
import signal
import warnings


def death_of_child(step) -> str | None:
    """Runs step() in a forked child and throws its result away.

    Where a signal ended the child, the first line that it wrote to stderr, or the signal's name. None where
    it ended by itself: an exception of the step is left for the caller to meet.
    """
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forking beside threads: the child runs nothing but the step, and execs nothing.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(read_end)
        os.dup2(write_end, 2)
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
