"""Ends a program as Python does: waits for its threads, and calls the functions that it gave to atexit. What
these raise is shown and leaves the exit status as it is, so that whoever asks can hear of it:

    with ending(show) as raised:
        ...                       # a thread's assertion fails
    raised                        # [AssertionError(...)]
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import sys
import threading
from concurrent.futures import thread as pools

from triton_runner._base.errors import is_of_library


@contextlib.contextmanager
def ending(show):
    """Gives a list of the exceptions that threads and functions of atexit raise. show(error): shows one of
    such a function; Python shows those of threads."""
    raised: list[BaseException] = []
    before = {*threading.enumerate()}
    with _threads(raised), _exit_functions(raised, show):
        try:
            yield raised
        except KeyboardInterrupt:
            raise  # whoever interrupts does not wait
        except BaseException:
            _wait(before)
            raise
        _wait(before)


def _wait(before: set) -> None:
    """Waits for the threads that Python waits for. Those of a pool wait themselves, until Python ends."""
    others = {*before, *pools._threads_queues, threading.current_thread()}
    while left := [one for one in threading.enumerate() if not one.daemon and one not in others]:
        left[0].join()


@contextlib.contextmanager
def _threads(raised: list):
    own = threading.excepthook

    def hook(arguments) -> None:
        if arguments.exc_value is not None:
            raised.append(arguments.exc_value)
        own(arguments)

    threading.excepthook = hook
    try:
        yield
    finally:
        if threading.excepthook is hook:
            threading.excepthook = own


@contextlib.contextmanager
def _exit_functions(raised: list, show):
    """Calls the functions that the program gives to atexit at the end of the block, and not of this process:
    their launches belong to the program."""
    own, functions = (atexit.register, atexit.unregister), []

    def register(function, *args, **kwargs):
        if is_of_library(sys._getframe(1).f_code.co_filename):
            return own[0](function, *args, **kwargs)
        functions.append((function, functools.partial(function, *args, **kwargs)))
        return function

    def unregister(function) -> None:
        functions[:] = [one for one in functions if one[0] != function]
        own[1](function)

    atexit.register, atexit.unregister = register, unregister
    try:
        yield
    finally:
        atexit.register, atexit.unregister = own
        while functions:
            function, call = functions.pop()
            try:
                call()
            except BaseException as error:
                print(f"Exception ignored in atexit callback: {function!r}", file=sys.stderr)
                raised.append(error)
                show(error)
