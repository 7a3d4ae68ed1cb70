"""Stamps what LLVM prints about its passes with the time. It is a program: bytes on stdin, one JSON document
on stdout.

LLVM prints "Running pass: X on f" as a pass begins and "; *** IR Dump After X on f ***" as it ends, and then
the IR. Nothing of the IR is kept, and the time that printing it takes belongs to no pass. It is a process of
its own, because some releases hold Python's lock while they optimise.

LLVM writes word by word, and a reader that wakes for each of them makes it slow. While a long IR is printed
the reader therefore naps, until most of what the last one had has come; then it waits for each word again.

    {"passes": [[name, seconds]], "printing": seconds, "rest": what else was printed (its end)}

It is described in doc/guide/passes.md#what-takes-the-time."""

import contextlib
import fcntl
import json
import os
import re
import time

_MARK = re.compile(rb"(?:(?<=\n)|^)(?:Running pass: (.+?) on |; \*\*\* IR Dump After )")
_PIPE_SIZE = 1 << 20
_SET_PIPE_SIZE = 1031  # fcntl.F_SETPIPE_SZ, named since Python 3.10
_NAP = 0.0003  # seconds
_LONG = 1 << 14  # bytes of an IR; a shorter one is printed within a few naps
_MOST = 0.8


class Clock:
    """The passes in what is fed to it, with the time when it came."""

    def __init__(self):
        self.passes = []
        self.printing = 0.0
        self._running = None  # (name, since)
        self._printing_since = None
        self._left = b""
        self.end = b""
        self._printed = self._last_printed = 0  # bytes

    def is_in_print(self):
        """Returns whether the print of a long IR has some time to go."""
        is_long = self._last_printed > _LONG and self._printed < _MOST * self._last_printed
        return self._printing_since is not None and is_long

    def feed(self, data, now):
        data = self._left + data
        cut = data.rfind(b"\n") + 1
        data, self._left = data[:cut], data[cut:]
        self._printed += len(data)
        for mark in _MARK.finditer(data):
            if mark[1] is None:
                self._stop(now)
                self._printing_since = now
                self._printed = len(data) - mark.end()
            else:
                self._stop(now)
                self._end_of_printing(now)
                self._running = (mark[1].decode(errors="replace"), now)
        self.end = (self.end + data)[-2000:]

    def close(self, now):
        self._stop(now)
        self._end_of_printing(now)

    def _stop(self, now):
        if self._running is not None:
            self.passes.append([self._running[0], now - self._running[1]])
            self._running = None

    def _end_of_printing(self, now):
        if self._printing_since is not None:
            self.printing += now - self._printing_since
            self._last_printed = self._printed
            self._printing_since = None


def main():
    with contextlib.suppress(OSError):  # a smaller pipe makes LLVM wait, which counts as printing
        fcntl.fcntl(0, _SET_PIPE_SIZE, _PIPE_SIZE)
    os.write(1, b"ready\n")
    clock = Clock()
    while True:
        data = os.read(0, _PIPE_SIZE)
        now = time.perf_counter()
        if not data:
            break
        clock.feed(data, now)
        if clock.is_in_print():
            time.sleep(_NAP)
    clock.close(time.perf_counter())
    rest = "" if clock.passes else clock.end.decode(errors="replace")
    answer = {"passes": clock.passes, "printing": clock.printing, "rest": rest}
    with contextlib.suppress(BrokenPipeError), open(1, "w") as out:  # who asked may have crashed
        json.dump(answer, out)


if __name__ == "__main__":
    main()
