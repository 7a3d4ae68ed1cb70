"""The processes of a trial: forked from one that has loaded Python, torch and Triton and has seen no task."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import time

from triton_runner._pretend import running
from triton_runner._worker.child import FIRST_LAUNCH, end_with_parent, preload
from triton_runner.verbs.judge import sandbox, wire


class Process:
    """A process that answers messages. patience: seconds of the clock after which a silent one is ended."""

    def __init__(self, name: str, main, *arguments, patience: float, quiet: bool = True):
        self.name, self.status, self.seconds = name, None, 0.0
        self._until = time.monotonic() + patience
        self._patience = patience
        theirs_read, ours_write = os.pipe()
        ours_read, theirs_write = os.pipe()
        sys.stdout.flush(), sys.stderr.flush()
        judge = os.getpid()
        self.pid = os.fork()
        if self.pid:
            os.close(theirs_read), os.close(theirs_write)
            self._read, self._write = ours_read, ours_write
            return
        status = 1
        try:
            end_with_parent(judge)
            os.setsid()
            keep = {theirs_read, theirs_write}
            null = os.open("/dev/null", os.O_RDWR)
            for number in (0, 1, 2) if quiet else (0, 1):
                os.dup2(null, number)
            for number in map(int, os.listdir("/proc/self/fd")):
                if number > 2 and number not in keep:
                    with contextlib.suppress(OSError):  # the list's own
                        os.close(number)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            main(theirs_read, theirs_write, *arguments)
            status = 0
        except (wire.Gone, BrokenPipeError):
            status = 0
        except BaseException:
            if not quiet:
                import traceback

                traceback.print_exc()
        finally:
            os._exit(status)

    def tell(self, text: dict, parts=()) -> None:
        try:
            wire.send(self._write, text, parts)
        except BrokenPipeError as error:
            raise wire.Gone("it has ended") from error

    def hear(self) -> tuple:
        """The next message. Raises wire.Gone."""
        self._until = time.monotonic() + self._patience
        return wire.receive(self._read, self._until, self._is_alive)

    @property
    def is_silent(self) -> bool:
        """Whether it has not ended a moment after its last message."""
        until = time.monotonic() + 1
        while self._is_alive() and time.monotonic() < until:
            time.sleep(0.005)
        return self.status is None

    def ask(self, text: dict, parts=()) -> tuple:
        self.tell(text, parts)
        return self.hear()

    def _is_alive(self) -> bool:
        if self.status is None:
            self._wait(os.WNOHANG)
        return self.status is None

    def _wait(self, how: int) -> None:
        pid, status, used = os.wait4(self.pid, how)
        if pid:
            self.status, self.seconds = status, used.ru_utime + used.ru_stime

    def _wait_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self.status is None and time.monotonic() < until:
            self._wait(os.WNOHANG)
            time.sleep(0.002)

    @property
    def used(self) -> float:
        """CPU seconds so far, of the sandbox's processes too."""
        return self.seconds if self.status is not None else _used_by(self.pid)

    def end(self, gently: bool = True) -> None:
        """Ends it. Its status and CPU seconds are known then."""
        if self.status is None and gently:
            with contextlib.suppress(wire.Gone, OSError):
                self.tell({"say": "end"})
            self._wait_for(2)
        if self.status is None:
            os.kill(self.pid, signal.SIGTERM)  # what waits for the sandbox's first process ends that one
            self._wait_for(1)
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self._wait(0)
        for pipe in (self._read, self._write):
            with contextlib.suppress(OSError):
                os.close(pipe)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the kernel ended it for its CPU time."""
        return self.status is not None and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) in (
            signal.SIGXCPU, signal.SIGKILL,
        )  # fmt: skip

    @property
    def how_ended(self) -> str:
        if self.status is None:
            return "it says nothing"
        code = os.waitstatus_to_exitcode(self.status)
        if code in sandbox.BEYOND:
            return sandbox.BEYOND[code]
        if os.WIFSIGNALED(self.status):
            return f"it was ended by {signal.Signals(os.WTERMSIG(self.status)).name}"
        return f"it ended itself with status {code}"


def _used_by(pid: int) -> float:
    """CPU seconds of a process and of those that it has started, which its own first thread did."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat") as file:
            own = sum(map(int, file.read().rpartition(")")[2].split()[11:15]))  # with those that have ended
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return own / os.sysconf("SC_CLK_TCK") + sum(map(_used_by, map(int, file.read().split())))
    return 0.0


def load() -> None:
    """Loads in this process what all others are forked with."""
    import torch
    import triton.language  # noqa: F401

    os.environ["TRITON_RUNNER_DEVICE"] = "cpu"
    torch.set_num_threads(1)
    running.prepare(True)
    import torch._dynamo  # torch loads it for its modes, once a process; --pretend-cuda changes it then

    preload(FIRST_LAUNCH)
    gc.collect()
    gc.freeze()  # a collection in a forked process then copies no page of what was loaded here
    atexit.register(gc.unfreeze)  # else nanobind tells at the end of what is left
