"""Tells the client what a session comes to: stops, log messages, breakpoints that have a place now, the
end."""

from __future__ import annotations

import contextlib
import sys
import threading

from triton_runner._base.errors import fail
from triton_runner.verbs.debug import show
from triton_runner.verbs.debug.results import Exited, Stopped

_REASONS = {
    "breakpoint": "breakpoint",
    "statement": "breakpoint",
    "step": "step",
    "moment": "step",
    "beginning": "step",  # there is nothing before it
    "entry": "entry",
    "interrupt": "pause",
    "thawed": "pause",
    "trap": "exception",
}


class Events:
    """Decides which events of a session the client gets, and how."""

    def __init__(self, adapter):
        self._adapter = adapter
        self.pausing = False
        self.traps = True  # whether a trap stops
        self.ended = threading.Event()
        self._threads: dict[tuple, int] = {}
        self._launch, self._last = -1, 1

    # ---- on the thread that drives

    def is_shown(self, happened: Stopped | Exited) -> bool:
        """Returns whether the client hears of it; if not, the session goes on."""
        if isinstance(happened, Exited):
            return True
        if happened.reason == "interrupt":
            pausing, self.pausing = self.pausing, False
            return pausing
        return self.traps or happened.reason != "trap"

    def log(self, line: str, point) -> None:
        """Writes the line of a log point."""
        place = (
            {"source": point.source, "line": self._adapter.client.line(point.line)} if point.source else {}
        )
        self._adapter.tell("output", category="console", output=f"{line}\n", **place)

    def handle(self, happened: Stopped | Exited) -> None:
        """Tells the client."""
        flush()
        if isinstance(happened, Exited):
            self._tell_end(happened)
            return
        adapter = self._adapter
        adapter.variables.forget()
        for changed in adapter.points.changed(adapter.session, adapter.client.line):
            adapter.tell("breakpoint", reason="changed", breakpoint=changed)
        thread = self.thread_of(happened)
        hit = [point for n in happened.breakpoints if (point := adapter.points.of_number(n))]
        reason = _REASONS.get(happened.reason, happened.reason)
        if happened.reason == "breakpoint":
            reason = hit[0].reason if hit else "breakpoint"  # of the console
        adapter.is_running = False  # what the editor asks from now on is answered
        text = happened.trap.split("\n")[0] if happened.trap else None
        adapter.tell(
            "stopped", reason=reason, description=show.standing(happened), text=text, threadId=thread,
            allThreadsStopped=True, hitBreakpointIds=[point.id for point in hit] or None,
        )  # fmt: skip

    def _tell_end(self, happened: Exited) -> None:
        self._adapter.is_running = False
        if self.ended.is_set():
            return
        self.ended.set()
        if happened.error:
            self._adapter.tell("output", category="stderr", output=f"{happened.error}\n")
        self._adapter.tell("exited", exitCode=happened.status)
        self._adapter.tell("terminated")

    # ---- threads

    def thread_of(self, stopped: Stopped) -> int:
        """The number of the program or partition that stands; the client gets an event when it is new."""
        if stopped.launch != self._launch:
            for number in self._threads.values():
                self._adapter.tell("thread", reason="exited", threadId=number)
            self._threads, self._launch = {}, stopped.launch
        key = (*stopped.program, stopped.task, *stopped.threads)
        if key not in self._threads:
            others = [k for k in self._threads if k[:3] != key[:3]]
            for other in others:  # of programs before this one: they have ended
                self._adapter.tell("thread", reason="exited", threadId=self._threads.pop(other))
            self._last += 1
            self._threads[key] = self._last
            self._adapter.tell("thread", reason="started", threadId=self._last)
        return self._threads[key]

    def thread(self, number: int) -> tuple[int, tuple]:
        """(partition or first thread, (block, first thread, count)) of a thread that the client names."""
        stopped = self._adapter.stopped
        key = next((key for key, own in self._threads.items() if own == number), None)
        if key is None or [*key[:3]] != stopped.program:
            there = ", ".join(map(str, self._threads.values()))
            raise fail(f"thread {number} is not one that can go on by itself", f"those that can: {there}")
        return key[3], key[4:]

    def threads(self) -> list[dict]:
        """Returns the threads that have stood in this program of the grid."""
        if stopped := self._adapter.stopped:
            self.thread_of(stopped)
        rows = [{"id": number, "name": _name(key)} for key, number in self._threads.items()]
        return rows or [{"id": 1, "name": "the program"}]


def _name(key: tuple) -> str:
    """ "program (3, 0, 0), partition 1"."""
    program, task, threads = key[:3], key[3], key[4:]
    name = f"program ({', '.join(map(str, program))})"
    if threads:
        block, first, count = threads
        more = f", threads {first} to {first + count - 1}"
        return f"{name}, block {block}{more}" if block else name + more
    return f"{name}, partition {task}" if task else name


def flush() -> None:
    """Flushes, so that what the program has printed so far is on its way to the client."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError, OSError, AttributeError):
            stream.flush()
