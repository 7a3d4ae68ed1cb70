"""Runs the program on a thread of its own, or on Python's main thread, which alone can set handlers of
signals. Then the debugger's prompt, or what serves an editor, runs on another thread."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import dataclasses
import os
import queue
import signal
import socket
import sys
import threading
import time

from triton_runner._base import interrupts

_STOPPING = "Ctrl-C stops the launch that runs, or the next one; press it again to end the debugger"
_STOPPING_COMMAND = "Ctrl-C stops the command, as soon as it can; press it again to end the debugger"


def on_a_thread(run) -> threading.Thread:
    """Runs the program on a thread of its own."""
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


class _Errand:
    """A function that another thread runs: join() waits for its end."""

    def __init__(self, run):
        self._run, self._ended = run, threading.Event()
        self.result = self.error = None

    def run(self) -> None:
        try:
            self.result = self._run()
        except BaseException as error:  # serve() raises it
            self.error = error
        finally:
            self._ended.set()

    def is_alive(self) -> bool:
        return not self._ended.is_set()

    def join(self, timeout: float | None = None) -> None:
        self._ended.wait(timeout)


class MainThread:
    """The main thread, which runs the program and reads what is typed, as another one asks it to."""

    def __init__(self):
        self._errands: queue.SimpleQueue = queue.SimpleQueue()
        self._at_work = False

    def start(self, run) -> _Errand:
        """Runs the program."""
        errand = _Errand(run)
        self._errands.put(errand)
        return errand

    def serve(self, drive) -> int:
        """Runs drive() on another thread, and its errands here. Returns its result, an exit status; where the
        program does not end with it, the process does."""
        driver = _Errand(drive)
        context = contextvars.copy_context()

        def run() -> None:
            context.run(driver.run)
            self._errands.put(None)
            if self._at_work:
                _end_process(driver.result)

        threading.Thread(target=run, daemon=True).start()
        while (errand := self._errands.get()) is not None:
            self._at_work = True
            errand.run()
            self._at_work = False
        if driver.error is not None:
            raise driver.error
        return driver.result

    def read(self, prompt: str, session) -> str | None:
        """A line that is typed, read on the main thread; None at the end of the input."""
        errand = _Errand(lambda: _typed(prompt))
        if not session.aside(errand.run):
            self._errands.put(errand)
        errand.join()
        return errand.result


def _end_process(status: int | None) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(1 if status is None else status)


def _typed(prompt: str) -> str | None:
    """Ctrl-C clears the line."""
    if sys.stdin is None:  # it was closed
        return None
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input(prompt)
    except KeyboardInterrupt:
        print()
        return ""
    except EOFError:
        if prompt:
            print()
        return None
    finally:
        signal.signal(signal.SIGINT, before)


@dataclasses.dataclass(eq=False)
class _Command:
    """A command that a thread is about to answer."""

    thread: int
    goes_on: bool  # after Ctrl-C, as a person types the commands
    is_interrupted: bool = False


@contextlib.contextmanager
def at_work(session, goes_on: bool):
    """While this thread answers a command, which Ctrl-C interrupts."""
    session.at_work = _Command(threading.get_ident(), goes_on)
    try:
        yield
    finally:
        session.at_work = None


class CtrlC:
    """Ctrl-C while the program runs. The first one stops the launch, and says so; the second one, where
    nothing has stopped since, ends the process. While the program stands, it is a KeyboardInterrupt in the
    command that is at work (compare runs other launches). Where that does not end in time, since a compiler
    has to return first, the process is ended, by the second one if a person types the commands. Python
    writes each signal to a socket at once, even while the main thread is in a launch, and
    whichever handler the program sets."""

    def __init__(self, session):
        self._session, self._stops = session, 0
        self._pressed = 0  # since the last stop

    def __enter__(self):
        ours, self._signals = socket.socketpair()
        self._signals.setblocking(False)
        self._before = signal.signal(signal.SIGINT, lambda number, frame: None)  # _watch() hears of it
        signal.set_wakeup_fd(self._signals.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(ours,), daemon=True).start()
        return self

    def __exit__(self, *error):
        signal.set_wakeup_fd(-1)
        self._signals.close()
        signal.signal(signal.SIGINT, self._before)
        return False

    def _is_running(self) -> bool:
        if self._session.stops != self._stops:
            self._stops, self._pressed = self._session.stops, 0
        return self._session.where() is None

    def _watch(self, signals) -> None:
        while numbers := signals.recv(64):
            for _ in range(numbers.count(signal.SIGINT)):
                if not self._is_running():
                    self._interrupt()
                    continue
                self._pressed += 1
                if self._pressed > 1:
                    interrupts.end()
                self._session.interrupt()
                print(_STOPPING, file=sys.stderr, flush=True)
        signals.close()

    def _interrupt(self) -> None:
        if (command := self._session.at_work) is None:
            return
        if command.is_interrupted:
            interrupts.end()
        command.is_interrupted = True
        interrupts.end_children()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(command.thread), ctypes.py_object(KeyboardInterrupt)
        )
        time.sleep(interrupts.GRACE)
        if self._session.at_work is not command or self._is_running():
            return
        if not command.goes_on:
            interrupts.end()
        print(_STOPPING_COMMAND, file=sys.stderr, flush=True)
