"""Proves each kernel in a process of its own, several at a time: where Z3 crashes, or is killed as the
machine has no memory left, that kernel is unknown, and the others are proved."""

from __future__ import annotations

import os
import pickle
import selectors
import signal

_LEAST = 1 << 16  # bytes that are read at once


def each(functions: list, jobs: int, died) -> list:
    """Returns what the functions give, in their order. died(number, words): in place of what one gives whose
    process ended without giving it."""
    found: dict = {}
    waiting = [*enumerate(functions)][::-1]
    running: dict = {}  # by the end of a pipe that is read: (number, process, what came)
    selector = selectors.DefaultSelector()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number, function = waiting.pop()
                end, process = _started(function)
                running[end] = number, process, bytearray()
                selector.register(end, selectors.EVENT_READ)
            for key, _ in selector.select():
                number, process, came = running[key.fd]
                if more := os.read(key.fd, _LEAST):
                    came += more
                    continue
                selector.unregister(key.fd)
                os.close(key.fd)
                del running[key.fd]
                status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                found[number] = pickle.loads(came) if came and not status else died(number, _words(status))
    finally:
        for _, process, _ in running.values():
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        selector.close()
    failed = next((one for one in found.values() if isinstance(one, BaseException)), None)
    if failed is not None:
        raise failed
    return [found[number] for number in range(len(functions))]


def _started(function) -> tuple[int, int]:
    """(the end of a pipe that gives the result, or the error, of a function; its process)"""
    end, other = os.pipe()
    process = os.fork()
    if process:
        os.close(other)
        return end, process
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says that it was interrupted
        try:
            result = function()
        except Exception as error:
            result = error
        with os.fdopen(other, "wb") as file:
            file.write(pickle.dumps(result))
        os._exit(0)
    finally:
        os._exit(1)


def _words(status: int) -> str:
    if status >= 0:
        return f"with exit status {status}"
    name = signal.Signals(-status).name
    return f"by {name}" + (", as where there is no memory left" if status == -signal.SIGKILL else "")
