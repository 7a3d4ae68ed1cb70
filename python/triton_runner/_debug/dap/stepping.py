"""Requests that go on, or back. Each is answered at once; where the launch stops next is an event."""

from __future__ import annotations

import functools

from triton_runner._base.errors import fail

_GRANULARITIES = ("statement", "line", "instruction")


def go_on(adapter, arguments) -> dict:
    adapter.go(adapter.session.resume)
    return {"allThreadsContinued": True}


def step(adapter, arguments, line: str, instruction: str) -> dict:
    """By the methods of the session that go to a line and to an instruction."""
    granularity = arguments.text("granularity", "statement")
    if granularity not in _GRANULARITIES:
        raise fail(f"granularity {granularity!r} is none of {', '.join(_GRANULARITIES)}")
    is_fine = granularity == "instruction" or not adapter.stopped.frames
    adapter.go(getattr(adapter.session, instruction if is_fine else line))
    return {}


over = functools.partial(step, line="next", instruction="next_op")
into = functools.partial(step, line="step", instruction="next_op")
out = functools.partial(step, line="out", instruction="out")
back = functools.partial(step, line="reverse_next", instruction="reverse_op")


def go_back(adapter, arguments) -> dict:
    adapter.go(adapter.session.reverse_resume)
    return {}


def pause(adapter, arguments) -> dict:
    if adapter.has_ended:
        raise fail("the program has ended")
    if not adapter.has_begun:
        raise fail("the program has not started")
    if adapter.is_running:
        adapter.pause()
    return {}
