"""Ends a question by what Z3 counts of its own work, which is the same on every machine, and, for what it
does not count, by seconds of the processor. A slow or busy machine gives the same answers, later."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time

_STEP = 0.02  # seconds between two looks at the clock
_RESOURCES = 2_000_000  # that Z3 counts in a second, measured: 1 to 6 million
_PATIENCE = 4  # of the seconds of a question: a slow processor counts as far as a fast one


def now() -> float:
    """The seconds of the processor that this process has had."""
    return time.process_time()


def resources(seconds: float) -> int:
    """Returns what Z3 may count for a question (its rlimit)."""
    return max(int(seconds * _RESOURCES), 1)


@contextlib.contextmanager
def interrupted(context, seconds: float):
    """Interrupts what Z3 does in the block once it has had `_PATIENCE` times so many seconds."""
    watch = _watch(os.getpid())
    watch.begin(context, now() + _PATIENCE * seconds)
    try:
        yield
    finally:
        watch.end()


@functools.lru_cache(maxsize=1)
def _watch(process: int) -> _Watch:
    """One for each process: a fork has no thread of its parent."""
    return _Watch()


class _Watch:
    def __init__(self):
        self._lock, self._is_asked = threading.Lock(), threading.Event()
        self._context, self._last = None, 0.0
        threading.Thread(target=self._follow, daemon=True).start()

    def begin(self, context, last: float) -> None:
        with self._lock:
            self._context, self._last = context, last
        self._is_asked.set()

    def end(self) -> None:
        with self._lock:
            self._context = None
        self._is_asked.clear()

    def _follow(self) -> None:
        while self._is_asked.wait():
            with self._lock:
                if self._context is not None and now() >= self._last:
                    self._context.interrupt()
            time.sleep(_STEP)
